"""Questions put to a session of one plugin, and what its answers must have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations
from typing import Any

import numpy as np

from pumice.ledger import plain
from pumice.model.task import PREEMPTABLE_STATUSES, Task
from pumice.plugin import Scope
from pumice.session.nodes.voters import FilterVoter, ScoreVoter, filter_voters, score_voters
from pumice.session.session import Session
from pumice.session.statement import Statement
from pumice.testing import session_state

_FEW = 4
"""How many tasks, or nodes of one task, are tried on."""
_COMPARING = ("span", "cluster")
"""Scopes whose answers may depend on which nodes are given."""


def pending(session: Session) -> list[Task]:
    """The tasks that wait, of all jobs, that some node could be asked for."""
    tasks = [task for job in session.jobs.values() for task in job.pending if not task.gated]
    return [task for task in tasks if session.queries.prepare(task) is None]


def running(session: Session) -> list[Task]:
    return [task for task in session.cluster.tasks.values() if task.status in PREEMPTABLE_STATUSES]


def answers(session: Session) -> dict[str, Any]:
    """What is said now about every job, queue, pending task and possible victim."""
    ask, found = session.ask, session_state.answers(session)
    queues, victims = list(session.queues.values()), running(session)
    found["queues"] = {
        (left.name, right.name): ask.queue_order(left, right, None, None, [], [])
        for left in queues
        for right in queues
    }
    found["tasks"] = {
        (left.uid, right.uid): ask.task_order(left, right)
        for job in session.jobs.values()
        for left, right in combinations(job.tasks.values(), 2)
    }
    found["enqueueable"] = {
        uid: ask.job_enqueueable(job)
        for uid, job in session.jobs.items()
        if job.min_resources is not None
    }
    found["victims"] = {}
    for task in pending(session)[:_FEW]:
        for point in (ask.preemptable, ask.reclaimable):
            candidates = list(victims)
            given = [victim.uid for victim in victims]
            found["victims"][task.uid, point is ask.preemptable] = plain(point(task, candidates))
            assert [victim.uid for victim in candidates] == given, "the list of candidates changed"
    return found


def facts(session: Session) -> dict[str, Any]:
    """What manifests said, as text, and what plugins may only read of it."""
    return {
        "pods": {uid: repr(task.pod) for uid, task in session.cluster.tasks.items()},
        "groups": {uid: repr(job.group) for uid, job in session.jobs.items()},
        "queues": {name: repr(queue) for name, queue in session.queues.items()},
        "nodes": {node.name: repr(node) for node in session.nodes.facts},
    }


def inconsistent_orders(session: Session) -> Iterator[str]:
    """Comparisons that put both of two first."""
    ask = session.ask
    tasks = [list(job.tasks.values()) for job in session.jobs.values()]
    asked: list[tuple[str, Callable[[Any, Any], int], list[Any]]] = [
        ("job_order", ask.job_order, list(session.jobs.values())),
        *(("task_order", ask.task_order, members) for members in tasks),
        (
            "queue_order",
            lambda left, right: ask.queue_order(left, right, None, None, [], []),
            list(session.queues.values()),
        ),
    ]
    for point, order, things in asked:
        for left, right in combinations(things, 2):
            there, back = order(left, right), order(right, left)
            if there != -back:
                yield f"{point}: ({plain(left)}, {plain(right)}) = {there}, reversed {back}"


def disagreeing_forms(session: Session) -> Iterator[str]:
    """Where a plugin's vector or key form says something else than its scalar form."""
    nodes = session.nodes
    for task in pending(session):
        for voter in _voters(session):
            whole = _vector(voter, task, session, None)
            for row in range(len(nodes)):
                alone = _vector(voter, task, session, np.array([row]))[0]
                forms = {"of all nodes": whole[row], "of this node": alone}
                if voter.vector is not None and voter.scalar is not None:
                    forms["scalar"] = _scalar(voter, task, session, row)
                if voter.reach(task) in _COMPARING:
                    del forms["of this node"]
                if len(set(map(str, forms.values()))) > 1:
                    yield f"{voter.name}: {voter.point}({task.key}, {nodes.names[row]}): {forms}"
    yield from _disagreeing_keys(session)


