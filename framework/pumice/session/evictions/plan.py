"""The evictions and placements of a statement as one plan, which can be made again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from pumice.model.job import Job
from pumice.model.task import Task
from pumice.session.domains import rows_beside_job
from pumice.session.evictions.gangs import is_broken, jobs_of, rest_of
from pumice.session.evictions.placing import best_other_row, fits, groups_on, objection_to
from pumice.session.operations import Kind, Operation

if TYPE_CHECKING:
    from pumice.session.session import Session
    from pumice.session.statement import Statement


_EVICT = Kind.EVICT


class EvictionPlan:
    """What a statement would evict and place."""

    def __init__(self, session: Session, statement: Statement) -> None:
        self._session = session
        self._statement = statement
        self.victims: list[Operation] = []
        """What is evicted, in order."""
        self.placements: list[Operation] = []
        """What is placed, in order; the new places of moved victims included."""
        self.moved: set[str] = set()
        """By uid: the victims that the plan has another place for."""
        self.claimants: list[Job] = []
        """The jobs that tasks are evicted for."""
        self.victim_jobs: list[Job] = []
        """The jobs that lose or move tasks."""
        self.tasks: tuple[Task, ...] = ()
        """All tasks that are evicted."""
        self.verified = True
        """Whether each placement was verified, and no victim came back afterwards."""
        self.damaged = False
        """Whether a part of it was refused when it was restored after a try."""
        self._read()

    def _read(self) -> None:
        self.victims = victims = []
        self.placements = placements = []
        for op in self._statement._standing():
            if op.kind is _EVICT:
                victims.append(op)
            else:
                placements.append(op)
        self.tasks = tuple([op.task for op in victims])
        evicted = {task.uid for task in self.tasks}
        self.moved = {op.task.uid for op in placements if op.task.uid in evicted}
        self.victim_jobs = jobs_of(self.tasks)
        claimants = {id(op.claimant): op.claimant for op in victims}
        self.claimants = [job for job in claimants.values() if job is not None]
        self.verified = not self._statement._cancels and all(op.verified for op in placements)

    def places_all_claimants(self) -> bool:
        """Whether a task of each claimant is placed."""
        placed = {id(op.task.job) for op in self.placements}
        return placed.issuperset(map(id, self.claimants))

    def complete_gangs(self) -> bool:
        """Evict what is left of gangs that the plan would break; False: that is not possible."""
        broken = [job for job in self.victim_jobs if is_broken(job)]
        if not broken:
            return True
        reason_of = {id(v.task.job): (v.reason, v.claimant) for v in self.victims}
        for job in broken:
            rest, (reason, claimant) = rest_of(job), reason_of[id(job)]
            if rest is None or claimant is None or claimant is job:
                return False
            for task in rest:
                if task.node not in self._session.nodes.row_of:
                    return False
                self._statement.evict(task, reason, claimant=claimant)
        self._read()
        return True

    def breaks(self, job: Job) -> bool:
        """Whether the plan leaves a gang below its minimum that has it without the plan."""
        lost = sum(1 for victim in self.victims if victim.task.job is job)
        held = job.ready_count + job.waiting_count + job.pending_best_effort
        return is_broken(job) and held + lost >= job.min_available

    def completes_claimants(self) -> bool:
        """Whether the gangs that tasks are evicted for have their minimum."""
        ask = self._session.ask
        return all(ask.job_pipelined(job) and not is_broken(job) for job in self.claimants)

    def remake(self, spared: Iterable[Task] = ()) -> bool:
        """Make the plan again without evicting ``spared``, each placement verified.

        A task that its node does not take any more is placed on another. A victim that would move
        may go for good, and a waiting task of its job wait on, in place of a spared one. Returns
        False, with the plan as it was, if the plan does not work.
        """
        session, statement = self._session, self._statement
        spared = list(spared)
        without = {task.uid for task in spared}
        may_go = Counter(id(task.job) for task in spared if task.uid not in self.moved)
        saved = statement._standing()
        victims = [victim for victim in self.victims if victim.task.uid not in without]
        placements = [op for op in self.placements if op.task.uid not in without]
        statement.rollback(0)
        failed = self._make(victims, placements, may_go)
        if failed is not None and failed is not placements[0]:
            # The tasks before it may have taken the only node that takes it.
            statement.rollback(0)
            others = [op for op in placements if op is not failed]
            failed = self._make(victims, [failed, *others], may_go)
        works = failed is None
        if works:
            self._read()
            works = (
                self.completes_claimants()
                and not any(is_broken(job) for job in self.victim_jobs)
                and self.places_all_claimants()
            )
        if works and len(self.victims) < len(victims):
            # A victim that got its own node back may repel what was placed while it was gone.
            works = self.remake()
        if not works:
            statement.rollback(0)
            for op in saved:
                objection = statement.recover([op])
                session.undone(objection)
                self.damaged = self.damaged or objection is not None
            self._read()
        return works

    def _make(
        self, victims: list[Operation], placements: list[Operation], may_go: Counter[int]
    ) -> Operation | None:
        """Evict and place; the placement that failed, if any.

        ``may_go``: by job, how many tasks of victims need no place.
        """
        session, statement = self._session, self._statement
        claimants = set(map(id, self.claimants))
        left_out: Counter[int] = Counter()
        for victim in victims:
            statement.evict(victim.task, victim.reason, claimant=victim.claimant)
        for op in placements:
            row = _row_for(session, op)
            if row is not None and self._place(op, row):
                continue
            job = id(op.task.job)
            left_out[job] += 1
            if job in claimants or left_out[job] > may_go[job]:
                return op
        return None

    def _place(self, op: Operation, row: int) -> bool:
        session, statement, task = self._session, self._statement, op.task
        groups = op.groups if row == op.row and not task.gpu.shared else None
        if task.gpu.shared:
            groups = groups_on(session, task, row)
            if groups is None:
                return False
        if op.kind is Kind.ALLOCATE and fits(session, task, row, idle=True):
            return statement.allocate(task, row, groups=groups, verified=True) is None
        occurred = op.eviction_occurred
        return (
            statement.pipeline(task, row, eviction_occurred=occurred, groups=groups, verified=True)
            is None
        )


def _row_for(session: Session, op: Operation) -> int | None:
    """The node of a placement, else the best other one that takes its task; None: there is none."""
    allowed = rows_beside_job(session, op.task)
    if (allowed is None or op.row in allowed) and objection_to(session, op.task, op.row) is None:
        return op.row
    return best_other_row(session, op.task, allowed)
