"""``pumice simulate``: replay a trace under one or more policies."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from pumice._replace import replace_file
from pumice.cli._options import POLICY_FILE, output_option, set_option
from pumice.cli._output import add_row, make_table, print_json, print_table
from pumice.cli._progress import ProgressBar
from pumice.config import load_policy
from pumice.config.duration import parse_duration
from pumice.errors import PumiceError
from pumice.simulation.compare import as_json, compared, policies_of, series_rows
from pumice.simulation.engine import Settings
from pumice.simulation.outcome import Outcome
from pumice.simulation.report import page
from pumice.simulation.report.page import HEADLINES, shown_spread
from pumice.simulation.runs import PolicySource, TraceSource, load_workload, run_all

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
        default=0,
        metavar="N",
        help="Most waiting jobs of a queue that the scheduler sees, later ones are held back.",
    ),
    _duration("--period", "1m", "Least time between two cycles."),
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


def settings_of(given: dict[str, Any]) -> Settings:
    """The settings that the options of :func:`trace_options` describe."""
    return Settings(
        period=given["period"],
        recheck=given["recheck"],
        checkpoint=given["checkpoint"],
        restart_cost=given["restart_cost"],
        mtbf=given["mtbf"],
        repair=given["repair"],
        jitter=given["jitter"],
        horizon=given["until"],
        window=given["window"],
    )


@click.command("simulate")
@click.argument("trace")
@click.option(
    "-c",
    "--config",
    "files",
    multiple=True,
    type=POLICY_FILE,
    metavar="FILE",
    help="A policy file; may be repeated.",
)
@click.option(
    "--preset",
    "presets",
    multiple=True,
    metavar="NAME",
    help="A policy that ships with Pumice; may be repeated.",
)
@set_option
@trace_options
@click.option(
    "--seeds",
    default="1",
    show_default=True,
    callback=read_seeds,
    help="One run for each, as in 1-5.",
)
@click.option(
    "--report", type=click.Path(path_type=Path), metavar="FILE", help="Write a page with plots."
)
@click.option(
    "--series",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write the time series as CSV.",
)
@output_option
def command(
    trace: str,
    files: tuple[Path, ...],
    presets: tuple[str, ...],
    overrides: tuple[str, ...],
    seeds: list[int],
    report: Path | None,
    series: Path | None,
    output: str,
    **given: Any,
) -> None:
    """Replay TRACE under one or more policies and compare them.

    TRACE is a list of jobs: a file in one of the formats plain (JSONL or CSV), openb, philly,
    pollux, swf, a dump of a cluster, or the word synthetic. The scheduler is the one that 'pumice
    run' runs, the cluster is simulated: jobs arrive, run and end, evicted ones lose their work
    since the last checkpoint.
    """
    source, settings = trace_source(trace, given), settings_of(given)
    policies = policy_sources(files, presets, overrides)
    workload = load_workload(source, seeds[0])
    warn(workload.warnings)
    if len(seeds) > 1 and not (source.is_drawn or settings.mtbf or settings.jitter):
        warn(["all seeds give the same: use --jitter, --mtbf or the trace synthetic"])
    with ProgressBar() as bar:
        outcomes = run_all(
            source, policies, seeds, settings, processes=given["processes"], report=bar.update
        )
    for outcome in outcomes:
        if outcome.faults:
            warn([f"{outcome.policy}: plugins or actions had {outcome.faults} faults"])
    if report is not None:
        title = f"{Path(trace).name}: {' and '.join(policies_of(outcomes))}"
        notes = [_cluster_note(len(workload.nodes), given)]
        replace_file(report, page(outcomes, title=title, notes=notes).encode())
    if series is not None:
        _write_series(series, outcomes)
    if output == "json":
        print_json(as_json(outcomes))
        return
    print_comparison(outcomes)
    for path in filter(None, (report, series)):
        click.echo(f"written: {path}", err=True)


def policy_sources(
    files: Sequence[Path], presets: Sequence[str], overrides: Sequence[str]
) -> list[PolicySource]:
    """The policies of a command, each loaded once so that errors come before the runs."""
    sources = [PolicySource(path.stem, file=str(path)) for path in files]
    sources += [PolicySource(name, preset=name) for name in presets]
    if not sources:
        sources = [PolicySource("default")]
    names = [source.name for source in sources]
    named = []
    for number, source in enumerate(sources):
        name = source.name if names.count(source.name) == 1 else f"{source.name}-{number + 1}"
        load_policy(source.file, preset=source.preset, overrides=tuple(overrides))
        named.append(PolicySource(name, source.file, source.preset, tuple(overrides)))
    return named


def _cluster_note(nodes: int, given: dict[str, Any]) -> str:
    checkpoint = given["checkpoint"]
    saved = "no checkpoints" if checkpoint is None else f"a checkpoint every {checkpoint:g} s"
    return (
        f"{nodes} nodes; a cycle at most every {given['period']:g} s; {saved}; "
        f"a restart takes {given['restart_cost']:g} s."
    )


def warn(warnings: Sequence[str]) -> None:
    """Print the first warnings, and how many there are more."""
    if click.get_current_context().find_root().params.get("quiet"):
        return
    for text in warnings[:_MOST_WARNINGS]:
        click.echo(f"warning: {text}", err=True)
    if len(warnings) > _MOST_WARNINGS:
        click.echo(f"warning: and {len(warnings) - _MOST_WARNINGS} more", err=True)


def print_comparison(outcomes: Sequence[Outcome]) -> None:
    """Print the most important figures, a column for each policy."""
    policies, figures = policies_of(outcomes), compared(outcomes)
    table = make_table("figure", *policies)
    for name in HEADLINES:
        if name in figures:
            add_row(table, name, *(shown_spread(name, figures[name][p]) for p in policies))
    add_row(table, "cycles", *(_of_first(outcomes, p).cycles for p in policies))
    print_table(table)


def _of_first(outcomes: Sequence[Outcome], policy: str) -> Outcome:
    return next(outcome for outcome in outcomes if outcome.policy == policy)


def _write_series(path: Path, outcomes: Sequence[Outcome]) -> None:
    try:
        with path.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows(series_rows(outcomes))
    except OSError as error:
        raise PumiceError(f"{path}: cannot be written: {error.strerror or error}") from None
