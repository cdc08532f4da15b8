"""``pumice shadow``: decide beside the scheduler in charge, touch nothing, and compare."""

from __future__ import annotations

import json
from pathlib import Path

import click

from pumice.cli._live import is_live, live_backend, run_live
from pumice.cli._options import (
    backend_option,
    backend_set_option,
    cycles_output_option,
    policy_options,
)
from pumice.cli._output import (
    print_facts,
    print_heading,
    print_json,
    print_json_line,
    print_table,
)
from pumice.cli._table import Table
from pumice.config import Policy, PolicyHolder, load_policy
from pumice.discovery import Catalog
from pumice.errors import PumiceError
from pumice.scheduler import Scheduler
from pumice.shadow import BoundPod, Shadow, ShadowCycle, ShadowSummary

DEFAULT = "default-scheduler"
_OUTCOMES = {"same": "the same node", "other_node": "another node", "waits": "waits"}


@click.command("shadow")
@policy_options
@click.option(
    "--scheduler",
    "names",
    multiple=True,
    metavar="NAME",
    help="The schedulerName whose pods are compared; may be repeated. Without it those of the "
    f"policy, else {DEFAULT}.",
)
@click.option(
    "--cycles", type=click.IntRange(1), help="How many cycles; without it until it is stopped."
)
@cycles_output_option
@backend_option("kubernetes", "The live cluster")
@backend_set_option
def command(
    policy: str | None,
    preset: str | None,
    overrides: tuple[str, ...],
    names: tuple[str, ...],
    cycles: int | None,
    output: str,
    backend_name: str,
    settings: tuple[str, ...],
) -> None:
    """Compare a policy with the scheduler in charge of a live cluster.

    Decides every cycle from the cluster as it is and touches nothing. Reports where the scheduler
    in charge did otherwise, and at the end what that would have changed: delay, evictions and
    utilisation. Ctrl-C ends it.
    """
    catalog = Catalog()

    def load() -> Policy:
        chosen = load_policy(policy, preset=preset, overrides=overrides, catalog=catalog)
        ours = names or chosen.scheduler.scheduler_names or (DEFAULT,)
        setting = f"scheduler.scheduler_names={json.dumps(list(ours))}"
        return load_policy(policy, preset=preset, overrides=[*overrides, setting], catalog=catalog)

    chosen = load()
    cls = catalog.load("backend", backend_name).cls
    if not is_live(cls):
        raise PumiceError(
            f"the backend {backend_name!r} has no live cluster", hint="'pumice run' schedules files"
        )
    backend = live_backend(backend_name, cls, settings, chosen, dry_run=True)
    scheduler = Scheduler(backend, PolicyHolder(load))
    shadow = Shadow(scheduler)
    differing: list[ShadowCycle] = []

    def step() -> None:
        cycle = shadow.run_cycle()
        if output == "jsonl":
            print_json_line(cycle.as_json())
        elif cycle.differs:
            if output == "table":
                print_cycle(cycle)
            else:
                differing.append(cycle)

    policy_file = Path(policy) if policy else None
    run_live(backend, scheduler, step, cycles=cycles, policy_file=policy_file)
    summary = shadow.summary()
    if output == "json":
        cycles_json = [cycle.as_json() for cycle in differing]
        print_json({"cycles": cycles_json, "summary": summary.as_json()})
    elif output == "jsonl":
        print_json_line({"summary": summary.as_json()})
    else:
        print_summary(summary)


def print_cycle(cycle: ShadowCycle) -> None:
    """Print where one cycle differs."""
    same = sum(pod.outcome == "same" for pod in cycle.bound)
    print_heading(
        f"Cycle {cycle.cycle}: {len(cycle.bound)} bound by the scheduler in charge, "
        f"{same} of them as here; {len(cycle.evicted)} evicted, {len(cycle.would_evict)} here"
    )
    others = [pod for pod in cycle.bound if pod.outcome != "same"]
    if others:
        table = Table("BOUND", "NODE", "HERE", "EARLIER", "WHY")
        for pod in others:
            earlier = "" if pod.outcome == "waits" else f"{pod.seconds:.1f} s"
            table.add(pod.task, pod.node, _here(pod), earlier, pod.reason)
        print_table(table)
    if cycle.evicted:
        table = Table("EVICTED")
        for task in cycle.evicted:
            table.add(task)
        print_table(table)
    if cycle.would_evict:
        table = Table("WOULD EVICT", "NODE", "FOR", "BY", "WHY")
        for one in cycle.would_evict:
            table.add(one.task, one.node, one.claimant or "no job", one.action, one.reason)
        print_table(table)


def _here(pod: BoundPod) -> str:
    return pod.shadow_node or _OUTCOMES[pod.outcome]


def print_summary(summary: ShadowSummary) -> None:
    """Print what all cycles show."""
    print_heading(f"{summary.cycles} cycles in {summary.seconds:.0f} s")
    used = (
        f"{name} {share.actual:.1%} → {share.shadow:.1%}"
        for name, share in summary.utilisation.items()
    )
    print_facts(
        ("cycles that differ", str(summary.differing)),
        (
            "pods bound",
            f"{summary.bound}: {summary.same} to the same node here, {summary.other_node} to "
            f"another one, {summary.waits} would wait",
        ),
        ("bound unseen", f"{summary.unseen} between two cycles" if summary.unseen else ""),
        ("mean wait", f"{summary.wait.actual:.1f} s → {summary.wait.shadow:.1f} s"),
        (
            "would run, but wait",
            f"{summary.would_start}, for {summary.would_start_seconds:.0f} s together"
            if summary.would_start
            else "",
        ),
        (
            "evictions",
            f"{summary.evicted} → {summary.would_evict} ({summary.both_evict} the same)",
        ),
        ("utilisation", ", ".join(used)),
    )
