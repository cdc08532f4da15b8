"""The hypernodes in which a job may be placed, in the groups in which they are tried."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from pumice import HyperNodeTree


def gradient(
    tree: HyperNodeTree,
    given: str,
    limit: int,
    allocated: str,
    fits: Callable[[str], bool],
) -> list[list[str]]:
    """Hypernodes below ``given`` up to the tier ``limit``, the lowest tier first.

    Once tasks are placed, in the hypernode ``allocated``, the rest must stay in the widest
    hypernode above it that the limit allows. As in Volcano, free resources are not checked then.
    """
    start: str | None = given
    if allocated:
        start = _intersection(tree, given, _widest(tree, allocated, limit))
    if start is None:
        return []
    by_tier: dict[int, list[str]] = {}
    queue, seen = deque([start]), {start}
    while queue:
        name = queue.popleft()
        below = [child for child in tree.children.get(name, ()) if child not in seen]
        queue.extend(below)
        seen.update(below)
        if tree.tier[name] <= limit and (allocated or fits(name)):
            by_tier.setdefault(tree.tier[name], []).append(name)
    return [sorted(by_tier[tier]) for tier in sorted(by_tier)]


def widest_first(groups: list[list[str]], most: int) -> list[list[str]]:
    """The groups in reverse, ``most`` hypernodes in all."""
    chosen = []
    for group in reversed(groups):
        chosen.append(group[:most])
        most -= len(chosen[-1])
        if most <= 0:
            break
    return chosen


def _widest(tree: HyperNodeTree, name: str, limit: int) -> str | None:
    """The highest hypernode from ``name`` upwards that the limit allows."""
    allowed = [above for above in tree.ancestors(name) if tree.tier[above] <= limit]
    return allowed[-1] if allowed else None


def _intersection(tree: HyperNodeTree, left: str, right: str | None) -> str | None:
    """The lower of two hypernodes, when one is above the other."""
    if right is None:
        return None
    if left in tree.ancestors(right):
        return right
    return left if right in tree.ancestors(left) else None
