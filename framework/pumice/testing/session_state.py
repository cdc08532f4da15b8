"""The state of a session that an undo must restore, as plain values to compare."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from pumice import Plugin
from pumice.model.job import Members
from pumice.model.resources import Resource
from pumice.model.task import Task, TaskStatus
from pumice.session.session import Session

COLUMNS = ("idle", "used", "releasing", "pipelined", "future_idle", "pod_count")
Caches = Collection[tuple[str, str]]
"""(plugin, attribute) of plugin attributes that are caches."""


def session_state(session: Session, caches: Caches = ()) -> dict[str, Any]:
    """Accounts, plugin state and the answers of the plugins."""
    return {
        **accounts(session),
        "plugins": {name: plugin_state(plugin, caches) for name, plugin in session.plugins.items()},
        "answers": answers(session),
    }


def accounts(session: Session) -> dict[str, Any]:
    """The session's own accounts of nodes, tasks and jobs."""
    nodes = session.nodes
    return {
        "columns": {name: getattr(nodes, name).tolist() for name in COLUMNS},
        "held": [[(uid, held.status) for uid, held in row.items()] for row in nodes.held],
        "tasks": {uid: _task(task) for uid, task in session.cluster.tasks.items()},
        "jobs": {
            uid: (_members(job), job.allocated.tolist(), job.phase)
            for uid, job in session.jobs.items()
        },
        "sub_jobs": {
            uid: [_members(sub_job) for sub_job in job.sub_jobs.values()]
            for uid, job in session.jobs.items()
        },
    }


def _task(task: Task) -> tuple[Any, ...]:
    return (task.status, task.node, task.eviction_occurred, task.virtual, task.gpu_groups)


def _members(members: Members) -> tuple[Any, ...]:
    return (
        [[task.uid for task in members.having(status)] for status in TaskStatus],
        members.pending_best_effort,
        members.ready_count,
        members.waiting_count,
        members.is_ready(),
        members.is_pipelined(),
        members.is_starving(),
    )


def plugin_state(plugin: Plugin, caches: Caches = ()) -> dict[str, Any]:
    """The attributes of a plugin, without caches."""
    home = _package(plugin)
    return {
        name: _plain(value, home)
        for name, value in vars(plugin).items()
        if name not in ("session", "options", "name") and (plugin.name, name) not in caches
    }


def _package(value: object) -> str:
    return type(value).__module__.partition(".")[0]


def _plain(value: Any, home: str) -> Any:
    """Plain values, recursively; empty entries are dropped because counters leave them behind."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, Resource):
        return {name: amount for name, amount in value.items() if amount}
    if isinstance(value, Mapping):
        plain = {str(key): _plain(item, home) for key, item in value.items()}
        return {key: item for key, item in plain.items() if not _is_empty(item)}
    if isinstance(value, list | tuple):
        return [_plain(item, home) for item in value]
    if isinstance(value, set | frozenset):
        return sorted(map(str, value))
    for name in ("uid", "name"):
        if isinstance(getattr(value, name, None), str):
            return getattr(value, name)
    if _package(value) == home:  # a plugin's own object
        names = getattr(value, "__slots__", ()) or getattr(value, "__dict__", ())
        return {name: _plain(getattr(value, name, None), home) for name in names}
    return value if isinstance(value, int | float | str | None) else type(value).__name__


def _is_empty(item: Any) -> bool:
    return not item or (isinstance(item, list) and not any(item))


def answers(session: Session) -> dict[str, Any]:
    """The answers of the plugins about every job and every pending task."""
    ask, queries = session.ask, session.queries
    jobs = list(session.jobs.values())
    result: dict[str, Any] = {
        "order": {
            (left.uid, right.uid): ask.job_order(left, right) for left in jobs for right in jobs
        },
        "jobs": [
            (
                job.uid,
                ask.job_valid(job) is None,
                ask.job_ready(job),
                ask.job_pipelined(job),
                ask.job_starving(job),
                ask.overused(session.queue_of(job)),
            )
            for job in jobs
        ],
    }
    for job in jobs:
        for task in job.pending:
            result[task.uid] = _answers_about(session, task) if queries.prepare(task) is None else 0
    return result


def _answers_about(session: Session, task: Task) -> tuple[Any, ...]:
    queries = session.queries
    verdicts = queries.verdicts(task)
    return (
        verdicts.codes.tolist(),
        verdicts.reasons.tolist(),
        queries.scores(task).tolist(),
        queries.fits_idle(task).tolist(),
        queries.fits_future(task).tolist(),
        queries.best(task),
        session.ask.allocatable(session.queues[task.queue], task),
    )


def differences(now: Any, before: Any, path: str = "") -> list[str]:
    """Where two states differ, by path.

    An attribute that a plugin has in only one of them is a cache and does not count.
    """
    if isinstance(now, dict) and isinstance(before, dict):
        lines = []
        for key in dict.fromkeys((*now, *before)):
            lines += differences(now.get(key), before.get(key), f"{path}/{key}")
        return lines
    if now == before or (path.startswith("/plugins") and (now is None or before is None)):
        return []
    return [f"{path}: was {before!r}, is {now!r}"]
