"""Checks of binds and promises: room, filters, minimums, limits."""

from __future__ import annotations

from typing import Any

from tests.evictions.cycle import Cycle
from tests.evictions.objects import Node, Pod
from tests.evictions.placement import over_capacity


def check_placing(cycle: Cycle) -> None:
    """Check everything that the cycle places."""
    if cycle.binds:
        _check_binds(cycle)
        _check_minimums(cycle)
    if cycle.promises:
        _check_promises(cycle)
    if cycle.binds or cycle.promises:
        _check_limits(cycle)
        _check_queues(cycle)


def _check_binds(cycle: Cycle) -> None:
    cluster, present = cycle.cluster, cycle.after_binds
    order = list(cycle.binds)
    for number, (key, bind) in enumerate(cycle.binds.items()):
        pod = cluster.pods[key]
        refusal = cluster.filters.refusal(pod, cluster.nodes[bind.node], present)
        if refusal:
            # The first pod of a series may go where the later ones do not follow.
            later = set(order[number + 1 :])
            earlier = {
                name: {other: one for other, one in pods.items() if other not in later}
                for name, pods in present.items()
            }
            refusal = cluster.filters.refusal(pod, cluster.nodes[bind.node], earlier)
        if refusal:
            cycle.report("filter", f"{key} on {bind.node}: {refusal}")
        if key in cycle.evicted:
            by = cycle.evicted[key]
            cycle.report("bound-and-evicted", f"{key}, {by.action} for {by.claimant}")
    for name in sorted({bind.node for bind in cycle.binds.values()}):
        pods = [_Bound(pod, cycle.binds.get(key)) for key, pod in present[name].items()]
        exceeded = over_capacity(cluster.nodes[name], pods)
        if exceeded:
            cycle.report("node-capacity", f"{name}: {exceeded}")


class _Bound:
    """A pod on the node, and with the shared GPUs, that its bind gives it."""

    __slots__ = ("devices", "gpu_groups", "node", "pod", "request")

    def __init__(self, pod: Pod, bind: Any) -> None:
        self.pod, self.request, self.devices = pod, pod.request, pod.devices
        self.node: str = bind.node if bind else pod.node
        self.gpu_groups: tuple[str, ...] = bind.gpu_groups if bind else pod.gpu_groups

    def portion(self, node: Node | None) -> float:
        return self.pod.portion(node)


class _Moved(_Bound):
    """A pod that has left the shared GPUs that it had, though it may come back to their node."""

    __slots__ = ()

    def __init__(self, pod: Pod) -> None:
        super().__init__(pod, None)
        self.node, self.gpu_groups = "", ()


def _check_minimums(cycle: Cycle) -> None:
    for gang in cycle.gangs(cycle.binds):
        running = len(cycle.placed(gang))
        if running < gang.minimum:
            enough = running + cycle.best_effort(gang, cycle.binds) >= gang.minimum
            kind = "best-effort-gang" if enough else "gang-bound"
            cycle.report(kind, f"{gang.uid}: {running} of {gang.minimum}")


def _check_promises(cycle: Cycle) -> None:
    cluster, present = cycle.cluster, cycle.at_last
    for key, name in cycle.promises.items():
        refusal = cluster.filters.refusal(cluster.pods[key], cluster.nodes[name], present)
        if refusal:
            cycle.report("promise", f"{key} on {name}: {refusal}")
    for name in sorted(set(cycle.promises.values())):
        pods = [_Moved(pod) if key in cycle.promises else pod for key, pod in present[name].items()]
        exceeded = over_capacity(cluster.nodes[name], pods)
        if exceeded:
            cycle.report("promise", f"{name}: {exceeded}")


def _check_queues(cycle: Cycle) -> None:
    """Nothing of a closed queue is placed, but for what runs already and is moved."""
    cluster = cycle.cluster
    for key in [*cycle.binds, *(key for key in cycle.promises if key not in cycle.evicted)]:
        gang = cluster.pods[key].gang
        if gang is not None and not cluster.queues[gang.queue].open:
            cycle.report("closed-queue", f"{key} of {gang.queue}")


def _check_limits(cycle: Cycle) -> None:
    bound = {
        name: {key: pod for key, pod in pods.items() if key not in cycle.promises}
        for name, pods in cycle.at_last.items()
    }
    binds = {key: bind.node for key, bind in cycle.binds.items()}
    for kind, present, placed in (
        ("queue-limit", bound, binds),
        ("promise-limit", cycle.at_last, cycle.promises),
    ):
        used = cycle.usage(present)
        reported = set()
        for key, node in placed.items():
            over = cycle.over_limit(cycle.cluster.pods[key], node, used)
            if over and over not in reported:
                reported.add(over)
                cycle.report(kind, f"{over} with {key}")
