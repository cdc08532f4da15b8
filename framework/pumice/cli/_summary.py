"""Prints a cycle of many decisions by queue, by reason and by job."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

import click

from pumice.cli._output import print_table
from pumice.cli._table import Table
from pumice.decisions import Decisions, JobState

MOST = 20
"""Rows of each table; what is left out is counted."""
_STATES = ("BOUND", "EVICTED", "PROMISED", "PENDING")


def print_summary(
    decisions: Decisions, waiting: Sequence[JobState], colours: Mapping[str, str]
) -> None:
    """Print how many tasks of each queue and job were decided how, and why jobs wait.

    Pending tasks are counted for the jobs that wait.
    """
    by_job = _by_job(decisions, waiting)
    queue_of = {state.job: state.queue for state in decisions.jobs}
    by_queue: dict[str, Counter[str]] = defaultdict(Counter)
    for job, counts in by_job.items():
        by_queue[queue_of.get(job, "")].update(counts)
    _print_counts(("QUEUE",), ((c, (queue,)) for queue, c in by_queue.items()), colours)
    _print_reasons(waiting, colours)
    rows = ((counts, (job, queue_of.get(job, ""))) for job, counts in by_job.items())
    _print_counts(("JOB", "QUEUE"), rows, colours)


def _by_job(decisions: Decisions, waiting: Sequence[JobState]) -> dict[str, Counter[str]]:
    by_job: dict[str, Counter[str]] = defaultdict(Counter)
    tasks = (decisions.binds, decisions.evictions, decisions.pipelined)
    for state, decided in zip(_STATES, tasks, strict=False):
        for job, count in Counter(task.job for task in decided).items():  # type: ignore[attr-defined]
            by_job[job][state] = count
    for job_state in waiting:
        by_job[job_state.job]["PENDING"] = job_state.pending
    return by_job


def _print_counts(
    heads: tuple[str, ...],
    rows: Iterable[tuple[Counter[str], tuple[str, ...]]],
    colours: Mapping[str, str],
) -> None:
    """A table of tasks by state, most tasks first."""
    ordered = sorted(rows, key=lambda row: (-row[0].total(), row[1]))
    table = Table(*heads, *_STATES, right=_STATES, styles=dict(colours))
    for counts, names in ordered[:MOST]:
        table.add(*names, *(f"{counts[state]:,}" if counts[state] else "" for state in _STATES))
    click.echo()
    print_table(table)
    _print_left_out(len(ordered), f"{heads[0].lower()}s")


def _print_reasons(waiting: Sequence[JobState], colours: Mapping[str, str]) -> None:
    """Why jobs wait: how many for each queue and reason code, with one of them."""
    if not waiting:
        return
    groups: dict[tuple[str, str], list[JobState]] = defaultdict(list)
    for state in waiting:
        groups[state.code, state.queue].append(state)
    ordered = sorted(groups.items(), key=lambda group: (-len(group[1]), group[0]))
    table = Table("WAITING", "QUEUE", "JOBS", "FOR EXAMPLE", right=("JOBS",), styles=dict(colours))
    for (code, queue), states in ordered[:MOST]:
        example = f"{states[0].job}: {states[0].reason}"
        table.add(code, queue, f"{len(states):,}", example)
    click.echo()
    print_table(table)
    _print_left_out(len(ordered), "reasons")


def _print_left_out(count: int, what: str) -> None:
    if count > MOST:
        click.echo(f"… and {count - MOST:,} more {what}")
