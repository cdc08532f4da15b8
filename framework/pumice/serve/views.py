"""What the page shows of one cycle: taken when the cycle ends, and never changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from pumice.kube import is_healthy
from pumice.telemetry.queues import QueueRow, queue_rows

if TYPE_CHECKING:
    from pumice.decisions import JobState
    from pumice.session.session import Session

State = Literal["waiting", "running", "evicted", "completed"]
STATES: tuple[State, ...] = ("waiting", "running", "evicted", "completed")


@dataclass(frozen=True, slots=True)
class JobRow:
    """One job at the end of the cycle."""

    job: str
    queue: str
    state: State
    phase: str
    ready: int
    pending: int
    tasks: int
    minimum: int
    code: str
    reason: str
    words: str
    """What a search looks into, in lower case."""


@dataclass(frozen=True, slots=True)
class EvictionRow:
    """The tasks of one job that one action evicted for the same job and reason."""

    cycle: int
    job: str
    queue: str
    claimant: str
    claimant_queue: str
    action: str
    reason: str
    tasks: tuple[str, ...]
    nodes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NodeTableView:
    """The columns of the node table, a row for each node."""

    names: tuple[str, ...]
    allocatable: np.ndarray
    used: np.ndarray
    releasing: np.ndarray
    pods: np.ndarray
    closed: tuple[bool, ...]
    """Whether no task can be placed on the node: it is cordoned or not ready."""


@dataclass(frozen=True, slots=True)
class CycleView:
    """One finished cycle."""

    cycle: int
    now: float
    dimensions: tuple[str, ...]
    """The resources in the order of the columns."""
    resources: tuple[str, ...]
    """Those that a node has or a task asks for."""
    queues: tuple[QueueRow, ...]
    nodes: NodeTableView
    jobs: tuple[JobRow, ...]
    evictions: tuple[EvictionRow, ...]
    bound: int
    pipelined: int
    states: Counter[str]
    faults: tuple[str, ...]
    handlers: tuple[str, ...]
    """The paths that plugins serve."""


def cycle_view(session: Session, number: int) -> CycleView:
    """Take the view of a finished session."""
    decisions, nodes = session.decisions, session.nodes
    evictions = _eviction_rows(session, number)
    lost: dict[str, list[EvictionRow]] = {}
    for row in evictions:
        lost.setdefault(row.job, []).append(row)
    jobs = tuple(_job_row(session, state, lost.get(state.job, ())) for state in decisions.jobs)
    dimensions = nodes.dimensions.names
    queues = tuple(queue_rows(session))
    asked = sum(row.request for row in queues if not row.depth)
    exists = nodes.allocatable.sum(axis=0) + asked > 0
    return CycleView(
        cycle=number,
        now=session.now,
        dimensions=dimensions,
        resources=tuple(name for name, has in zip(dimensions, exists, strict=True) if has),
        queues=queues,
        nodes=_node_table(session),
        jobs=jobs,
        evictions=evictions,
        bound=len(decisions.binds),
        pipelined=len(decisions.pipelined),
        states=Counter(row.state for row in jobs),
        faults=tuple(map(str, decisions.faults)),
        handlers=_handlers(session),
    )


def _node_table(session: Session) -> NodeTableView:
    nodes = session.nodes
    return NodeTableView(
        names=tuple(nodes.names),
        allocatable=nodes.allocatable.copy(),
        used=nodes.used.copy(),
        releasing=nodes.releasing.copy(),
        pods=nodes.pod_count.copy(),
        closed=tuple(not is_healthy(node) for node in nodes.facts),
    )


def _job_row(session: Session, state: JobState, lost: Sequence[EvictionRow]) -> JobRow:
    job = session.jobs[state.job]
    word: State = "running"
    reason = state.reason
    if lost:
        word = "evicted"
        reason = "; ".join([*map(_loss, lost), *filter(None, [reason])])
    elif state.reason:
        word = "waiting"
    elif state.phase == "Completed":
        word = "completed"
    return JobRow(
        job=state.job,
        queue=state.queue,
        state=word,
        phase=state.phase,
        ready=state.ready,
        pending=state.pending,
        tasks=len(job.tasks),
        minimum=job.min_available,
        code=state.code,
        reason=reason,
        words=f"{state.job} {state.queue} {state.phase} {state.code}".lower(),
    )


def _loss(row: EvictionRow) -> str:
    count = "1 task" if len(row.tasks) == 1 else f"{len(row.tasks)} tasks"
    return f"{row.action} evicted {count}" + (f" for {row.claimant}" if row.claimant else "")


def _eviction_rows(session: Session, number: int) -> tuple[EvictionRow, ...]:
    groups: dict[tuple[str, ...], list[tuple[str, str]]] = {}
    for one in session.decisions.evictions:
        task = session.cluster.tasks.get(one.uid)
        job = task.job.uid if task is not None and task.job is not None else ""
        key = (job or one.task, one.claimant, one.action, one.reason)
        groups.setdefault(key, []).append((one.task, one.node))
    return tuple(
        EvictionRow(
            cycle=number,
            job=job,
            queue=_queue_of(session, job),
            claimant=claimant,
            claimant_queue=_queue_of(session, claimant),
            action=action,
            reason=reason,
            tasks=tuple(task for task, _ in pairs),
            nodes=tuple(dict.fromkeys(node for _, node in pairs)),
        )
        for (job, claimant, action, reason), pairs in groups.items()
    )


def _queue_of(session: Session, job: str) -> str:
    found = session.jobs.get(job)
    return "" if found is None else found.queue


def _handlers(session: Session) -> tuple[str, ...]:
    try:
        return tuple(sorted(session.ask.http_handlers()))
    except Exception:  # a plugin's fault must not cost the page
        return ()
