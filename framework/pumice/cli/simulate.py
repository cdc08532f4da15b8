"""``pumice simulate``: replay a trace under one or more policies."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from pumice._replace import check_target, replace_file
from pumice.cli._complete import complete_presets
from pumice.cli._options import POLICY_FILE, output_option, set_option
from pumice.cli._output import print_json, print_table
from pumice.cli._progress import Progress
from pumice.cli._simulation import (
    read_seeds,
    settings_of,
    trace_options,
    trace_source,
    warn,
)
from pumice.cli._table import Table
from pumice.config import load_policy
from pumice.errors import PumiceError
from pumice.simulation.compare import as_json, compared, policies_of, series_rows
from pumice.simulation.engine import Settings
from pumice.simulation.outcome import Outcome
from pumice.simulation.report import page
from pumice.simulation.report.page import HEADLINES, shown_spread
from pumice.simulation.runs import PolicySource, load_workload, run_all


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
    shell_complete=complete_presets,
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
    source = trace_source(trace, given)
    for path in filter(None, (report, series)):
        check_target(path)
    policies = policy_sources(files, presets, overrides)
    workload = load_workload(source, seeds[0])
    warn(workload.warnings)
    settings = settings_of(given, workload.trace)
    if len(seeds) > 1 and not (source.is_drawn or settings.mtbf or settings.jitter):
        warn(["all seeds give the same: use --jitter, --mtbf or the trace synthetic"])
    with Progress("simulating", "jobs") as bar:
        outcomes = run_all(
            source, policies, seeds, settings, processes=given["processes"], report=bar.update
        )
    for outcome in outcomes:
        if outcome.faults:
            warn([f"{outcome.policy}: plugins or actions had {outcome.faults} faults"])
        never = outcome.figures.get("starvation.never_started", 0)
        if never and not settings.horizon:
            warn([f"{outcome.policy}: {never:g} of {outcome.jobs} jobs never started"])
    if report is not None:
        title = f"{Path(trace).name}: {', '.join(policies_of(outcomes))}"
        notes = [_cluster_note(len(workload.nodes), settings)]
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


def _cluster_note(nodes: int, settings: Settings) -> str:
    checkpoint = settings.checkpoint
    saved = "no checkpoints" if checkpoint is None else f"a checkpoint every {checkpoint:g} s"
    window = settings.window
    seen = f" the scheduler sees {window} waiting jobs of a queue;" if window else ""
    return (
        f"{nodes} nodes; a cycle at most every {settings.period:g} s;{seen} {saved}; "
        f"a restart takes {settings.restart_cost:g} s."
    )


def print_comparison(outcomes: Sequence[Outcome]) -> None:
    """Print the most important figures, a column for each policy."""
    policies, figures = policies_of(outcomes), compared(outcomes)
    table = Table("figure", *policies)
    for name in HEADLINES:
        if name in figures:
            table.add(name, *(shown_spread(name, figures[name][p]) for p in policies))
    table.add("cycles", *(_of_first(outcomes, p).cycles for p in policies))
    print_table(table)


def _of_first(outcomes: Sequence[Outcome], policy: str) -> Outcome:
    return next(outcome for outcome in outcomes if outcome.policy == policy)


def _write_series(path: Path, outcomes: Sequence[Outcome]) -> None:
    try:
        with path.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows(series_rows(outcomes))
    except OSError as error:
        raise PumiceError(f"{path}: cannot be written: {error.strerror or error}") from None
