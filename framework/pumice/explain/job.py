"""Explains a job of a finished cycle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pumice.errors import PumiceError
from pumice.explain.evicted import evicted_levels
from pumice.explain.explanation import Explanation, Level, Word
from pumice.explain.levels import levels_of
from pumice.explain.record import JobLedger
from pumice.explain.verdict import verdict_of
from pumice.explain.victims import victims_of
from pumice.model.task import COMPLETED_STATUSES

if TYPE_CHECKING:
    from pumice.decisions import Decisions
    from pumice.model.facts import Inventory
    from pumice.model.job import Job
    from pumice.scheduler import Scheduler
    from pumice.session.session import Session


class ExplainedCycle:
    """One cycle that was recorded, so that its jobs can be explained until the next one begins."""

    def __init__(self, session: Session, ledger: JobLedger, number: int) -> None:
        self.session = session
        """The finished session; readable until the scheduler opens the next one."""
        self.ledger = ledger
        """What was recorded."""
        self.number = number
        """The number of the cycle."""

    @property
    def decisions(self) -> Decisions:
        """What was decided."""
        return self.session.decisions

    def explain(self, job: str) -> Explanation:
        """Why a job (``namespace/name``) waits, runs or was evicted."""
        return explain_job(self.session, self.ledger, job)


def run_explained(
    scheduler: Scheduler,
    ledger: JobLedger | None = None,
    *,
    actions: Sequence[str] | None = None,
) -> ExplainedCycle:
    """Run one cycle and record it; a ledger that the scheduler has already is put back later.

    ``actions`` limits it to these of the policy's actions.
    """
    before = scheduler.ledger
    scheduler.ledger = recording = ledger or JobLedger()
    try:
        session = scheduler.run_session(actions)
    finally:
        scheduler.ledger = before
    return ExplainedCycle(session, recording, scheduler.cycle)


def ledger_of(inventory: Inventory, job: str) -> JobLedger:
    """A ledger with all that the explanation of one job needs.

    What was decided about the others is recorded only if tasks of the job have a node: for an
    eviction it is said how the plugins voted in the turn of the job that gained by it.
    """
    is_placed = any(pod.group == job and pod.node_name for pod in inventory.pods.values())
    return JobLedger() if is_placed else JobLedger([job])


def explain_job(session: Session, ledger: JobLedger | None, uid: str) -> Explanation:
    """Explain a job of a finished session; without a ledger, as far as the session knows.

    :raises PumiceError: the session has no such job.
    """
    job = session.jobs.get(uid)
    if job is None:
        raise PumiceError(f"the cycle had no job {uid!r}")
    record = None if ledger is None else ledger.by_job.get(uid)
    verdict = verdict_of(session, job)
    victims = victims_of(session, job, record)
    levels = levels_of(session, job, ledger, verdict, victims)
    evictions = evicted_levels(session, job, ledger)
    if evictions:
        text = "; ".join(level.text for level in evictions)
        return Explanation(uid, "evicted", "Evicted", text, (*evictions, *levels), victims)
    if verdict is None:
        return Explanation(uid, "running", *_satisfied(job), levels, victims)
    word: Word = "pending"
    if job.is_ready() and job.ready_count:
        word = "running"
    elif verdict.never:
        word = "never"
    return Explanation(uid, word, verdict.code, verdict.text, levels, victims)


def _satisfied(job: Job) -> tuple[str, str]:
    """(code, text) of a job that waits for nothing."""
    if job.tasks and job.count(*COMPLETED_STATUSES) == len(job.tasks):
        return "Completed", f"all {len(job.tasks)} tasks have ended"
    nodes = sorted({task.node for task in job.tasks.values() if task.node})
    places = f" on {len(nodes)} node{'s' * (len(nodes) != 1)}" if nodes else ""
    return "Running", f"{job.ready_count} of {len(job.tasks)} tasks run or start{places}"


def binding_level(explanation: Explanation) -> Level | None:
    """The level that stopped the job: the last one that it did not pass, evictions aside."""
    failed = [level for level in explanation.levels if not level.ok]
    return failed[-1] if failed else None
