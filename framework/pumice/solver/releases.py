"""What the victims of a growing plan release, summed up by job and node."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from operator import add

from pumice.model.nodes import NodeTable
from pumice.model.task import Task
from pumice.solver.capacity_bound import (
    CapacityBound,
    FreedRows,
    Request,
    RequestCounts,
    RequestTable,
)
from pumice.solver.plan import NewVictims, Plan

_NOTHING: FreedRows = {}


class Releases:
    """Sums of one step, so that its trials need not look at each victim again."""

    def __init__(self, nodes: NodeTable, capacity: CapacityBound, plan: Plan) -> None:
        self._row_of = nodes.row_of
        self._capacity = capacity
        self.plan = plan
        self._new = NewVictims()
        self._counted: set[str] = set()
        self._of_recorded = Released(capacity)
        self._of_job: dict[str, FreedRows] = {}
        """By job: what its victims release that are not recorded."""
        self._of_all = Released(capacity)
        self._all_fit = False
        self.rows: dict[str, set[int]] = {}
        """By job: the rows of its victims, also of those that are recorded."""
        self.elsewhere: set[str] = set()
        """The jobs that have a victim on a node that is not one of the session."""
        self._shares_gpus: set[str] = set()
        """The jobs that have a victim that shares GPUs: it may release a whole GPU."""
        self._recorded_share_gpus = False

    def refresh(self) -> None:
        """Count the victims that were added to the plan since the last call."""
        recorded = self.plan.recorded_uids
        for task in self._new.of(self.plan):
            if task.uid not in self._counted:
                self._counted.add(task.uid)
                self._count(task, recorded=task.uid in recorded)

    def _count(self, task: Task, *, recorded: bool) -> None:
        assert task.job is not None
        uid, row = task.job.uid, self._row_of.get(task.node)
        if row is None:
            self.elsewhere.add(uid)
            return
        self.rows.setdefault(uid, set()).add(row)
        if task.gpu.shared or task.gpu_groups:
            self._shares_gpus.add(uid)
            self._recorded_share_gpus = self._recorded_share_gpus or recorded
        amounts = self._capacity.amounts_of(task)
        if not self._all_fit:
            self._of_all.add(row, amounts)
        if recorded:
            self._of_recorded.add(row, amounts)
            return
        of_job = self._of_job.setdefault(uid, {})
        known = of_job.get(row)
        of_job[row] = amounts if known is None else list(map(add, known, amounts))

    def may_all_fit(self, wanted: RequestCounts) -> bool:
        """Whether the wanted tasks may fit if all victims of the plan are evicted together.

        ``wanted`` is the same in the whole step, and the victims become more: yes stays yes.
        """
        if not self._all_fit:
            self._all_fit = bool(self._shares_gpus) or self._of_all.may_fit(wanted)
        return self._all_fit

    def share_gpus(self, jobs: Iterable[str]) -> bool:
        """Whether a recorded victim, or one of these jobs, shares GPUs."""
        return self._recorded_share_gpus or not self._shares_gpus.isdisjoint(jobs)

    def may_fit(self, wanted: RequestCounts, jobs: Collection[str]) -> bool:
        """Whether they may fit once the recorded victims and those of these jobs are evicted."""
        if self.share_gpus(jobs):
            return True
        if len(jobs) == 1:
            (uid,) = jobs
            return self._of_recorded.may_fit(wanted, self._of_job.get(uid, _NOTHING))
        own = (of_job for of_job in map(self._of_job.get, jobs) if of_job)
        return self._of_recorded.may_fit(wanted, _sums(own))


def _sums(released: Iterable[FreedRows]) -> FreedRows:
    sums: FreedRows = {}
    for of_job in released:
        for row, amounts in of_job.items():
            known = sums.get(row)
            sums[row] = amounts if known is None else list(map(add, known, amounts))
    return sums


class Released:
    """What a growing number of victims releases; a new one costs a look at its own row."""

    def __init__(self, capacity: CapacityBound) -> None:
        self._capacity = capacity
        self._free: FreedRows = {}
        self._log: list[int] = []
        """The rows that changed, in order."""
        self._gains: dict[Request, _Gains] = {}

    def add(self, row: int, amounts: list[int]) -> None:
        before = self._free.get(row)
        if before is None:
            before = self._capacity.free_on(row)
        self._free[row] = list(map(add, before, amounts))
        self._log.append(row)

    def may_fit(self, wanted: RequestCounts, more: FreedRows = _NOTHING) -> bool:
        """Whether the wanted tasks may fit once this, and ``more``, is released."""
        for request, count in wanted.items():
            table = self._capacity.table_of(request)
            if table is None or count <= table.total:
                continue
            gain = 0
            if self._log:
                gains = self._gains_of(request, table)
                gain = gains.total - sum(gains.by_row.get(row, 0) for row in more)
            for row, amounts in more.items():
                free = self._free.get(row) or self._capacity.free_on(row)
                gain += table.gain(row, list(map(add, free, amounts)))
            if count > table.total + gain:
                return False
        return True

    def _gains_of(self, request: Request, table: RequestTable) -> _Gains:
        gains = self._gains.get(request)
        if gains is None or gains.opened != table.opened:
            gains = self._gains[request] = _Gains(table.opened)
        for row in self._log[gains.seen :]:
            gain = table.gain(row, self._free[row])
            gains.total += gain - gains.by_row.get(row, 0)
            gains.by_row[row] = gain
        gains.seen = len(self._log)
        return gains


@dataclass(slots=True)
class _Gains:
    """How many more tasks with one request fit by what is released."""

    opened: int
    """How many rows of the table were open then: with another one they are counted again."""
    seen: int = 0
    total: int = 0
    by_row: dict[int, int] = field(default_factory=dict)
