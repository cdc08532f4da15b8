"""Buckets: the tasks of a job that should share a node."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np

from pumice import RequestFit, Task
from pumice_builtin_plugins.task_topology.roles import Roles

_MIB = 1 << 20


class Bucket:
    """Tasks that attract, or at least do not repel, one another."""

    def __init__(self, index: int, dimensions: int) -> None:
        self.index = index
        self.tasks: list[Task] = []
        """Tasks without a node when the cycle began, in the order in which they joined."""
        self.waiting: set[str] = set()
        """Uids of those of them that have no node yet."""
        self.request = np.zeros(dimensions, np.int64)
        """What the waiting ones ask for together."""
        self.roles: Counter[str] = Counter()
        self.on_node: Counter[str] = Counter()
        """How many of the bucket's tasks each node has."""

    @property
    def size(self) -> int:
        return self.roles.total()

    @property
    def weight(self) -> int:
        """A size of the request in which a thousandth of a core or of a device is like 1 MiB."""
        cpu, memory, *others = self.request.tolist()
        return int((cpu + sum(others)) * _MIB + memory)

    def join(self, task: Task) -> None:
        self.roles[task.role] += 1
        if task.node:
            self.on_node[task.node] += 1
        else:
            self.tasks.append(task)
            self.waiting.add(task.uid)
            self.request += task.vector

    def settle(self, task: Task) -> None:
        """One of the waiting tasks has got a node."""
        self.waiting.remove(task.uid)
        self.request -= task.vector
        self.on_node[task.node] += 1

    def unsettle(self, task: Task) -> None:
        self.on_node[task.node] -= 1
        self.request += task.vector
        self.waiting.add(task.uid)

    def fitting(self, task: Task, room: np.ndarray) -> np.ndarray:
        """For each node's room: how many waiting tasks, with ``task``, it takes at once.

        Others are left out, in the order in which they joined, until the rest fits.
        """
        left, request = len(self.waiting), self.request.copy()
        count = np.full(len(room), left)
        tight = ~RequestFit(request).mask(room)
        for other in self.tasks:
            if not tight.any():
                break
            if other.uid not in self.waiting or other is task:
                continue
            request -= other.vector
            left -= 1
            count[tight] = left
            tight &= ~RequestFit(request).mask(room)
        return count


class JobBuckets:
    """The buckets of one job, and which of its roles were placed where in this cycle."""

    def __init__(self, roles: Roles, tasks: Iterable[Task]) -> None:
        self.roles = roles
        self.of: dict[str, Bucket] = {}
        """By task uid; tasks of roles without a wish are in none."""
        self.placed: dict[str, Counter[str]] = {}
        self._buckets: list[Bucket] = []
        by_node: dict[str, Bucket] = {}
        for task in sorted((t for t in tasks if t.role in roles.rank), key=self._turn):
            bucket = by_node.get(task.node) if task.node else self._attracting(task)
            if bucket is None:
                bucket = Bucket(len(self._buckets), len(task.vector))
                self._buckets.append(bucket)
            if task.node:
                by_node[task.node] = bucket
            bucket.join(task)
            self.of[task.uid] = bucket
        self.largest = max((bucket.size for bucket in self._buckets), default=0)

    def _turn(self, task: Task) -> tuple[bool, int, int, str]:
        by_user, by_kind = self.roles.rank[task.role]
        return not task.node, -by_user, -by_kind, task.key

    def _attracting(self, task: Task) -> Bucket | None:
        """The bucket that attracts a task most, the one with the smaller request among equals."""
        pulls = {
            bucket.index: self.roles.attraction(task.role, bucket.roles) for bucket in self._buckets
        }
        willing = [bucket for bucket in self._buckets if pulls[bucket.index] >= 0]
        return min(willing, key=lambda b: (-pulls[b.index], b.weight, b.index), default=None)

    def settle(self, task: Task) -> None:
        """A task of a bucket has got a node in this cycle."""
        self.placed.setdefault(task.node, Counter())[task.role] += 1
        self.of[task.uid].settle(task)

    def unsettle(self, task: Task) -> None:
        self.placed[task.node][task.role] -= 1
        self.of[task.uid].unsettle(task)
