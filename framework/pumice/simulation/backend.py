"""The embedded cluster of a simulation."""

from __future__ import annotations

from collections.abc import Iterable

from pumice.backends.memory import MemoryBackend
from pumice.decisions import JobState
from pumice.model.facts import Node, Pod, PodGroup


class SimulatedCluster(MemoryBackend):
    """The embedded cluster, with jobs and nodes that come and go."""

    reads_reasons = False
    phases_changed = False
    """Whether a job has entered another phase: the next cycle may admit others."""

    def set_time(self, now: float) -> None:
        """Let it be this time, in epoch seconds."""
        self._now = now

    def submit(self, group: PodGroup, pods: Iterable[Pod]) -> None:
        """A job has come."""
        self._inventory.groups[group.uid] = group
        for pod in pods:
            self._inventory.pods[pod.uid] = pod

    def remove(self, group: str, pods: Iterable[str]) -> None:
        """A job is done."""
        del self._inventory.groups[group]
        for uid in pods:
            del self._inventory.pods[uid]

    def _write_status(self, state: JobState) -> None:
        """Write what has changed."""
        group = self._inventory.groups.get(state.job)
        if group is None:
            return
        self.phases_changed = self.phases_changed or group.phase != state.phase
        decided = (state.phase, state.last_start, state.stale_since)
        if (group.phase, group.last_start, group.stale_since) != decided:
            super()._write_status(state)

    def _recreate_terminated(self) -> None:
        """No pod terminates but those that are evicted, which are recreated at once."""

    def lose(self, node: str) -> list[str]:
        """Remove a node; returns the uids of the pods that ran on it, which are pending again."""
        del self._inventory.nodes[node]
        uids = [uid for uid, pod in self._inventory.pods.items() if pod.node_name == node]
        for uid in uids:
            self._end(uid)
        return uids

    def join(self, node: Node) -> None:
        """A node has come."""
        self._inventory.nodes[node.name] = node
