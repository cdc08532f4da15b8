"""Who evicted a job, for whom, under which rule, and what that did to the queues' shares."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pumice.explain.explanation import Level, amounts
from pumice.explain.victims import allowed_by
from pumice.model.resources import Resource

if TYPE_CHECKING:
    from pumice.explain.record import JobLedger
    from pumice.model.job import Job
    from pumice.session.session import Session


def evicted_levels(session: Session, job: Job, ledger: JobLedger | None) -> tuple[Level, ...]:
    """A level for each action and claimant that evicted tasks of the job."""
    groups: dict[tuple[str, str], list[Any]] = {}
    for eviction in session.decisions.evictions:
        task = session.cluster.tasks.get(eviction.uid)
        if task is not None and task.job is job:
            groups.setdefault((eviction.action, eviction.claimant), []).append(eviction)
    levels = []
    for (action, claimant), evictions in groups.items():
        record = ledger.by_job.get(claimant) if ledger is not None else None
        plugins, hook, tier = allowed_by(record, evictions[0].task)
        whom = f" for {claimant}" if claimant else ""
        text = (
            f"{action} evicts {len(evictions)} of {len(job.tasks)} tasks{whom}: "
            f"{evictions[0].reason}"
        )
        if plugins:
            text += f"; allowed by {plugins} ({hook}, tier {tier})"
        gainer = session.jobs.get(claimant)
        numbers: dict[str, Any] = {"tasks": [eviction.task for eviction in evictions]}
        numbers[f"queue {job.queue}"] = _shares(session, job.queue)
        if gainer is not None and gainer.queue != job.queue:
            numbers[f"queue {gainer.queue}"] = _shares(session, gainer.queue)
        where = session.policy.why("action", action)
        levels.append(Level("eviction", False, text, plugins, hook, tier, where, numbers))
    return tuple(levels)


def _shares(session: Session, name: str) -> dict[str, Any]:
    """What a queue held before the decisions of the cycle and holds after them."""
    queue, nodes = session.queues.get(name), session.nodes
    before = np.zeros(len(nodes.dimensions), np.int64)
    after = before.copy()
    started = {bind.uid for bind in session.decisions.binds}
    left = {eviction.uid for eviction in session.decisions.evictions}
    for job in session.jobs.values():
        if job.queue != name:
            continue
        after += job.allocated
        before += job.allocated
        for task in job.tasks.values():
            if task.uid in started:
                before -= task.vector
            elif task.uid in left:
                before += task.vector
            if task.uid in session.pipelined and task.status.label == "Pipelined":
                after += task.vector
    resource = nodes.dimensions.resource
    found: dict[str, Any] = {"before": amounts(resource(before)), "after": amounts(resource(after))}
    deserved = session.ask.get_queue_deserved_resources(queue) if queue is not None else None
    if isinstance(deserved, Resource):
        found["deserved"] = amounts(deserved)
    return found
