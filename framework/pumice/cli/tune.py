"""``pumice tune``: search the options of a policy by simulation."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from pumice._replace import replace_file
from pumice.cli._options import file_or_preset, output_option, set_option
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
from pumice.discovery import Catalog
from pumice.simulation.report.front import front_page
from pumice.simulation.report.page import shown
from pumice.simulation.runs import PolicySource, load_workload
from pumice.simulation.search import Range, Trial, check, front, higher_is_better, search


@click.command("tune")
@click.argument("trace")
@click.argument("policy")
@click.option(
    "--over",
    "spans",
    multiple=True,
    required=True,
    metavar="KEY=LOW..HIGH",
    help="A setting and its range, or KEY=ONE,OTHER; may be repeated.",
)
@click.option(
    "--for",
    "goals",
    multiple=True,
    default=("delay.p95",),
    show_default=True,
    metavar="FIGURE",
    help="The figure to optimise; may be repeated.",
)
@click.option(
    "--trials", type=click.IntRange(1), default=20, show_default=True, help="Simulations."
)
@set_option
@trace_options
@click.option(
    "--seeds", default="1", show_default=True, callback=read_seeds, help="Runs of each trial."
)
@click.option(
    "--report", type=click.Path(path_type=Path), metavar="FILE", help="Write a page with the front."
)
@output_option
def command(
    trace: str,
    policy: str,
    spans: tuple[str, ...],
    goals: tuple[str, ...],
    trials: int,
    overrides: tuple[str, ...],
    seeds: list[int],
    report: Path | None,
    output: str,
    **given: Any,
) -> None:
    """Search for the settings of a policy with the best figures in simulations of TRACE.

    POLICY is a policy file or the name of a preset. With several figures (--for), the trials that
    no other trial beats in every figure are shown: the Pareto front.
    """
    file, preset = file_or_preset(policy)
    chosen = PolicySource(Path(policy).stem, file=file, preset=preset, overrides=overrides)
    load_policy(chosen.file, preset=chosen.preset, overrides=chosen.overrides)
    ranges = [Range.of(span) for span in spans]
    for span in ranges:
        check(chosen, span)
    catalog = Catalog()
    better_high = [higher_is_better(goal, catalog) for goal in goals]
    source = trace_source(trace, given)
    workload = load_workload(source, seeds[0])
    warn(workload.warnings)
    settings = settings_of(given, workload.trace)
    with Progress("searching", "trials") as bar:
        done = search(
            source,
            chosen,
            ranges,
            goals,
            seeds,
            settings,
            trials=trials,
            processes=given["processes"],
            report=bar.update,
        )
    best = front(done, better_high)
    if report is not None:
        replace_file(report, front_page(done, best, goals, title=f"{policy} tuned").encode())
    if output == "json":
        shape = {"trials": _plain(done, goals), "best": _plain(best, goals)}
        print_json({"policy": policy, "goals": list(goals), **shape})
        return
    table = Table(*(span.key for span in ranges), *goals)
    for trial in best:
        figures = (shown(g, v) for g, v in zip(goals, trial.figures, strict=True))
        table.add(*trial.values.values(), *figures)
    print_table(table)


def _plain(trials: Sequence[Trial], goals: Sequence[str]) -> list[dict[str, Any]]:
    return [
        {
            "values": dict(trial.values),
            "figures": {
                goal: None if value != value else value
                for goal, value in zip(goals, trial.figures, strict=True)
            },
        }
        for trial in trials
    ]
