"""Place tasks of a job by affinity and anti-affinity between their roles."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from loguru import logger
from pydantic import Field

from pumice import Job, NodeView, Plugin, Scope, Task, hookimpl
from pumice_builtin_plugins.task_topology.buckets import Bucket, JobBuckets
from pumice_builtin_plugins.task_topology.roles import RoleAffinity

_MAX_SCORE = 100


class TaskTopology(Plugin):
    """Affinity between the roles of a job, given by annotations of its pod group.

    Tasks are put into buckets when the cycle begins; a node scores by how much of a task's bucket
    it has or could take. As in Volcano, anti-affinity counts only tasks placed in this cycle.
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
        self._placed: dict[str, JobBuckets] = {}

    def class_key(self, task: Task) -> bool:
        return self._has_bucket(task)

    @hookimpl
    def task_order(self, left: Task, right: Task) -> int:
        l_buckets, r_buckets = self._buckets(left), self._buckets(right)
        if l_buckets is None or r_buckets is None:
            return 0
        l_bucket, r_bucket = l_buckets.bucket_of.get(left.uid), r_buckets.bucket_of.get(right.uid)
        if l_bucket is None or r_bucket is None:
            return (l_bucket is None) - (r_bucket is None)
        if l_buckets is not r_buckets:
            return 0
        if l_bucket is not r_bucket:
            l_place, r_place = (-l_bucket.size, l_bucket.index), (-r_bucket.size, r_bucket.index)
            return -1 if l_place < r_place else 1
        l_rank, r_rank = (l_buckets.affinity.rank[task.role] for task in (left, right))
        return (l_rank < r_rank) - (l_rank > r_rank)

    def _scope(self, task: Task) -> Scope:
        return "cluster" if self._has_bucket(task) else "static"

    @hookimpl(scope=_scope)
    def batch_node_order(self, task: Task, nodes: NodeView) -> np.ndarray | None:
        buckets = self._buckets(task)
        bucket = buckets.bucket_of.get(task.uid) if buckets is not None else None
        if buckets is None or bucket is None:
            return None
        free = nodes.idle + nodes.releasing
        conflicts = {
            node: buckets.affinity.conflicts(task.role, placed)
            for node, placed in buckets.placed.items()
        }
        placed = self._by_node(bucket.on_node, nodes) - self._by_node(conflicts, nodes)
        score = placed + bucket.fitting(task, free)
        score[(free < task.vector).any(axis=1)] = 0
        scaled: np.ndarray = score * (self.options.weight * _MAX_SCORE) / buckets.largest
        return scaled

    @hookimpl
    def on_allocate(self, task: Task) -> None:
        # Tasks that had a node when the cycle began stay in their buckets.
        buckets = self._buckets(task)
        if buckets is not None and _is_waiting(buckets.bucket_of.get(task.uid), task):
            buckets.place(task)
            self._placed[task.uid] = buckets

    @hookimpl
    def on_deallocate(self, task: Task) -> None:
        buckets = self._placed.pop(task.uid, None)
        if buckets is not None:
            buckets.unplace(task)

    # -- helpers

    def _buckets(self, task: Task) -> JobBuckets | None:
        return None if task.job is None else self._jobs.get(task.job.uid)

    def _has_bucket(self, task: Task) -> bool:
        buckets = self._buckets(task)
        return buckets is not None and task.uid in buckets.bucket_of

    def _by_node(self, counts: Mapping[str, int], nodes: NodeView) -> np.ndarray:
        column = np.zeros(len(nodes.table), np.int64)
        row_of = nodes.table.row_of
        for node, count in counts.items():
            if node in row_of:
                column[row_of[node]] = count
        return nodes.take(column)


def _is_waiting(bucket: Bucket | None, task: Task) -> bool:
    return bucket is not None and task.uid in bucket.waiting


def _buckets_of(job: Job) -> JobBuckets | None:
    tasks = job.tasks.values()
    try:
        affinity = RoleAffinity.read(
            job.group.annotations, {task.role for task in tasks if task.role}
        )
    except ValueError as error:
        logger.warning("job {}: {}; its task topology is ignored", job.uid, error)
        return None
    return None if affinity is None else JobBuckets(affinity, tasks)
