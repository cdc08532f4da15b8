"""Prints the decisions of a cycle as tables."""

from __future__ import annotations

from collections.abc import Sequence

import click
from rich.table import Table

from pumice.cli._output import add_row, make_table, print_heading, print_table
from pumice.decisions import Decisions, JobState
from pumice.faults import Fault


def print_cycle(number: int, decisions: Decisions) -> None:
    """Print what was decided in one cycle, and which jobs are pending."""
    waiting = [state for state in decisions.jobs if state.reason]
    print_heading(f"Cycle {number}: {_summary(decisions, waiting)}")
    if decisions.binds:
        table = make_table("BOUND", "NODE")
        for bind in decisions.binds:
            add_row(table, bind.task, bind.node)
        _print(table)
    if decisions.evictions:
        table = make_table("EVICTED", "NODE", "FOR", "BY", "WHY")
        for eviction in decisions.evictions:
            claimant = eviction.claimant or "no job"
            cells = (eviction.node, claimant, eviction.action, eviction.reason)
            add_row(table, eviction.task, *cells)
        _print(table)
    if decisions.pipelined:
        table = make_table("PIPELINED", "NODE")
        for task in decisions.pipelined:
            add_row(table, task.task, task.node)
        _print(table)
    if waiting:
        table = make_table("WAITING", "QUEUE", "PHASE", "READY", "PENDING", "WHY")
        for job in waiting:
            why = f"{job.code}: {job.reason}"
            add_row(table, job.job, job.queue, job.phase, job.ready, job.pending, why)
        _print(table)


def print_totals(history: Sequence[Decisions]) -> None:
    """Print the totals of all cycles."""
    bound = sum(len(decisions.binds) for decisions in history)
    evicted = sum(len(decisions.evictions) for decisions in history)
    waiting = sum(bool(state.reason) for state in history[-1].jobs)
    cycles = "1 cycle" if len(history) == 1 else f"{len(history)} cycles"
    jobs = "1 job waits" if waiting == 1 else f"{waiting} jobs wait"
    click.echo(f"\n{cycles}: {bound} bound, {evicted} evicted; {jobs}{_fault_count(history)}")
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


def _summary(decisions: Decisions, waiting: Sequence[JobState]) -> str:
    counts = (
        (len(decisions.binds), "bound"),
        (len(decisions.evictions), "evicted"),
        (len(decisions.pipelined), "pipelined"),
        (len(waiting), "waiting"),
    )
    return ", ".join(f"{count} {word}" for count, word in counts if count) or "nothing to do"


def _print(table: Table) -> None:
    click.echo()
    print_table(table)
