"""The status of queues: what their pods have, and how many of their jobs run and wait."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from pumice import Decisions, Pod, Queue, Resource
from pumice.kube import quantity_of
from pumice.manifests import OWN_API

VOLCANO_API = "scheduling.volcano.sh"
_ROOT = "root"
_ALIVE = ("Pending", "Running")
_STARTED = ("Running", "Completed")


class QueueStatus:
    """Says which queues have another status than the one that was reported last.

    That of KAI's queues is written by KAI's queue controller.
    """

    def __init__(self) -> None:
        self._reported: dict[str, dict[str, Any]] = {}
        self._seen = -1

    def changed(
        self, decisions: Decisions, pods: Mapping[str, Pod], queues: Mapping[str, Queue], seen: int
    ) -> list[tuple[Queue, dict[str, Any]]]:
        """The queues to write, with their status.

        ``seen``: the number of changes of the cluster so far; where none has come and nothing was
        decided, no pod is counted.
        """
        if seen == self._seen and not (decisions.binds or decisions.evictions):
            return []
        self._seen = seen
        written = [q for q in queues.values() if q.api_group in (VOLCANO_API, OWN_API)]
        if not written:
            return []
        allocated = allocated_of(decisions, pods, queues)
        jobs = Counter((s.queue, s.phase in _STARTED) for s in decisions.jobs)
        changed = []
        for queue in written:
            status: dict[str, Any] = {"allocated": _quantities(allocated.get(queue.name))}
            if queue.api_group == OWN_API:
                status["running"] = jobs[queue.name, True]
                status["pending"] = jobs[queue.name, False]
            if self._reported.get(queue.name) != status:
                self._reported[queue.name] = status
                changed.append((queue, status))
        return changed

    def forget(self, name: str) -> None:
        """A status could not be written: it is written again with the next change."""
        self._reported.pop(name, None)
        self._seen = -1


def allocated_of(
    decisions: Decisions, pods: Mapping[str, Pod], queues: Mapping[str, Queue]
) -> dict[str, Resource]:
    """By queue: the requests of the pods that have a node, also for the queues above."""
    queue_of = {state.job: state.queue for state in decisions.jobs}
    bound = {bind.uid for bind in decisions.binds}
    evicted = {one.uid for one in decisions.evictions}
    counts: Counter[tuple[str, int]] = Counter()
    requests: dict[int, Resource] = {}
    for uid, pod in pods.items():
        queue = queue_of.get(pod.group)
        if queue is None or pod.phase not in _ALIVE or pod.deleted is not None or uid in evicted:
            continue
        if pod.node_name or uid in bound:
            requests[id(pod.request)] = pod.request
            counts[queue, id(pod.request)] += 1
    totals: dict[str, Resource] = {}
    for (name, number), count in counts.items():
        request = requests[number]
        for above in _path(name, queues):
            total = totals.setdefault(above, Resource())
            for resource, amount in request.items():
                total.set(resource, total.get(resource) + amount * count)
    return totals


def _path(name: str, queues: Mapping[str, Queue]) -> Iterator[str]:
    """The queue and those above it. Volcano adds to those above only below a root queue."""
    seen: set[str] = set()
    while name in queues and name not in seen:
        seen.add(name)
        yield name
        queue = queues[name]
        if queue.api_group == VOLCANO_API and _ROOT not in queues:
            return
        name = queue.parent


def _quantities(resource: Resource | None) -> dict[str, str]:
    if resource is None:
        return {}
    return {name: quantity_of(name, amount) for name, amount in resource.items() if amount}
