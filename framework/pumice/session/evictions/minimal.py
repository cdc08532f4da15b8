"""Spare the victims that a plan does not need."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from pumice.model.fitting import RequestFit
from pumice.model.gang import active_count
from pumice.model.job import Job
from pumice.model.task import Task
from pumice.session.evictions.plan import EvictionPlan
from pumice.session.operations import Operation

if TYPE_CHECKING:
    from pumice.session.session import Session


def spare_needless_victims(session: Session, plan: EvictionPlan) -> None:
    """Un-evict what need not go, the most important victims first."""
    again = True
    while again and plan.victims:
        again = False
        for group in list(_groups(session, plan)):
            if again or plan.damaged:
                evicted = {task.uid for task in plan.tasks}
                group = [victim for victim in group if victim.task.uid in evicted]
            if not group or not _may_be_spared(session, plan, group):
                continue
            if plan.remake(spared=[victim.task for victim in group]):
                # Another arrangement of the claimant may need fewer of the others, too.
                again = True


def _groups(session: Session, plan: EvictionPlan) -> Iterator[list[Operation]]:
    """What may be spared together: one task beyond a gang's minimum, the minimum, or the gang."""
    if len(plan.victims) == len(plan.victim_jobs) == 1:
        yield plan.victims
        return
    by_job: dict[int, list[Operation]] = {}
    for victim in plan.victims:
        by_job.setdefault(id(victim.task.job), []).append(victim)
    for job in sorted(plan.victim_jobs, key=_importance):
        victims = by_job[id(job)]
        yield victims
        if len(victims) == 1:
            continue
        of_task = {victim.task.uid: victim for victim in victims}
        tasks = session.order.sorted_tasks(victim.task for victim in victims)
        ordered = [of_task[task.uid] for task in tasks]
        if active_count(job):
            for victim in ordered:
                yield [victim]
        else:
            taken = _rows_of_claimants(plan)
            elsewhere = [victim for victim in ordered if victim.row not in taken]
            minimum = max(job.min_available, 1)
            if minimum < len(elsewhere) < len(victims):
                yield elsewhere
            if minimum < len(victims):
                beside = [victim for victim in ordered if victim.row in taken]
                some = [*elsewhere, *beside]
                yield from ([victim] for victim in some) if minimum == 1 else [some[:minimum]]


def _importance(job: Job) -> tuple[int, float, str]:
    return -job.priority, job.created, job.uid


def _rows_of_claimants(plan: EvictionPlan) -> set[int]:
    return {op.row for op in plan.placements if op.task.uid not in plan.moved}


def _may_be_spared(session: Session, plan: EvictionPlan, group: list[Operation]) -> bool:
    """A cheap necessary condition: the nodes have room for the group, or others can make it.

    What is placed there may fit elsewhere, or a task of a job in the group need not be placed.
    Shares of GPUs are not looked at here.
    """
    nodes = session.nodes
    claimants = set(map(id, plan.claimants))
    spared = {id(v.task.job) for v in group if v.task.uid not in plan.moved} - claimants
    needed: dict[int, np.ndarray] = {}
    given_up: dict[int, np.ndarray] = {}
    for victim in group:
        if victim.task.gpu.shared or victim.task.gpu_groups:
            return True
        _add(needed, victim.row, victim.task.vector)
        if victim.task.uid in plan.moved:
            _add(given_up, nodes.row_of[victim.task.node], victim.task.vector)
    for row, amount in needed.items():
        if _has_room(nodes.future_idle[row], amount):
            continue
        placed = [op.task for op in plan.placements if op.row == row]
        if not any(
            id(task.job) in spared or _fits_elsewhere(session, task, given_up) for task in placed
        ):
            return False
    return True


def _has_room(free: np.ndarray, amount: np.ndarray) -> bool:
    """Whether nothing more is asked for than is free; of what is over-committed, nothing at all."""
    for wanted, left in zip(amount.tolist(), free.tolist(), strict=True):  # numpy costs thrice
        if wanted > left and wanted > 0:
            return False
    return True


def _add(sums: dict[int, np.ndarray], row: int, vector: np.ndarray) -> None:
    sums[row] = sums[row] + vector if row in sums else vector


def _fits_elsewhere(session: Session, task: Task, given_up: dict[int, np.ndarray]) -> bool:
    """Whether a placed task fits what is left on some node, ``given_up`` by row included."""
    if task.best_effort or task.gpu.shared or np.count_nonzero(session.queries.fits_future(task)):
        return True
    if not given_up:
        return False
    fit, future = RequestFit(task.vector, task.compared), session.nodes.future_idle
    return any(fit.fits((future[row] + more).tolist()) for row, more in given_up.items())
