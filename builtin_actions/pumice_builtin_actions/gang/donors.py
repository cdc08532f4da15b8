"""The bundles that each job could give up for a gang, cached until its tasks change."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from pumice import Job, JobCursor, Session, Task, TaskStatus
from pumice_builtin_actions.gang.bundles import Bundle, make_bundles


class Donors:
    """Makes the bundles of jobs, once for as long as a job stays the same."""

    def __init__(self, session: Session, statuses: Iterable[TaskStatus]) -> None:
        """``statuses``: those in which a task may be evicted."""
        self._row_of = session.nodes.row_of
        self._statuses = tuple(sorted(statuses))
        self._caches = session.uses("victims")
        self._cursor = JobCursor(session.cluster.job_journal)
        self._cache: dict[str, list[Bundle]] = {}

    def refresh(self) -> None:
        """Drop the bundles of jobs that have changed."""
        if not self._caches:
            self._cache.clear()
        for job in self._cursor.changed():
            self._cache.pop(job.uid, None)

    def bundles(self, job: Job, inside: Collection[int] | None) -> list[Bundle]:
        """The bundles of a job's tasks on these rows; None: on all nodes."""
        bundles = self._cache.get(job.uid)
        if bundles is None:
            bundles = self._cache[job.uid] = _bundles(self._evictable(job))
        if inside is None or self._are_within(bundles, inside):
            return bundles
        row_of = self._row_of
        return _bundles([t for t in self._evictable(job) if row_of[t.node] in inside])

    def _are_within(self, bundles: Iterable[Bundle], rows: Collection[int]) -> bool:
        return all(self._row_of[task.node] in rows for bundle in bundles for task in bundle.tasks)

    def _evictable(self, job: Job) -> list[Task]:
        return [
            task
            for status in self._statuses
            for task in job.by_status[status].values()
            if task.preemptable and task.node in self._row_of
        ]


def _bundles(tasks: list[Task]) -> list[Bundle]:
    return make_bundles(tasks) if tasks else []
