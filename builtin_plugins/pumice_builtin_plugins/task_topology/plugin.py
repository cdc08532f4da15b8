"""Tasks of roles that talk to each other share a node; roles that disturb each other do not."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from loguru import logger
from pydantic import Field

from pumice import Job, NodeView, Plugin, Scope, Task, hookimpl
from pumice_builtin_plugins.task_topology.buckets import Bucket, JobBuckets
from pumice_builtin_plugins.task_topology.roles import Roles

_MAX_SCORE = 100


class TaskTopology(Plugin):
    """Affinity between the roles of a job, as annotations of its pod group tell it.

    Tasks are put into buckets when the cycle begins; a node is the better the more of a task's
    bucket it has or could take. Only what is placed in this cycle repels.
    """

    class Options(Plugin.Options):
        weight: int = Field(
            1, alias="task-topology.weight", description="Weight of the whole score."
        )

    @hookimpl
    def on_session_open(self) -> None:
        self._jobs: dict[str, JobBuckets] = {}
        for job in self.session.jobs.values():
            buckets = _buckets_of(job)
            if buckets is not None:
                self._jobs[job.uid] = buckets
        self._settled: dict[str, JobBuckets] = {}

    def _of(self, task: Task) -> JobBuckets | None:
        return None if task.job is None else self._jobs.get(task.job.uid)

    # -- who goes first

    @hookimpl
    def task_order(self, left: Task, right: Task) -> int:
        l_buckets, r_buckets = self._of(left), self._of(right)
        if l_buckets is None or r_buckets is None:
            return 0
        l_bucket, r_bucket = l_buckets.of.get(left.uid), r_buckets.of.get(right.uid)
        if l_bucket is None or r_bucket is None:
            return (l_bucket is None) - (r_bucket is None)
        if l_buckets is not r_buckets:
            return 0
        if l_bucket is not r_bucket:
            l_place, r_place = (-l_bucket.size, l_bucket.index), (-r_bucket.size, r_bucket.index)
            return -1 if l_place < r_place else 1
        l_rank, r_rank = (l_buckets.roles.rank[task.role] for task in (left, right))
        return (l_rank < r_rank) - (l_rank > r_rank)

    # -- where to

    def class_key(self, task: Task) -> bool:
        return self._is_drawn(task)

    def _is_drawn(self, task: Task) -> bool:
        buckets = self._of(task)
        return buckets is not None and task.uid in buckets.of

    def _reach(self, task: Task) -> Scope:
        return "cluster" if self._is_drawn(task) else "static"

    @hookimpl(scope=_reach)
    def batch_node_order(self, task: Task, nodes: NodeView) -> np.ndarray | None:
        buckets = self._of(task)
        bucket = buckets.of.get(task.uid) if buckets is not None else None
        if buckets is None or bucket is None:
            return None
        room = nodes.idle + nodes.releasing
        repelling = {
            node: buckets.roles.repulsion(task.role, placed)
            for node, placed in buckets.placed.items()
        }
        drawn = self._by_node(bucket.on_node, nodes) - self._by_node(repelling, nodes)
        score = drawn + bucket.fitting(task, room)
        score[(room < task.vector).any(axis=1)] = 0
        scaled: np.ndarray = score * (self.options.weight * _MAX_SCORE) / buckets.largest
        return scaled

    def _by_node(self, counts: Mapping[str, int], nodes: NodeView) -> np.ndarray:
        column = np.zeros(len(nodes.table), np.int64)
        row_of = nodes.table.row_of
        for node, count in counts.items():
            if node in row_of:
                column[row_of[node]] = count
        return nodes.take(column)

    # -- what happens

    @hookimpl
    def on_allocate(self, task: Task) -> None:
        """Tasks that had a node when the cycle began keep their place in the buckets."""
        buckets = self._of(task)
        if buckets is not None and _is_waiting(buckets.of.get(task.uid), task):
            buckets.settle(task)
            self._settled[task.uid] = buckets

    @hookimpl
    def on_deallocate(self, task: Task) -> None:
        buckets = self._settled.pop(task.uid, None)
        if buckets is not None:
            buckets.unsettle(task)


def _is_waiting(bucket: Bucket | None, task: Task) -> bool:
    return bucket is not None and task.uid in bucket.waiting


def _buckets_of(job: Job) -> JobBuckets | None:
    tasks = job.tasks.values()
    try:
        roles = Roles.read(job.group.annotations, {task.role for task in tasks if task.role})
    except ValueError as error:
        logger.warning("job {}: {}; its task topology is left aside", job.uid, error)
        return None
    return None if roles is None else JobBuckets(roles, tasks)
