"""Buckets: the tasks of a job that should share a node."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np

from pumice import RequestFit, Task
from pumice_builtin_plugins.task_topology.roles import RoleAffinity

_MIB = 1 << 20


class Bucket:
    """Tasks with affinity, or at least without anti-affinity, to each other."""

    def __init__(self, index: int, dimensions: int) -> None:
        self.index = index
        self.tasks: list[Task] = []
        """Tasks without a node when the cycle began, in the order in which they joined."""
        self.waiting: set[str] = set()
        """Uids of those of them that are not placed yet."""
        self.request = np.zeros(dimensions, np.int64)
        """The sum of the requests of the waiting tasks."""
        self.roles: Counter[str] = Counter()
        self.on_node: Counter[str] = Counter()
        """How many of the bucket's tasks each node has."""

    @property
    def size(self) -> int:
        return self.roles.total()

    @property
    def weight(self) -> int:
        """The size of the request as Volcano adds it up: a milli-unit counts as 1 MiB."""
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

    def place(self, task: Task) -> None:
        """One of the waiting tasks has been placed."""
        self.waiting.remove(task.uid)
        self.request -= task.vector
        self.on_node[task.node] += 1

    def unplace(self, task: Task) -> None:
        """Its placement has been undone."""
        self.on_node[task.node] -= 1
        self.request += task.vector
        self.waiting.add(task.uid)

    def fitting(self, task: Task, free: np.ndarray) -> np.ndarray:
        """Per node: how many waiting tasks, ``task`` included, fit into its free amounts.

        Others are left out, in the order in which they joined, until the rest fits.
        """
        left, request = len(self.waiting), self.request.copy()
        count = np.full(len(free), left)
        tight = ~RequestFit(request).mask(free)
        for other in self.tasks:
            if not tight.any():
                break
            if other.uid not in self.waiting or other is task:
                continue
            request -= other.vector
            left -= 1
            count[tight] = left
            tight &= ~RequestFit(request).mask(free)
        return count


class JobBuckets:
    """The buckets of one job, and the roles that were placed on each node in this cycle."""

    def __init__(self, affinity: RoleAffinity, tasks: Iterable[Task]) -> None:
        self.affinity = affinity
        self.bucket_of: dict[str, Bucket] = {}
        """By task uid; tasks of roles that the annotations do not name are in none."""
        self.placed: dict[str, Counter[str]] = {}
        """Node → how many tasks of each role."""
        self._buckets: list[Bucket] = []
        by_node: dict[str, Bucket] = {}
        for task in sorted((t for t in tasks if t.role in affinity.rank), key=self._order_key):
            bucket = by_node.get(task.node) if task.node else self._best_bucket(task)
            if bucket is None:
                bucket = Bucket(len(self._buckets), len(task.vector))
                self._buckets.append(bucket)
            if task.node:
                by_node[task.node] = bucket
            bucket.join(task)
            self.bucket_of[task.uid] = bucket
        self.largest = max((bucket.size for bucket in self._buckets), default=0)

    def _order_key(self, task: Task) -> tuple[bool, int, int, str]:
        by_user, by_kind = self.affinity.rank[task.role]
        return not task.node, -by_user, -by_kind, task.key

    def _best_bucket(self, task: Task) -> Bucket | None:
        """The bucket with the most affinity to a task; of equals that with the smaller request."""
        balance = {
            bucket.index: self.affinity.balance(task.role, bucket.roles) for bucket in self._buckets
        }
        allowed = [bucket for bucket in self._buckets if balance[bucket.index] >= 0]
        return min(allowed, key=lambda b: (-balance[b.index], b.weight, b.index), default=None)

    def place(self, task: Task) -> None:
        """A task of a bucket has been placed in this cycle."""
        self.placed.setdefault(task.node, Counter())[task.role] += 1
        self.bucket_of[task.uid].place(task)

    def unplace(self, task: Task) -> None:
        """Its placement has been undone."""
        self.placed[task.node][task.role] -= 1
        self.bucket_of[task.uid].unplace(task)