def _disagreeing_keys(session: Session) -> Iterator[str]:
    for point, things in (
        ("job_order", list(session.jobs.values())),
        ("task_order", [t for job in session.jobs.values() for t in job.tasks.values()]),
    ):
        keys = {
            impl.plugin: impl for tier in session.ask.voters[f"{point}_key"] for impl, _ in tier
        }
        for tier in session.ask.voters[point]:
            for impl, _ in tier:
                if impl.plugin not in keys:
                    continue
                key = keys[impl.plugin].fn
                for left, right in combinations(things, 2):
                    said = impl.fn(left, right) or 0
                    sorts = (key(left) > key(right)) - (key(left) < key(right))
                    if (said > 0) - (said < 0) != sorts:
                        names = f"({plain(left)}, {plain(right)})"
                        yield f"{impl.plugin}: {point}{names} = {said}, by key {sorts}"


def beyond_scope(session: Session) -> Iterator[str]:
    """Answers that a placement elsewhere changed though their scope excludes it."""
    asked = [(voter, task) for task in pending(session) for voter in _voters(session)]
    bounded = [(v, t, v.reach(t)) for v, t in asked if v.reach(t) != "cluster"]
    before = [
        (_vector(voter, task, session, None), voter.plugin.span(task)) for voter, task, _ in bounded
    ]
    for statement in trials(session):
        touched = {operation.row for operation in statement.operations}
        moved = {operation.task for operation in statement.operations}
        for (voter, task, scope), (then, span) in zip(bounded, before, strict=True):
            if task not in moved and (scope != "span" or voter.plugin.span(task) == span):
                now = _vector(voter, task, session, None)
                yield from _changed(session, voter, task, scope, now, then, touched)
        statement.discard()


def _changed(
    session: Session,
    voter: FilterVoter | ScoreVoter,
    task: Task,
    scope: Scope,
    now: list[Any],
    then: list[Any],
    touched: set[int],
) -> Iterator[str]:
    for row, (is_, was) in enumerate(zip(now, then, strict=True)):
        if str(is_) != str(was) and (scope == "static" or row not in touched):
            node = session.nodes.names[row]
            yield f"{voter.name}: {voter.point}({task.key}, {node}) is {scope}: was {was}, is {is_}"


def trials(session: Session) -> Iterator[Statement]:
    """Open statements, each with a placement or an eviction in it, and a last one with many."""
    for task in pending(session)[:_FEW]:
        for row in _room(session, task)[:2]:
            statement = session.statement()
            if statement.allocate(task, row) is None:
                yield statement
            else:
                statement.discard()
    for victim in running(session)[:_FEW]:
        if victim.node in session.nodes.row_of:
            statement = session.statement()
            statement.evict(victim, "a trial")
            yield statement
    statement = session.statement()
    for victim in running(session)[:1]:
        if victim.node in session.nodes.row_of:
            statement.evict(victim, "a trial")
    for task in pending(session):
        for row in _room(session, task)[-1:]:
            statement.allocate(task, row)
    yield statement


def _room(session: Session, task: Task) -> list[int]:
    if task.best_effort:
        return list(range(len(session.nodes)))
    rows: list[int] = np.flatnonzero(session.queries.fits_idle(task)).tolist()
    return rows


def _voters(session: Session) -> list[FilterVoter | ScoreVoter]:
    return [*filter_voters(session.ask, None), *score_voters(session.ask, None)]


def _vector(
    voter: FilterVoter | ScoreVoter, task: Task, session: Session, rows: np.ndarray | None
) -> list[Any]:
    """The answers for these nodes in the plugin's first form, NaN and None told apart."""
    count = len(session.nodes) if rows is None else len(rows)
    if isinstance(voter, ScoreVoter):
        scores = voter.many(task, session.nodes, rows)
        return [0.0] * count if scores is None else scores.tolist()
    verdicts = voter.many(task, session.nodes, rows)
    return [None if verdicts is None else _error(verdicts.error(i)) for i in range(count)]


def _scalar(voter: FilterVoter | ScoreVoter, task: Task, session: Session, row: int) -> Any:
    answer = voter.one(task, session.nodes, row)
    return answer if isinstance(voter, ScoreVoter) else _error(answer)


def _error(error: Any) -> Any:
    return None if error is None else (int(error.code), error.reasons)
