"""Serves the state that a cycle started from, for inspection or replay."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from pumice import Inventory, Plugin, hookimpl
from pumice_builtin_plugins.snapshot.objects import write_objects
from pumice_builtin_plugins.snapshot.pods import compact

PATH = "/get-snapshot"
FILE = "snapshot.json"
_EPOCH = (1980, 1, 1, 0, 0, 0)
"""The time of the file in the archive: the same state gives the same bytes."""


class Snapshot(Plugin):
    """Serve the policy and every object as they were when the cycle began.

    ``/get-snapshot`` answers a zip archive with ``snapshot.json``: ``config`` in the shape of a
    policy file, ``schedulerParams``, ``rawObjects`` by kind as manifests, ``discovery``, and
    ``extra`` with the clock and the facts that no manifest carries. What queues used in the past
    is not part of it.
    """

    @hookimpl
    def http_handlers(self) -> Mapping[str, Callable[..., Any]]:
        return {PATH: self.archive}

    # -- helpers

    def archive(self) -> bytes:
        """The zip archive."""
        content = msgspec.json.format(msgspec.json.encode(self.state(), enc_hook=str), indent=1)
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
            entry = zipfile.ZipInfo(FILE, _EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, content)
        return stream.getvalue()

    def state(self) -> dict[str, Any]:
        session = self.session
        inventory = session.cluster.inventory
        return {
            "config": session.policy.raw,
            "schedulerParams": inventory.scheduler_params,
            "rawObjects": write_objects(inventory),
            "discovery": {"serverVersion": None, "resources": []},
            "extra": _facts(inventory, session.now),
        }


def _facts(inventory: Inventory, now: float) -> dict[str, Any]:
    """What manifests cannot carry, under the keys of a scenario's ``extra``."""
    pods, groups = inventory.pods.values(), inventory.groups.values()
    tasks = {
        pod.key: compact(state=pod.status_override, gpu_groups=list(pod.gpu_groups))
        for pod in pods
        if pod.status_override or pod.gpu_groups
    }
    facts = compact(
        tasks=tasks,
        jobs={
            group.uid: {"priority": group.priority}
            for group in groups
            if group.priority is not None
        },
        nominated_hypernodes={
            group.uid: group.nominated_hyper_node for group in groups if group.nominated_hyper_node
        },
        feature_gates=inventory.feature_gates,
        node_usage=inventory.node_usage,
        queue_usage=inventory.queue_usage,
        min_node_gpu_memory=inventory.min_node_gpu_memory,
        scheduler_params=inventory.scheduler_params,
    )
    return {**facts, "now": now}
