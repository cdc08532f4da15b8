"""Clusters of the KAI family with shared GPUs, in a line each, and sessions on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pumice.config import Policy, policy_from_dict
from pumice.manifests import read_objects
from pumice.model.cluster import build_cluster
from pumice.model.task import Task
from pumice.session.session import Session
from pumice.session.statement import Statement

HOST = "kubernetes.io/hostname"
_RUN_AI = "scheduling.run.ai"


class SharedWorld:
    """A cluster of one queue; every pod is a job of its own unless it names one."""

    session: Session

    def __init__(self) -> None:
        self._objects: list[dict[str, Any]] = []
        self._groups: set[str] = set()
        self.add("Queue", f"{_RUN_AI}/v2", "q", spec={})

    def add(self, kind: str, version: str, name: str, **parts: Any) -> None:
        metadata = {"name": name, "namespace": "ns", **parts.pop("metadata", {})}
        if kind in ("Node", "Queue"):
            del metadata["namespace"]
        self._objects.append({"apiVersion": version, "kind": kind, "metadata": metadata, **parts})

    def node(
        self, name: str, *, gpu: int = 0, memory: str = "1000", pods: int = 110, **facts: Any
    ) -> None:
        """A node of 8 CPUs; ``memory`` is that of each GPU, as the label gives it."""
        labels = {HOST: name, **facts.pop("labels", {})}
        if gpu and memory:
            labels["nvidia.com/gpu.memory"] = memory
        room = {"cpu": "8", "memory": "16Gi", "pods": str(pods), "nvidia.com/gpu": str(gpu)}
        status = {"allocatable": {**room, **facts.pop("room", {})}, **facts.pop("status", {})}
        self.add("Node", "v1", name, metadata={"labels": labels}, spec=facts, status=status)

    def pod(
        self,
        name: str,
        *,
        on: str = "",
        cpu: float = 1,
        gpu: float = 0,
        memory: int = 0,
        devices: int = 1,
        shares: str = "",
        job: str = "",
        labels: Mapping[str, str] | None = None,
        requests: Mapping[str, Any] | None = None,
        annotations: Mapping[str, str] | None = None,
        nominated: str = "",
        **spec: Any,
    ) -> None:
        """A pod; ``gpu`` below 1 is a fraction, ``memory`` is of a GPU, ``shares`` its group."""
        job = job or name
        if job not in self._groups:
            self._groups.add(job)
            self.add("PodGroup", f"{_RUN_AI}/v2alpha2", job, spec={"queue": "q", "minMember": 1})
        notes = {"pod-group-name": job, **(annotations or {})}
        asked: dict[str, Any] = {"cpu": str(cpu), **(requests or {})}
        if memory:
            notes["gpu-memory"] = str(memory)
        elif 0 < gpu < 1:
            notes["gpu-fraction"] = str(gpu)
        elif gpu:
            asked["nvidia.com/gpu"] = str(gpu)
        if devices > 1:
            notes["gpu-fraction-num-devices"] = str(devices)
        marks = {**(labels or {}), **({"runai-gpu-group": shares} if shares else {})}
        container = {
            "name": "main",
            "resources": {"requests": asked},
            **spec.pop("container", {}),
        }
        self.add(
            "Pod",
            "v1",
            name,
            metadata={"uid": name, "annotations": notes, "labels": marks},
            spec={"containers": [container], **({"nodeName": on} if on else {}), **spec},
            status={"phase": "Running" if on else "Pending", "nominatedNodeName": nominated},
        )

    def open(self, *plugins: str, **options: Any) -> Any:
        """Open a session; options are the first plugin's, whose instance is given back."""
        policy = policy_from_dict(
            {
                "actions": ["fair_allocate"],
                "tiers": [{"plugins": list(plugins)}],
                "plugin": {plugins[0]: options},
            }
        )
        self.start(policy)
        return self.session.plugins[plugins[0]]

    def start(self, policy: Policy) -> None:
        inventory = read_objects((f"object {i}", o) for i, o in enumerate(self._objects))
        assert not inventory.problems, inventory.problems
        self.session = Session(build_cluster(inventory, now=1e6), policy, verify=True)

    def task(self, name: str) -> Task:
        return self.session.cluster.tasks[name]

    def rows(self, *nodes: str) -> np.ndarray:
        return np.array([self.session.nodes.row_of[name] for name in nodes])

    def scores(self, name: str, *nodes: str) -> list[float]:
        """What all plugins together score these nodes, or all, for a task."""
        rows = self.rows(*nodes) if nodes else None
        result: list[float] = self.session.queries.scores(self.task(name), rows).tolist()
        return result

    def gpu_score(self, name: str, group: str) -> float:
        """The score of a GPU group of the first node for a task."""
        return self.session.ask.gpu_order(self.task(name), self.session.nodes.view(), 0, group)

    def refusals(self, name: str) -> dict[str, str]:
        """Node → why the filters refuse it for a task; those that accept are left out."""
        task, queries = self.task(name), self.session.queries
        error = queries.prepare(task)
        if error is not None:
            return {"*": str(error)}
        verdicts = queries.verdicts(task)
        return {
            node: str(verdicts.error(row))
            for row, node in enumerate(self.session.nodes.names)
            if verdicts.codes[row]
        }

    def allocate(
        self, name: str, node: str, groups: Sequence[str] = (), statement: Statement | None = None
    ) -> Statement:
        """Give a task room, in an open statement."""
        statement = statement or self.session.statement()
        row = self.session.nodes.row_of[node]
        assert statement.allocate(self.task(name), row, groups=tuple(groups)) is None
        return statement
