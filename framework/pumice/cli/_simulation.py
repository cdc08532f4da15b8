"""Options of the commands that simulate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from pumice.cli._complete import complete_parts
from pumice.cli._output import print_warnings
from pumice.config.duration import parse_duration
from pumice.simulation.engine import Settings
from pumice.simulation.report.plots import duration_text
from pumice.simulation.runs import PERIODS, TraceSource, period_for, window_for
from pumice.traces import Trace

F = TypeVar("F", bound=Callable[..., Any])
_MOST_WARNINGS = 5


def _seconds(context: click.Context, parameter: click.Parameter, value: str | None) -> float | None:
    if value is None:
        return None
    try:
        seconds = float(parse_duration(value))
        if not 0 <= seconds < float("inf"):
            raise ValueError("should not be negative")
    except ValueError as error:
        raise click.BadParameter(f"{value!r}: {error}") from None
    return seconds


def read_seeds(context: click.Context, parameter: click.Parameter, value: str) -> list[int]:
    """``3``, ``1-5`` or ``1,4,7-9`` as a list."""
    seeds: list[int] = []
    for part in value.split(","):
        first, dash, last = part.partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()):
            raise click.BadParameter(f"{value!r} is no list of seeds such as 1-5 or 1,4,7")
        seeds += range(int(first), int(last if dash else first) + 1)
    if not seeds:
        raise click.BadParameter(f"{value!r} has no seed: the first is after the last")
    return list(dict.fromkeys(seeds))


def _pairs(
    context: click.Context, parameter: click.Parameter, values: tuple[str, ...]
) -> tuple[tuple[str, str], ...]:
    pairs = []
    for value in values:
        name, equals, text = value.partition("=")
        if not equals or not name:
            raise click.BadParameter(f"{value!r} should be NAME=VALUE")
        pairs.append((name, text))
    return tuple(pairs)


def _duration(name: str, default: str | None, text: str) -> Callable[[F], F]:
    return click.option(
        name, default=default, show_default=default is not None, callback=_seconds,
        metavar="DURATION", help=text,
    )  # fmt: skip


_TRACE_OPTIONS: list[Callable[[Any], Any]] = [
    click.option(
        "--format",
        "format_name",
        default="",
        shell_complete=complete_parts("trace"),
        metavar="NAME",
        help="The format of TRACE; without it, it is recognised.",
    ),
    click.option(
        "--trace-option",
        "reader_options",
        multiple=True,
        callback=_pairs,
        metavar="NAME=VALUE",
        help="An option of the format, as in load=0.9; may be repeated.",
    ),
    click.option(
        "--bad-rows",
        type=click.Choice(("skip", "fatal")),
        default="skip",
        show_default=True,
        help="What becomes of malformed rows.",
    ),
    click.option(
        "--limit",
        type=click.IntRange(0),
        default=0,
        metavar="N",
        help="Replay the first N jobs only.",
    ),
    click.option(
        "--nodes",
        multiple=True,
        metavar="SHAPE",
        help="Nodes as COUNTxGPUS[:CPU[:MEMORY]], as in 60x8:96:512Gi; may be repeated.",
    ),
    click.option(
        "--cluster",
        multiple=True,
        metavar="FILE",
        help="Manifests with nodes and queues, or a list of openb nodes; may be repeated.",
    ),
    click.option(
        "--window",
        type=click.IntRange(0),
        default=None,
        metavar="N",
        help="Most waiting jobs of a queue that the scheduler sees, later ones are held back; "
        "0: all. Without it all, on traces of over 20,000 jobs 500.",
    ),
    _duration(
        "--period", None, "Least time between two cycles; without it 1m, more on long traces."
    ),
    _duration("--recheck", "1h", "A cycle runs at the latest after this while jobs wait."),
    _duration("--checkpoint", None, "Work between two checkpoints; without it, all is lost."),
    _duration("--restart-cost", "0", "What a start after a stop takes."),
    _duration("--mtbf", "0", "Mean time between failures of a node; 0: none fails."),
    _duration("--repair", "1h", "Until a node that failed is back."),
    _duration("--jitter", "0", "Submissions are moved by up to this, by the seed."),
    _duration("--until", "0", "End after this; 0: when all jobs are done."),
    click.option(
        "--processes",
        type=click.IntRange(0),
        default=0,
        metavar="N",
        help="Processes to use; 0: one for each CPU.",
    ),
]
"""Which jobs are replayed on which cluster, and how the world behaves."""


def trace_options(function: F) -> F:
    """What says which jobs are replayed on which cluster, and how the world behaves."""
    for option in reversed(_TRACE_OPTIONS):
        function = option(function)
    return function


def trace_source(trace: str, given: dict[str, Any]) -> TraceSource:
    """The source that the options of :func:`trace_options` describe."""
    return TraceSource(
        trace,
        format_name=given["format_name"],
        options=given["reader_options"],
        skip_bad_rows=given["bad_rows"] == "skip",
        limit=given["limit"],
        nodes=given["nodes"],
        cluster=given["cluster"],
    )


def settings_of(given: dict[str, Any], trace: Trace) -> Settings:
    """The settings that the options of :func:`trace_options` describe, for this trace."""
    period = given["period"]
    if period is None:
        period = period_for(trace.span)
        if period > PERIODS[0]:
            days, text = trace.span / 86_400, duration_text(period)
            warn([f"a trace of {days:.0f} days: a cycle at most every {text} (see --period)"])
    window = given["window"]
    if window is None:
        window = window_for(len(trace.jobs))
        if window:
            text = f"the scheduler sees the first {window} that wait in each queue (see --window)"
            warn([f"a trace of {len(trace.jobs):,} jobs: {text}"])
    return Settings(
        period=period,
        recheck=given["recheck"],
        checkpoint=given["checkpoint"],
        restart_cost=given["restart_cost"],
        mtbf=given["mtbf"],
        repair=given["repair"],
        jitter=given["jitter"],
        horizon=given["until"],
        window=window,
    )


def warn(warnings: Sequence[str]) -> None:
    """Print the first warnings, and how many there are more."""
    more = len(warnings) - _MOST_WARNINGS
    print_warnings([*warnings[:_MOST_WARNINGS], *([f"and {more} more"] if more > 0 else [])])
