"""Which CPUs containers are assigned on a node, by the rules of kubelet's managers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from pumice_builtin_plugins.numa_aware.topology import CpuTopology

BEST_EFFORT, RESTRICTED, SINGLE = "best-effort", "restricted", "single-numa-node"


def assign(cpu_topology: CpuTopology, free: int, policy: str, counts: Sequence[int]) -> int | None:
    """The CPUs of containers that request ``counts``; None where the node would not admit them.

    As in kubelet each container is aligned by itself, with what the ones before it left.
    """
    taken = 0
    for count in counts:
        free_counts = [(cpus & free).bit_count() for cpus in cpu_topology.nodes]
        hint = narrowest(free_counts, count)
        if policy in (RESTRICTED, SINGLE):
            size = fewest([cpus.bit_count() for cpus in cpu_topology.nodes], count)
            if hint is None or len(hint) != size or (policy == SINGLE and size != 1):
                return None
        if hint is None:
            continue
        within = sum(cpu_topology.nodes[position] for position in hint)
        cpus = take(cpu_topology, free & within, count)
        free &= ~cpus
        taken |= cpus
    return taken


def fewest(free: Sequence[int], count: int) -> int | None:
    """How many NUMA nodes hold ``count`` CPUs at least; None: all together do not."""
    sums = accumulate(sorted(free, reverse=True))
    return next((size for size, total in enumerate(sums, 1) if total >= count), None)


def narrowest(free: Sequence[int], count: int) -> tuple[int, ...] | None:
    """The positions of the fewest NUMA nodes that hold ``count`` CPUs; of such sets the lowest.

    The lowest is the one whose highest node is lowest, then the second highest, and so on: sets
    are compared as bit masks.
    """
    size = fewest(free, count)
    if size is None:
        return None
    chosen: list[int] = []
    below = len(free)
    for left in range(size, 0, -1):
        for highest in range(left - 1, below):
            others = sorted(free[:highest], reverse=True)[: left - 1]
            if free[highest] + sum(others) >= count:
                break
        chosen.append(highest)
        count -= free[highest]
        below = highest
    return tuple(reversed(chosen))


def take(cpu_topology: CpuTopology, available: int, count: int) -> int:
    """``count`` of the available CPUs: whole NUMA nodes, then whole cores, then single CPUs.

    They come from the fullest NUMA node first, so that the emptier ones stay whole.
    """
    taken = 0

    def whole(groups: Sequence[int]) -> None:
        nonlocal taken, count
        for group in groups:
            if group & available & ~taken == group and group.bit_count() <= count:
                taken |= group
                count -= group.bit_count()

    whole(cpu_topology.nodes)
    for cpus in sorted(cpu_topology.nodes, key=lambda node: (node & available).bit_count()):
        whole([core for core in cpu_topology.cores if core & cpus])
    for cpus in sorted(
        cpu_topology.nodes, key=lambda node: (node & available & ~taken).bit_count()
    ):
        # A core that is partly in use comes before one that is whole.
        cores = [core & cpus & available & ~taken for core in cpu_topology.cores]
        for core in sorted(filter(None, cores), key=int.bit_count):
            while core and count:
                cpu = core & -core
                taken, core, count = taken | cpu, core ^ cpu, count - 1
    return taken
