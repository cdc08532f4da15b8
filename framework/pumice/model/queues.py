"""Paths in the tree of queues."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pumice.model.facts import Queue


def queue_path(queues: Mapping[str, Queue], name: str, *, root: str = "") -> list[Queue]:
    """The queues from the top one down to this one; empty where this one is unknown.

    ``root`` is the parent of queues that name none. The path begins below a parent that is unknown,
    or below which the path came by before (a cycle).
    """
    path: list[Queue] = []
    queue = queues.get(name)
    while queue is not None and queue not in path:
        path.append(queue)
        queue = queues.get(queue.parent or root)
    return path[::-1]


def common_depth(left: Sequence[Any], right: Sequence[Any]) -> int:
    """How many queues two paths, or lists of ancestors from the top, have in common."""
    depth = 0
    for one, other in zip(left, right, strict=False):
        if one is not other:
            break
        depth += 1
    return depth
