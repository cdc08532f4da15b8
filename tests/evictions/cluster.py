"""A cluster as the checks account for it, from cycle to cycle."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.evictions.objects import (
    Amounts,
    Gang,
    Object,
    Pod,
    Queue,
    add,
    group_of,
    of_kind,
    read_gang,
    read_node,
    read_pod,
    read_queue,
)
from tests.evictions.placement import Filters, selected


@dataclass(slots=True, eq=False)
class Budget:
    """A PodDisruptionBudget."""

    namespace: str
    selector: Mapping[str, Any]
    allowed: int

    def covers(self, pod: Pod) -> bool:
        """Whether the budget is for this pod."""
        return pod.namespace == self.namespace and selected(self.selector, pod.labels)


class Cluster:
    """Nodes, queues, gangs and pods; decisions are carried out by :meth:`apply`."""

    def __init__(self, items: Sequence[Object]) -> None:
        self.nodes = {node.name: node for node in map(read_node, of_kind(items, "Node"))}
        self.queues = {queue.name: queue for queue in map(read_queue, of_kind(items, "Queue"))}
        priorities = {
            item["metadata"]["name"]: item["value"] for item in of_kind(items, "PriorityClass")
        }
        self.gangs: dict[str, Gang] = {}
        for item in of_kind(items, "PodGroup"):
            gang = read_gang(item, priorities)
            self.gangs[gang.uid] = gang
            if gang.queue not in self.queues:
                self.queues[gang.queue] = Queue(gang.queue, gang.family)
        self.budgets = [
            Budget(
                item["metadata"]["namespace"],
                item["spec"]["selector"],
                item["status"]["disruptionsAllowed"],
            )
            for item in of_kind(items, "PodDisruptionBudget")
        ]
        self.pods: dict[str, Pod] = {}
        self.present: dict[str, dict[str, Pod]] = {name: {} for name in self.nodes}
        for item in of_kind(items, "Pod"):
            self.add_pod(read_pod(item), group_of(item))
        self.filters = Filters(self.nodes)
        family = next((gang.family for gang in self.gangs.values()), "volcano")
        self.family = family

    def add_pod(self, pod: Pod, group: str) -> None:
        """Take a pod in, where it is."""
        pod.gang = self.gangs.get(f"{pod.namespace}/{group}")
        self.pods[pod.key] = pod
        if pod.gang is not None:
            pod.gang.pods.append(pod)
        if pod.node:
            self.present[pod.node][pod.key] = pod

    def place(self, pod: Pod, node: str, gpu_groups: Sequence[str] = ()) -> None:
        """Let a pod run on a node."""
        self.take(pod)
        pod.node, pod.gpu_groups = node, tuple(gpu_groups)
        self.present[node][pod.key] = pod

    def take(self, pod: Pod) -> None:
        """Let a pod be pending."""
        if pod.node:
            del self.present[pod.node][pod.key]
        pod.node, pod.gpu_groups, pod.terminating = "", (), False

    def apply(self, decisions: Any, now: float) -> None:
        """Carry out what was decided: binds run, evicted pods come back as pending ones."""
        started = set()
        for bind in decisions.binds:
            pod = self.pods[bind.task]
            if pod.gang is not None and not pod.gang.running():
                started.add(pod.gang.uid)
            self.place(pod, bind.node, bind.gpu_groups)
        for uid in started:
            self.gangs[uid].last_start = now
        for key in {eviction.task for eviction in decisions.evictions}:
            self.take(self.pods[key])

    def remove_gang(self, uid: str) -> list[Pod]:
        """Take a gang out with its pods; the pods."""
        pods = self.gangs.pop(uid).pods
        for pod in pods:
            self.take(pod)
            del self.pods[pod.key]
        return pods

    def return_gang(self, gang: Gang) -> None:
        """Put a gang back whose pods are all pending."""
        self.gangs[gang.uid] = gang
        self.pods |= {pod.key: pod for pod in gang.pods}

    # -- queues

    def path(self, queue: str) -> Iterator[Queue]:
        """The queue and those above it."""
        name = queue
        while name in self.queues:
            yield self.queues[name]
            name = self.queues[name].parent

    def usage(self, placed: Iterable[tuple[Pod, str]]) -> dict[str, Amounts]:
        """By queue, those above included: what the pods count on their nodes."""
        used: dict[str, Amounts] = {name: {} for name in self.queues}
        for pod, node in placed:
            if pod.gang is not None:
                counted = pod.counted(self.nodes[node])
                for queue in self.path(pod.gang.queue):
                    add(used[queue.name], counted)
        return used

    def levelled(self, one: str, other: str) -> tuple[str, str]:
        """The queues, or those above them, that have the same parent."""
        above_one = [queue.name for queue in self.path(one)][::-1]
        above_other = [queue.name for queue in self.path(other)][::-1]
        pairs = list(zip(above_one, above_other, strict=False))
        return next((pair for pair in pairs if pair[0] != pair[1]), pairs[-1])
