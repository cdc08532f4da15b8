"""A dump of a cluster as a trace: its pod groups are jobs, its nodes and queues the cluster."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import yaml

from pumice.backends.adopt import adopt
from pumice.config.duration import parse_duration
from pumice.manifests import read_objects
from pumice.model.facts import Pod
from pumice.model.gpu.request import GPU
from pumice.traces.reader import ReadProblems, TraceReader
from pumice.traces.trace import WHOLE_GPU_MILLI, Trace, TraceError, TraceJob


class DumpReader(TraceReader):
    """A dump of ``kubectl get … -o json`` or YAML: pod groups are jobs of an hour each."""

    @classmethod
    def recognises(cls, name: str, head: str) -> bool:
        return '"apiVersion"' in head[:400] or head.lstrip().startswith(("apiVersion:", "---"))

    def read(self, text: str, problems: ReadProblems, options: Mapping[str, str]) -> Trace:
        try:
            seconds = float(parse_duration(options.get("duration", "1h")))
        except ValueError as error:
            raise TraceError(f"--trace-option duration: {error}") from None
        facts = adopt(read_objects([(problems.where, item) for item in _objects(text, problems)]))
        trace = Trace(nodes=list(facts.nodes.values()), queues=list(facts.queues.values()))
        trace.problems += [str(problem) for problem in facts.problems]
        members: dict[str, list[Pod]] = {}
        for pod in facts.pods.values():
            if pod.group in facts.groups:
                members.setdefault(pod.group, []).append(pod)
        for uid, pods in members.items():
            group = facts.groups[uid]
            first = pods[0]
            share = float(first.annotations.get("gpu-fraction", 0) or 0)
            gpus = round(share * WHOLE_GPU_MILLI) or int(first.request.get(GPU))
            trace.jobs.append(
                TraceJob(
                    uid.replace("/", "."),
                    min(pod.created for pod in pods),
                    seconds,
                    queue=group.queue or "default",
                    pods=len(pods),
                    min_pods=min(group.min_member, len(pods)),
                    cpu=first.request.cpu,
                    memory=first.request.memory,
                    gpus=gpus,
                    priority=group.priority or first.priority or 0,
                )
            )
        return trace


def _objects(text: str, problems: ReadProblems) -> list[Any]:
    try:
        if text.lstrip()[:1] == "{":
            items: list[Any] = [json.loads(text)]
        else:
            items = [item for item in yaml.safe_load_all(text) if item is not None]
    except (ValueError, yaml.YAMLError) as error:
        raise TraceError(f"{problems.where}: is no dump: {error}") from None
    objects: list[Any] = []
    for item in items:
        listed = isinstance(item, dict) and str(item.get("kind", "")).endswith("List")
        objects += (item.get("items") or []) if listed else [item]
    return objects
