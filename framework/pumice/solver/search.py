"""The search: grow the job task by task, and for each step the victims until it fits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pumice.model.job import Job
from pumice.model.task import Task, TaskStatus
from pumice.session.chunks import has_pending, is_gang_satisfied, job_used_count
from pumice.session.queue_tree import QueueTree, takes_jobs
from pumice.session.ranked import RankedJobs
from pumice.session.statement import Statement
from pumice.session.whole_jobs import WholeJobs
from pumice.solver.builder import ScenarioBuilder
from pumice.solver.filters import make_filters
from pumice.solver.scenario import Scenario, VictimGroup

if TYPE_CHECKING:
    from pumice.session.session import Session

_GOING = (TaskStatus.RELEASING, TaskStatus.PIPELINED)


class _Solution(NamedTuple):
    statement: Statement
    victims: list[VictimGroup]


class Solver:
    """Finds victims for one action.

    ``victims`` makes a fresh queue of candidate victim jobs for a claimant; ``validator`` judges
    a plan that places it. ``budget`` limits the simulations for one job; 0 is no limit.
    ``ghosts`` copies a flaw of KAI's accounting: a trial that moved a victim between devices of
    its node and was dropped leaves the victim counted as leaving, for the rest of the cycle
    (``exact=False`` of :class:`~pumice.session.statement.Statement`).
    """

    def __init__(
        self,
        session: Session,
        placer: WholeJobs,
        *,
        victims: Callable[[Job], QueueTree],
        validator: Callable[[Scenario], bool],
        allow_consolidating: bool = True,
        budget: int = 0,
        ghosts: bool = False,
    ) -> None:
        self._session = session
        self._placer = placer
        self._victims = victims
        self._validator = validator
        self._allow_consolidating = allow_consolidating
        self._budget = budget
        self._ghosts = ghosts
        self._ranks = session.order.has_job_keys and session.uses("ranked")
        self.simulations = 0
        """Simulations run so far, over all jobs."""
        self.refused = 0
        """Scenarios that were refused without a simulation."""
        self.exhausted = False
        """Whether the last search ended because its budget was spent."""
        self._left = 0

    @property
    def ghosts(self) -> bool:
        """Whether trials that are dropped may leave something behind, as KAI's do."""
        return self._ghosts

    def chunk(self, job: Job) -> list[Task]:
        """The tasks that a search for the job would have to place together."""
        return self._placer.chunks.to_allocate(job, real=False)

    def solve(self, job: Job, feasible: Iterable[int]) -> Statement | None:
        """A statement that makes room for the job's next chunk and promises it, or None."""
        self.exhausted = False
        if not takes_jobs(self._session, job.queue):
            return None
        used_before = job_used_count(job)
        tasks = self.chunk(job)
        recorded: list[VictimGroup] = []
        solution: _Solution | None = None
        self._left = self._budget
        rows = set(feasible)
        for size in range(1, len(tasks) + 1):
            if solution is not None:
                _drop(solution.statement)
            part = tasks[:size]
            minimums = Counter(task.sub_job.uid for task in part if task.sub_job is not None)
            solution = self._solve_part(job, job.subset(part, minimums), part, recorded, rows)
            if solution is None:
                return None
            recorded = solution.victims
        if solution is None:
            return None
        if is_gang_satisfied(job) and job_used_count(job) > used_before:
            return solution.statement
        _drop(solution.statement)
        return None

    def _solve_part(
        self,
        job: Job,
        part: Job,
        tasks: list[Task],
        recorded: list[VictimGroup],
        feasible: set[int],
    ) -> _Solution | None:
        session = self._session
        row_of = session.nodes.row_of
        rows = feasible | {
            row_of[task.node] for group in recorded for task in group.tasks if task.node in row_of
        }
        scenario = Scenario(part, recorded, allow_consolidating=self._allow_consolidating)
        builder = ScenarioBuilder(
            scenario,
            self._victims(job),
            self._placer.chunks,
            make_filters(session, part, tasks, rows),
        )
        found: _Solution | None = None
        candidate = builder.first()
        while candidate is not None:
            if self._budget and self._left <= 0:
                self.exhausted = True
                break
            found = self._try(candidate, rows)
            if found is not None:
                break
            candidate = builder.next()
        self.refused += builder.refused
        return found

    def _try(self, scenario: Scenario, rows: set[int]) -> _Solution | None:
        """Simulate a scenario, node by node of the newest victim."""
        session = self._session
        latest = scenario.latest
        if latest is None and not scenario.recorded:
            return None
        nodes = [""] if latest is None else sorted({t.node for t in latest.tasks.values()})
        with Statement(session, exact=not self._ghosts) as statement:
            self._evict(statement, scenario, scenario.recorded)
            for node in nodes:
                mark = statement.checkpoint()
                groups = [] if latest is None else scenario.groups_on(node)
                if not self._are_here(groups):
                    break
                fresh = self._evict(statement, scenario, groups)
                row_of = session.nodes.row_of
                added = {row_of[t.node] for t in fresh if t.node in row_of} - rows
                rows |= added
                victims = [*scenario.recorded, *groups]
                if self._simulate(statement, scenario, victims, rows):
                    if not self._validator(scenario):
                        statement.rollback(0)
                        return None
                    saved = Statement(session, exact=not self._ghosts)
                    saved.merge(statement)
                    return _Solution(saved, _gone(victims))
                rows -= added
                statement.rollback(mark)
            statement.rollback(0)
        return None

    def _are_here(self, groups: list[VictimGroup]) -> bool:
        """Whether all are on nodes of the session: a plan that takes others cannot be proven."""
        row_of = self._session.nodes.row_of
        return all(task.node in row_of for group in groups for task in group.tasks)

    def _evict(
        self, statement: Statement, scenario: Scenario, groups: list[VictimGroup]
    ) -> list[Task]:
        claimant = self._session.jobs[scenario.preemptor.uid]
        fresh: list[Task] = []
        for group in groups:
            for task in group.tasks:
                if task.status is not TaskStatus.RELEASING:
                    statement.evict(task, self._session.current_action, claimant=claimant)
                    fresh.append(task)
        return fresh

    def _simulate(
        self,
        statement: Statement,
        scenario: Scenario,
        victims: list[VictimGroup],
        rows: set[int],
    ) -> bool:
        """Place claimant and victims in the order of the queues; tells whether it got its place.

        Other pending jobs only shape the order. A victim that finds no place stays evicted.
        """
        self.simulations += 1
        self._left -= 1
        claimant = scenario.preemptor
        of_victims = {group.job.uid for group in victims}
        where = np.array(sorted(rows), dtype=np.intp)
        claimant_placed = False
        for job in self._in_order(claimant, of_victims):
            placed = self._placer.place(statement, job, where, promise=True)
            if job is claimant:
                if not placed:
                    return False
                claimant_placed = True
        return claimant_placed

    def _in_order(self, claimant: Job, of_victims: set[str]) -> Iterator[Job]:
        """The claimant and the victims as they come up in the order of the queues."""
        session = self._session
        left = {uid: session.jobs[uid] for uid in sorted(of_victims)}
        left[claimant.uid] = claimant
        # Others that wait decide which queue comes next, but nothing within a queue.
        by_rank = self._ranks
        rank = {uid: session.order.job_key(job) for uid, job in left.items()} if by_rank else {}
        tree: QueueTree | None = None
        while left and not (by_rank and len({job.queue for job in left.values()}) == 1):
            if tree is None:
                tree = self._order(claimant, of_victims)
            if not tree:
                return
            job = tree.pop()
            if left.pop(job.uid, None) is not None:
                yield job
        for uid in sorted(left, key=rank.__getitem__):
            yield left[uid]

    def _order(self, claimant: Job, of_victims: set[str]) -> QueueTree:
        """All jobs that wait, the victims and the claimant, in the order of the queues."""
        session = self._session
        apart = {claimant.uid, *of_victims}
        victims = [session.jobs[uid] for uid in sorted(of_victims - {claimant.uid})]
        if not self._ranks:
            others = [
                job for uid, job in session.jobs.items() if uid not in apart and has_pending(job)
            ]
            return QueueTree(session, [*others, *victims, claimant])
        order = QueueTree.ranked(session, self._waiting.refresh(), lambda job: job.uid not in apart)
        for job in (*victims, claimant):
            order.push(job)
        return order

    @cached_property
    def _waiting(self) -> RankedJobs:
        """Ranked when first asked: mostly nobody has to be searched for."""
        return RankedJobs(self._session, has_pending)


def _drop(statement: Statement) -> None:
    """Take a trial back; no task is to remember it as a refused placement."""
    statement.rollback(0)
    statement.discard()


def _gone(groups: list[VictimGroup]) -> list[VictimGroup]:
    """The victims that really go or move, group by group."""
    found = []
    seen: set[str] = set()
    for group in groups:
        tasks = [t for t in group.tasks if t.status in _GOING and t.uid not in seen]
        seen.update(task.uid for task in tasks)
        if tasks:
            found.append(VictimGroup(group.job, tasks))
    return found
