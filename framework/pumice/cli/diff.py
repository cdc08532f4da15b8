"""``pumice diff``: what two policies decide differently about the same cluster."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import click

from pumice.backends.memory import MemoryBackend
from pumice.cli._cluster import adopt_pods, input_warnings
from pumice.cli._options import file_or_preset, output_option
from pumice.cli._output import print_json, print_table, print_warnings
from pumice.cli._table import Table
from pumice.config import Policy, load_policy
from pumice.decisions import Decisions
from pumice.scheduler import Scheduler


@dataclass(slots=True, frozen=True)
class Difference:
    """A pod or job about which two policies decide differently."""

    object: str
    """``pod`` or ``job``."""
    name: str
    """``namespace/name``."""
    left: str
    """What the first policy decides."""
    right: str
    """What the second one decides."""


@click.command("diff")
@click.argument("left", metavar="A")
@click.argument("right", metavar="B")
@click.argument("files", nargs=-1, required=True, metavar="DUMP...")
@output_option
def command(left: str, right: str, files: tuple[str, ...], output: str) -> None:
    """Show what one cycle would decide differently under two policies.

    A and B are policy files or the names of presets. DUMP are manifests, as for 'pumice run'.
    """
    policies = [_policy(left), _policy(right)]
    warnings: dict[str, None] = {}
    differences = compare(*(_decide(policy, files, warnings) for policy in policies))
    print_warnings([*warnings])
    if output == "json":
        print_json({"a": left, "b": right, "differences": [asdict(each) for each in differences]})
        return
    if not differences:
        click.echo(f"{left} and {right} decide the same")
        return
    table = Table("OBJECT", left, right)
    for each in differences:
        table.add(f"{each.object} {each.name}", each.left, each.right)
    print_table(table)
    click.echo(f"\n{len(differences)} {'difference' if len(differences) == 1 else 'differences'}")


def _policy(name: str) -> Policy:
    file, preset = file_or_preset(name)
    return load_policy(file, preset=preset)


def _decide(policy: Policy, files: tuple[str, ...], warnings: dict[str, None]) -> Decisions:
    """The decisions of one cycle; what is wrong with policy and files is added to ``warnings``."""
    backend = MemoryBackend.from_files(files, default_queue=policy.scheduler.default_queue)
    warnings |= dict.fromkeys([*policy.warnings, *input_warnings(backend)])
    adopt_pods(backend, policy)
    scheduler = Scheduler(backend, policy)
    decisions = scheduler.run_once()
    scheduler.close()
    return decisions


def compare(left: Decisions, right: Decisions) -> list[Difference]:
    """What is decided differently: pods by name, then phases of jobs that no pod explains."""
    ours, theirs = _pods(left), _pods(right)
    differences = [
        Difference("pod", name, ours.get(name, "–"), theirs.get(name, "–"))
        for name in sorted(ours.keys() | theirs.keys())
        if ours.get(name) != theirs.get(name)
    ]
    jobs = {state.job: state for state in right.jobs}
    for state in left.jobs:
        other = jobs.get(state.job)
        if other is not None and state.phase != other.phase:
            differences.append(Difference("job", state.job, state.phase, other.phase))
    return differences


def _pods(decisions: Decisions) -> dict[str, str]:
    """What is decided about each pod, by its name."""
    decided = {each.task: f"waits for {each.node}" for each in decisions.pipelined}
    decided |= {each.task: f"starts on {each.node}" for each in decisions.binds}
    for each in decisions.evictions:
        gains = f" for {each.claimant}" if each.claimant else ""
        again = f", then {decided[each.task]}" if each.task in decided else ""
        decided[each.task] = f"evicted from {each.node}{gains}{again}"
    for task in decisions.task_states:
        decided.setdefault(task, "stays as it is")
    return decided
