"""Asks every extension point in a session of one plugin, and checks the answers."""

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
"""How many tasks are tried."""
_COMPARING = ("span", "cluster")
"""Scopes whose answers may depend on which nodes are asked about together."""


def pending(session: Session) -> list[Task]:
    """The pending tasks of all jobs that pass ``pre_predicate``."""
    tasks = [task for job in session.jobs.values() for task in job.pending if not task.gated]
    return [task for task in tasks if session.queries.prepare(task) is None]


def running(session: Session) -> list[Task]:
    return [task for task in session.cluster.tasks.values() if task.status in PREEMPTABLE_STATUSES]


def answers(session: Session) -> dict[str, Any]:
    """The plugin's answers about every job, queue, pending task and possible victim."""
    ask, result = session.ask, session_state.answers(session)
    queues, victims = list(session.queues.values()), running(session)
    result["queues"] = {
        (left.name, right.name): ask.queue_order(left, right, None, None, [], [])
        for left in queues
        for right in queues
    }
    result["tasks"] = {
        (left.uid, right.uid): ask.task_order(left, right)
        for job in session.jobs.values()
        for left, right in combinations(job.tasks.values(), 2)
    }
    result["enqueueable"] = {
        uid: ask.job_enqueueable(job)
        for uid, job in session.jobs.items()
        if job.min_resources is not None
    }
    result["victims"] = {}
    for task in pending(session)[:_FEW]:
        for point in (ask.preemptable, ask.reclaimable):
            candidates = list(victims)
            before = [victim.uid for victim in victims]
            result["victims"][task.uid, point is ask.preemptable] = plain(point(task, candidates))
            assert [victim.uid for victim in candidates] == before, "the candidates were modified"
    return result


def facts(session: Session) -> dict[str, Any]:
    """The facts as text; plugins may only read them."""
    return {
        "pods": {uid: repr(task.pod) for uid, task in session.cluster.tasks.items()},
        "groups": {uid: repr(job.group) for uid, job in session.jobs.items()},
        "queues": {name: repr(queue) for name, queue in session.queues.items()},
        "nodes": {node.name: repr(node) for node in session.nodes.facts},
    }


def inconsistent_orders(session: Session) -> Iterator[str]:
    """Comparisons that are not the opposite of their reverse."""
    ask = session.ask
    tasks = [list(job.tasks.values()) for job in session.jobs.values()]
    orders: list[tuple[str, Callable[[Any, Any], int], list[Any]]] = [
        ("job_order", ask.job_order, list(session.jobs.values())),
        *(("task_order", ask.task_order, members) for members in tasks),
        (
            "queue_order",
            lambda left, right: ask.queue_order(left, right, None, None, [], []),
            list(session.queues.values()),
        ),
    ]
    for point, order, things in orders:
        for left, right in combinations(things, 2):
            forward, reverse = order(left, right), order(right, left)
            if forward != -reverse:
                yield f"{point}: ({plain(left)}, {plain(right)}) = {forward}, reversed {reverse}"


def disagreeing_forms(session: Session) -> Iterator[str]:
    """Answers in vector or key form that differ from the scalar form."""
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
                    compared = impl.fn(left, right) or 0
                    by_key = (key(left) > key(right)) - (key(left) < key(right))
                    if (compared > 0) - (compared < 0) != by_key:
                        names = f"({plain(left)}, {plain(right)})"
                        yield f"{impl.plugin}: {point}{names} = {compared}, by key {by_key}"


def beyond_scope(session: Session) -> Iterator[str]:
    """Answers that a placement changed although their scope excludes it."""
    asked = [(voter, task) for task in pending(session) for voter in _voters(session)]
    bounded = [(v, t, v.reach(t)) for v, t in asked if v.reach(t) != "cluster"]
    before = [
        (_vector(voter, task, session, None), voter.plugin.span(task)) for voter, task, _ in bounded
    ]
    for statement in trials(session):
        touched = {operation.row for operation in statement.operations}
        moved = {operation.task for operation in statement.operations}
        for (voter, task, scope), (earlier, span) in zip(bounded, before, strict=True):
            if task not in moved and (scope != "span" or voter.plugin.span(task) == span):
                now = _vector(voter, task, session, None)
                yield from _changed(session, voter, task, scope, now, earlier, touched)
        statement.discard()


def _changed(
    session: Session,
    voter: FilterVoter | ScoreVoter,
    task: Task,
    scope: Scope,
    now: list[Any],
    before: list[Any],
    touched: set[int],
) -> Iterator[str]:
    for row, (is_, was) in enumerate(zip(now, before, strict=True)):
        if str(is_) != str(was) and (scope == "static" or row not in touched):
            node = session.nodes.names[row]
            yield f"{voter.name}: {voter.point}({task.key}, {node}) is {scope}: was {was}, is {is_}"


def trials(session: Session) -> Iterator[Statement]:
    """Open statements with one placement or eviction each, then one with many."""
    for task in pending(session)[:_FEW]:
        for row in _fitting_rows(session, task)[:2]:
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
        for row in _fitting_rows(session, task)[-1:]:
            statement.allocate(task, row)
    yield statement


def _fitting_rows(session: Session, task: Task) -> list[int]:
    if task.best_effort:
        return list(range(len(session.nodes)))
    rows: list[int] = np.flatnonzero(session.queries.fits_idle(task)).tolist()
    return rows


def _voters(session: Session) -> list[FilterVoter | ScoreVoter]:
    return [*filter_voters(session.ask, None), *score_voters(session.ask, None)]


def _vector(
    voter: FilterVoter | ScoreVoter, task: Task, session: Session, rows: np.ndarray | None
) -> list[Any]:
    """The answers for these nodes in the plugin's preferred form."""
    count = len(session.nodes) if rows is None else len(rows)
    if isinstance(voter, ScoreVoter):
        scores = voter.many(task, session.nodes, rows)
        return [0.0] * count if scores is None else scores.tolist()
    verdicts = voter.many(task, session.nodes, rows)
    return [None if verdicts is None else _error(verdicts.error(i)) for i in range(count)]


def _scalar(voter: FilterVoter | ScoreVoter, task: Task, session: Session, row: int) -> Any:
    answer = voter.one(task, session.nodes.handle(row))
    return answer if isinstance(voter, ScoreVoter) else _error(answer)


def _error(error: Any) -> Any:
    return None if error is None else (int(error.code), error.reasons)
