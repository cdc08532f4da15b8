"""Prints the decisions of a cycle: every one in tables, or a summary where there are many."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from pumice._times import timestamp
from pumice.cli._output import print_heading, print_table
from pumice.cli._summary import print_summary
from pumice.cli._table import Table
from pumice.decisions import Decisions, JobState
from pumice.faults import Fault

MANY = 50
"""Above so many rows a cycle is summarised."""
COLOURS = {
    "BOUND": "green",
    "EVICTED": "red",
    "PROMISED": "cyan",
    "PENDING": "yellow",
    "WAITING": "yellow",
}
PROMISED_CODE = "WaitsForRelease"


def print_cycle(number: int, decisions: Decisions, now: float, *, full: bool = False) -> bool:
    """Print what was decided in one cycle, and which jobs are waiting.

    ``full``: every task, however many there are. Returns whether it was summarised.
    """
    waiting = waiting_jobs(decisions)
    tasks = len(decisions.binds) + len(decisions.evictions) + len(decisions.pipelined)
    print_heading(f"Cycle {number} at {timestamp(now)}: {_counts(decisions, waiting)}")
    if full or tasks + len(waiting) <= MANY:
        _print_all(decisions, waiting)
        return False
    print_summary(decisions, waiting, COLOURS)
    return True


def cycle_data(number: int, now: float, decisions: Decisions) -> dict[str, Any]:
    """A cycle in ``-o json`` and ``-o jsonl``."""
    return {"cycle": number, "now": timestamp(now), **decisions.as_json()}


def count_faults(decisions: Decisions) -> int:
    """How often plugins and actions failed; a plugin that is set aside counts, too."""
    return sum(fault.count for fault in decisions.faults) + len(decisions.set_aside)


def waiting_jobs(decisions: Decisions) -> list[JobState]:
    """The jobs that wait for resources; those with promised resources are not among them."""
    promised = {task.job for task in decisions.pipelined}
    return [
        state
        for state in decisions.jobs
        if state.reason and not (state.code == PROMISED_CODE and state.job in promised)
    ]


def _print_all(decisions: Decisions, waiting: Sequence[JobState]) -> None:
    bound = Table("BOUND", "NODE", styles=COLOURS)
    for bind in decisions.binds:
        bound.add(bind.task, bind.node)
    evicted = Table("EVICTED", "NODE", "FOR", "BY", "WHY", styles=COLOURS)
    for eviction in decisions.evictions:
        claimant = eviction.claimant or "no job"
        evicted.add(eviction.task, eviction.node, claimant, eviction.action, eviction.reason)
    promised = Table("PROMISED", "NODE", "WHY", styles=COLOURS)
    reasons = {state.job: state.reason for state in decisions.jobs if state.code == PROMISED_CODE}
    for task in decisions.pipelined:
        # The reason is the job's: once is enough.
        promised.add(task.task, task.node, reasons.pop(task.job, ""))
    waits = Table("WAITING", "QUEUE", "PHASE", "READY", "PENDING", "WHY", styles=COLOURS)
    for job in waiting:
        why = f"{job.code}: {job.reason}"
        waits.add(job.job, job.queue, job.phase, job.ready, job.pending, why)
    for table in (bound, evicted, promised, waits):
        if table.rows:
            click.echo()
            print_table(table)


def print_totals(history: Sequence[Decisions], *, summarised: bool = False) -> None:
    """Print the totals of all cycles, and what shows more where they were summarised."""
    bound = sum(len(decisions.binds) for decisions in history)
    evicted = sum(len(decisions.evictions) for decisions in history)
    waiting = len(waiting_jobs(history[-1]))
    promised = len(history[-1].pipelined)
    cycles = "1 cycle" if len(history) == 1 else f"{len(history)} cycles"
    still = f", {promised:,} promised" if promised else ""
    click.echo(
        f"\n{cycles}: {bound:,} bound, {evicted:,} evicted{still}; {_waits(waiting)}"
        f"{_fault_count(history)}"
    )
    if summarised:
        click.echo("--full lists every task; 'pumice explain JOB FILES' explains one job")
    _print_lasting_faults(history)


def _fault_count(history: Sequence[Decisions]) -> str:
    faults = sum(fault.count for decisions in history for fault in decisions.faults)
    return f"; {faults} {'fault' if faults == 1 else 'faults'} of plugins or actions" * bool(faults)


def _print_lasting_faults(history: Sequence[Decisions]) -> None:
    """Print the totals of the faults that occurred in several cycles; each was logged once."""
    found: dict[tuple[str, ...], list[Fault]] = {}
    for decisions in history:
        for fault in decisions.faults:
            found.setdefault(fault.key, []).append(fault)
    for faults in found.values():
        if len(faults) > 1:
            times = sum(fault.count for fault in faults)
            text = f"{faults[0].text}: {times} times in {len(faults)} cycles"
            click.echo(f"fault: {text}", err=True)


def _counts(decisions: Decisions, waiting: Sequence[JobState]) -> str:
    counts = (
        (len(decisions.binds), "bound"),
        (len(decisions.evictions), "evicted"),
        (len(decisions.pipelined), "promised"),
    )
    texts = [f"{count:,} {word}" for count, word in counts if count]
    if waiting:
        texts.append(_waits(len(waiting)))
    return ", ".join(texts) or "nothing to do"


def _waits(jobs: int) -> str:
    return "1 job waits" if jobs == 1 else f"{jobs:,} jobs wait"
