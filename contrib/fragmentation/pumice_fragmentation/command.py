"""``pumice-fragmentation``: the placement policies compared on a list of nodes and of pods."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from statistics import fmean, pstdev
from time import process_time

import click

from pumice import PumiceError
from pumice_fragmentation.protocol import POLICIES, run
from pumice_fragmentation.workload import read_nodes, read_pods


def read_seeds(context: click.Context, parameter: click.Parameter, value: str) -> list[int]:
    """``42``, ``42-51`` or ``1,5,7-9`` as a list."""
    seeds: list[int] = []
    for part in value.split(","):
        first, dash, last = part.partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()):
            raise click.BadParameter(f"{value!r} is no list of seeds such as 42-51 or 1,5,7")
        seeds += range(int(first), int(last if dash else first) + 1)
    if not seeds:
        raise click.BadParameter(f"{value!r} has no seed: the first is after the last")
    return seeds


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("nodes", type=click.Path(path_type=Path), metavar="NODES.csv")
@click.argument("pods", type=click.Path(path_type=Path), metavar="PODS.csv")
@click.option(
    "--policy", type=click.Choice(POLICIES), required=True, help="The plugin that scores."
)
@click.option(
    "--seeds", callback=read_seeds, default="42-51", show_default=True, help="One run for each."
)
@click.option(
    "-o", "--output", type=click.Choice(("table", "json")), default="table", show_default=True
)
def main(nodes: Path, pods: Path, policy: str, seeds: list[int], output: str) -> None:
    """Place the pods of a list on empty nodes, and print how much of the GPUs is allocated.

    The pods arrive one by one in random order until they have requested 130 % of all GPUs; one that
    does not fit is lost. The figures are the percentage of all GPUs that is allocated when 100 %
    and 130 % have been requested, over the seeds, and the seconds of CPU that all runs took.
    """
    try:
        cluster, workload = read_nodes(nodes), read_pods(pods)
        begin = process_time()
        runs = [run(cluster, workload, policy, seed) for seed in seeds]
    except PumiceError as error:
        click.echo(f"error: {error}", err=True)
        if error.hint:
            click.echo(f"hint: {error.hint}", err=True)
        sys.exit(error.exit_status)
    result = {
        "policy": policy,
        "runs": len(runs),
        "alloc_100": _spread([allocation.at_100 for allocation in runs]),
        "alloc_130": _spread([allocation.at_130 for allocation in runs]),
        "seconds": round(process_time() - begin, 2),
    }
    if output == "json":
        click.echo(json.dumps(result, indent=2))
        return
    click.echo(f"{policy}: {len(runs)} runs in {result['seconds']} s")
    for key, requested in (("alloc_100", 100), ("alloc_130", 130)):
        spread = result[key]
        assert isinstance(spread, dict)
        click.echo(
            f"allocated when {requested} % is requested: {spread['mean']:.2f} % "
            f"(sd {spread['sd']:.2f})"
        )


def _spread(values: list[float]) -> dict[str, float]:
    return {"mean": round(fmean(values), 3), "sd": round(pstdev(values), 3)}
