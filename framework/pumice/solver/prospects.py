"""Which of the jobs that wait in an action may still succeed."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import TYPE_CHECKING

from pumice.model.cursors import JobCursor
from pumice.model.job import Job, SubJob
from pumice.model.task import TaskStatus

if TYPE_CHECKING:
    from pumice.session.session import Session
    from pumice.solver.queue_tree import QueueTree

_PENDING = TaskStatus.PENDING
_KINDS = "pumice.kinds"
"""Name in ``session.state``."""
_SHORT_RUN = 8
"""Shorter runs of jobs that must fail are not worth looking for."""


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


class _Kinds:
    """The kinds of the jobs of a session, looked up again when a task has changed its status."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._changes = JobCursor(session.cluster.job_journal)
        self._known: dict[str, Hashable] = {}

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


class Prospects:
    """Gives the jobs of a queue tree in its order, and knows which of them are bound to fail.

    Those that are like jobs that have failed change nothing. So the next ones of a queue are given
    at once where no other queue comes between, and all that are left in any order.
    """

    def __init__(self, session: Session, tree: QueueTree) -> None:
        kinds: _Kinds | None = session.state.get(_KINDS)
        if kinds is None:
            kinds = session.state[_KINDS] = _Kinds(session)
        self._tree = tree
        self._kinds: dict[str, Hashable] = {}
        self._left: dict[Hashable, int] = {}
        """By kind: how many jobs are left."""
        self._of_queue: dict[str, dict[Hashable, Job]] = {}
        """By queue: a job of each kind. Without keys every job has a kind of its own."""
        for job in tree:
            self._add(job, kinds.of(job) if tree.by_keys else job.uid)
        self._open = len(self._kinds)
        """How many jobs are left of which none like them has failed."""
        self._lost: set[Hashable] = set()
        self._lost_for_now: list[Job] = []
        self._singly: dict[str, int] = {}
        """By queue: so many jobs are taken one by one before a run is looked for again."""
        self._journal = session.cluster.job_journal
        self._seen = len(self._journal)

    def _add(self, job: Job, kind: Hashable) -> None:
        self._kinds[job.uid] = kind
        self._left[kind] = self._left.get(kind, 0) + 1
        self._of_queue.setdefault(job.queue, {})[kind] = job

    def __iter__(self) -> Iterator[Job]:
        tree, queue = self._tree, ""
        while tree:
            if self._seen != len(self._journal):
                self._reopen()
            if not self._open:
                jobs = list(tree)
                tree.clear()
                yield from jobs
                continue
            jobs = self._pop_run(queue)
            if not jobs:
                jobs = [tree.pop()]
                queue = jobs[0].queue
            for job in jobs:
                self._take(job)
                yield job

    def _pop_run(self, queue: str) -> list[Job]:
        """The next jobs of the queue from which the last one came, as far as they must fail."""
        left, lost, kinds = self._left, self._lost, self._kinds
        first = self._tree.first_of(queue)
        if first is None or kinds[first.uid] not in lost:
            return []
        singly = self._singly.get(queue, 0)
        if singly:
            self._singly[queue] = singly - 1
            return []
        examples = [
            job for kind, job in self._of_queue[queue].items() if kind in lost and left[kind]
        ]
        run = self._tree.pop_run(queue, lambda job: kinds[job.uid] in lost, examples)
        if len(run) < _SHORT_RUN:
            self._singly[queue] = _SHORT_RUN
        return run

    def kind(self, job: Job) -> Hashable:
        """What the job has in common with those like it."""
        return self._kinds[job.uid]

    def _take(self, job: Job) -> None:
        kind = self._kinds[job.uid]
        self._left[kind] -= 1
        if kind not in self._lost:
            self._open -= 1

    def put_back(self, job: Job) -> None:
        """The job wants another turn; it is like no other now."""
        self._add(job, job.uid)
        self._open += 1
        self._tree.push(job)

    def lose(self, job: Job, *, for_now: bool = False) -> None:
        """Jobs like this one fail; ``for_now``: as long as no task changes its status."""
        kind = self._kinds[job.uid]
        if kind in self._lost:
            return
        if for_now:
            if self._seen != len(self._journal):
                self._reopen()
            self._lost_for_now.append(job)
        self._lost.add(kind)
        self._open -= self._left[kind]

    def _reopen(self) -> None:
        """What failed for now may succeed after a change."""
        self._seen = len(self._journal)
        for job in self._lost_for_now:
            kind = self._kinds[job.uid]
            self._lost.discard(kind)
            self._open += self._left[kind]
        self._lost_for_now.clear()
