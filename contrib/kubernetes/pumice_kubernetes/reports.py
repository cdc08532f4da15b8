"""What a cycle reports to the cluster: conditions, nominations, status and events."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pumice import Decisions, Pod, PodGroup
from pumice_kubernetes.inventory import LiveInventory
from pumice_kubernetes.queue_status import QueueStatus
from pumice_kubernetes.resources import Served
from pumice_kubernetes.store import Store
from pumice_kubernetes.writer import about_group, about_pod

if TYPE_CHECKING:
    from pumice_kubernetes.cluster import ClusterThread


class Reports:
    """Compares the outcome of a cycle with what was reported, and reports what has changed."""

    def __init__(self, store: Store, inventory: LiveInventory, thread: ClusterThread) -> None:
        self._store = store
        self._inventory = inventory
        self._thread = thread
        self._queue_status = QueueStatus()

    def send(self, decisions: Decisions) -> None:
        """Report the outcome of a cycle."""
        with self._store.lock:
            pods = dict(self._store.tables["pods"])
            queues = dict(self._store.tables["queues"])
            seen = self._store.changes
        self._acts(decisions, pods)
        waiting = self._waiting(decisions, pods)
        self._pods(decisions, waiting)
        self._groups(decisions)
        self._reasons(decisions, waiting)
        for queue, status in self._queue_status.changed(decisions, pods, queues, seen):
            served = self._thread.served(queue.api_group, "queues")
            if served is not None:
                failed = self._queue_status.forget
                self._thread.post(self._thread.writer.queue, served, queue.name, status, failed)

    def _acts(self, decisions: Decisions, pods: dict[str, Pod]) -> None:
        post, writer = self._thread.post, self._thread.writer
        for bind in decisions.binds:
            if bind.uid in pods:
                text = f"Successfully assigned {bind.task} to {bind.node}"
                post(writer.event, about_pod(pods[bind.uid]), "Scheduled", "Binding", text)
        for one in decisions.evictions:
            if one.uid in pods:
                text = f"{one.action}: {one.reason}"
                if one.claimant:
                    text += f" (for {one.claimant})"
                post(writer.event, about_pod(pods[one.uid]), "Evicted", "Evicting", text)

    def _waiting(self, decisions: Decisions, pods: dict[str, Pod]) -> dict[str, list[Pod]]:
        """The pods that wait, by job."""
        left = {bind.uid for bind in decisions.binds}
        jobs = {state.job for state in decisions.jobs}
        waiting: dict[str, list[Pod]] = {}
        for uid, pod in pods.items():
            waits = pod.phase == "Pending" and not pod.node_name and pod.deleted is None
            if waits and pod.group in jobs and uid not in left:
                waiting.setdefault(pod.group, []).append(pod)
        return waiting

    def _pods(self, decisions: Decisions, waiting: dict[str, list[Pod]]) -> None:
        nominated = {task.uid: task.node for task in decisions.pipelined if task.eviction_occurred}
        for reservation in decisions.eviction_log.reservations.values():
            nominated |= {task.uid: task.node for task in reservation.tasks}
        messages = {
            pod.uid: (pod, state.reason, nominated.get(pod.uid, ""))
            for state in decisions.jobs
            for pod in waiting.get(state.job, ())
        }
        self._thread.post(self._thread.writer.pods, messages)

    def _groups(self, decisions: Decisions) -> None:
        for group, state in self._inventory.decided(decisions.jobs):
            served = self._served(group)
            if served is not None:
                self._thread.post(self._thread.writer.group, served, group, state)

    def _served(self, group: PodGroup) -> Served | None:
        """Where a group is an object of the cluster; None: it is made of pods."""
        if not group.api_group:
            return None
        return self._thread.served(group.api_group, "podgroups")

    def _reasons(self, decisions: Decisions, waiting: dict[str, list[Pod]]) -> None:
        texts = []
        groups = self._store.tables["groups"]
        for state in decisions.jobs:
            pods = waiting.get(state.job)
            if not pods or not state.reason:
                continue
            group = groups.get(state.job)
            served = None if group is None else self._served(group)
            if group is not None and served is not None:
                about = about_group(served, group)
            else:
                about = about_pod(min(pods, key=lambda pod: pod.name))
            texts.append((state.job, about, state.reason))
        self._thread.post(self._thread.writer.reasons, texts)
