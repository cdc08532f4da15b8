"""Kinds of jobs: those of a queue that wait and ask for the same."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING

from pumice.model.cursors import JobCursor
from pumice.model.job import Job, SubJob
from pumice.model.task import TaskStatus

if TYPE_CHECKING:
    from pumice.session.session import Session

_PENDING = TaskStatus.PENDING
_KINDS = "pumice.kinds"
"""Name in ``session.state``."""


def kind_of(session: Session, job: Job) -> Hashable | None:
    """The same for all jobs of a queue that ask for the same; None: it is like no other."""
    waiting = job.by_status[_PENDING]
    if len(job.sub_jobs) != 1 or len(waiting) != len(job.tasks) or job.role_min:
        return None
    if job.has_network_topology or not _is_plain(next(iter(job.sub_jobs.values()))):
        return None
    kinds = set()
    for task in waiting.values():
        if task.gated or task.nominated_node or task.gpu.claimed:
            return None
        pod = task.pod
        kinds.add((session.queries.class_id(task), pod.priority_class, pod.priority))
    if len(kinds) != 1:
        return None
    return kinds.pop(), len(waiting), job.queue, job.preemptible


def _is_plain(part: SubJob) -> bool:
    """Whether a pod set stands in no group but the job itself, and has no topology to keep to."""
    above = part.parent
    if part.topology_constraint is not None:
        return False
    return above is None or (above.parent is None and above.topology_constraint is None)


class Kinds:
    """The kinds of the jobs of a session, looked up again when a task has changed its status."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._changes = JobCursor(session.cluster.job_journal)
        self._known: dict[str, Hashable] = {}

    @classmethod
    def of_session(cls, session: Session) -> Kinds:
        """Those of a session, which all actions share."""
        kinds: Kinds | None = session.state.get(_KINDS)
        if kinds is None:
            kinds = session.state[_KINDS] = cls(session)
        return kinds

    def of(self, job: Job) -> Hashable:
        """The kind of a job; its uid, if it is like no other."""
        for changed in self._changes.changed():
            self._known.pop(changed.uid, None)
        kind = self._known.get(job.uid)
        if kind is None:
            try:
                kind = kind_of(self._session, job)
            except Exception as exc:
                with self._session.turn(job):  # a block for every job would cost more
                    raise exc
            kind = self._known[job.uid] = job.uid if kind is None else kind
        return kind
