"""Which CPUs containers get on a node, by the rules of kubelet's topology and CPU managers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from pumice_builtin_plugins.numa_aware.topology import Layout

BEST_EFFORT, RESTRICTED, SINGLE = "best-effort", "restricted", "single-numa-node"


def assign(layout: Layout, free: int, policy: str, counts: Sequence[int]) -> int | None:
    """The CPUs of containers that want so many each, or None where the node would refuse them.

    Each container is aligned by itself, with what the ones before it left.
    """
    taken = 0
    for count in counts:
        room = [(cpus & free).bit_count() for cpus in layout.nodes]
        hint = narrowest(room, count)
        if policy in (RESTRICTED, SINGLE):
            size = fewest([cpus.bit_count() for cpus in layout.nodes], count)
            if hint is None or len(hint) != size or (policy == SINGLE and size != 1):
                return None
        if hint is None:
            continue
        within = sum(layout.nodes[position] for position in hint)
        cpus = take(layout, free & within, count)
        free &= ~cpus
        taken |= cpus
    return taken


def fewest(room: Sequence[int], count: int) -> int | None:
    """How many NUMA nodes it takes to hold ``count`` CPUs; None where all together do not."""
    sums = accumulate(sorted(room, reverse=True))
    return next((size for size, total in enumerate(sums, 1) if total >= count), None)


def narrowest(room: Sequence[int], count: int) -> tuple[int, ...] | None:
    """The positions of the fewest NUMA nodes with room; of several such sets the lowest.

    The lowest is the one whose highest node is lowest, then the second highest, and so on: sets
    are compared as bit masks.
    """
    size = fewest(room, count)
    if size is None:
        return None
    chosen: list[int] = []
    below = len(room)
    for left in range(size, 0, -1):
        for highest in range(left - 1, below):
            others = sorted(room[:highest], reverse=True)[: left - 1]
            if room[highest] + sum(others) >= count:
                break
        chosen.append(highest)
        count -= room[highest]
        below = highest
    return tuple(reversed(chosen))


def take(layout: Layout, available: int, count: int) -> int:
    """``count`` of the available CPUs: whole NUMA nodes, then whole cores, then single ones.

    The fullest NUMA node gives first, so that the emptier stay whole.
    """
    taken = 0

    def whole(groups: Sequence[int]) -> None:
        nonlocal taken, count
        for group in groups:
            if group & available & ~taken == group and group.bit_count() <= count:
                taken |= group
                count -= group.bit_count()

    whole(layout.nodes)
    for cpus in sorted(layout.nodes, key=lambda node: (node & available).bit_count()):
        whole([core for core in layout.cores if core & cpus])
    for cpus in sorted(layout.nodes, key=lambda node: (node & available & ~taken).bit_count()):
        # A core that is in use already gives before one that would be broken up.
        cores = [core & cpus & available & ~taken for core in layout.cores]
        for core in sorted(filter(None, cores), key=int.bit_count):
            while core and count:
                cpu = core & -core
                taken, core, count = taken | cpu, core ^ cpu, count - 1
    return taken
