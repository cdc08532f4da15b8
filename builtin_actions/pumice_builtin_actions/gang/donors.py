"""What each job could give to a gang: its tasks in bundles, kept until something happens to it."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from pumice import Job, JobCursor, Session, Task, TaskStatus
from pumice_builtin_actions.gang.bundles import Bundle, make_bundles


class Donors:
    """Makes the bundles of jobs, once for as long as they stay the same."""

    def __init__(self, session: Session, statuses: Iterable[TaskStatus]) -> None:
        """``statuses``: those of tasks that may be evicted."""
        self._row_of = session.nodes.row_of
        self._statuses = tuple(sorted(statuses))
        self._remembers = session.uses("victims")
        self._cursor = JobCursor(session.cluster.job_journal)
        self._cached: dict[str, list[Bundle]] = {}

    def renew(self) -> None:
        """Forget what is known of jobs that something happened to."""
        if not self._remembers:
            self._cached.clear()
        for job in self._cursor.changed():
            self._cached.pop(job.uid, None)

    def bundles(self, job: Job, inside: Collection[int] | None) -> list[Bundle]:
        """Of the tasks on these rows; None: on all nodes."""
        found = self._cached.get(job.uid)
        if found is None:
            found = self._cached[job.uid] = _in_bundles(self._evictable(job))
        if inside is None or self._within(found, inside):
            return found
        row_of = self._row_of
        return _in_bundles([t for t in self._evictable(job) if row_of[t.node] in inside])

    def _within(self, bundles: Iterable[Bundle], rows: Collection[int]) -> bool:
        return all(self._row_of[task.node] in rows for bundle in bundles for task in bundle.tasks)

    def _evictable(self, job: Job) -> list[Task]:
        return [
            task
            for status in self._statuses
            for task in job.by_status[status].values()
            if task.preemptable and task.node in self._row_of
        ]


def _in_bundles(tasks: list[Task]) -> list[Bundle]:
    return make_bundles(tasks) if tasks else []
