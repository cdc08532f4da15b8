"""``pumice explain``: why a job waits, runs or was evicted, and what would let it run."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import click

from pumice._nearest import did_you_mean
from pumice.backends.memory import MemoryBackend
from pumice.cli._cluster import adopt_pods, advance, input_warnings, make_backend
from pumice.cli._complete import complete_cluster, complete_codes
from pumice.cli._options import now_option, output_option, policy_options
from pumice.cli._output import print_json, width
from pumice.config import Policy, load_policy
from pumice.discovery import Catalog
from pumice.errors import PumiceError
from pumice.explain.asked import find_job, left_out
from pumice.explain.codes import CODES, code_of
from pumice.explain.counterfactuals import Counterfactuals, find_changes
from pumice.explain.explanation import Explanation, Level
from pumice.explain.job import ExplainedCycle, ledger_of, run_explained
from pumice.explain.parts import node_text, only_evictions, queue_facts, task_explanation
from pumice.explain.record import JobLedger
from pumice.explain.text import code_text, explanation_text
from pumice.model.facts import Inventory
from pumice.scenarios import Runner, read_file
from pumice.scenarios.files import is_scenario_file
from pumice.scenarios.scenario import parse
from pumice.scheduler import Scheduler

EXAMPLE = "pumice explain my-namespace/my-job dump.json -c policy.toml"
_BUDGET = 5.0


@click.command("explain")
@click.argument("job", required=False, metavar="[JOB]", shell_complete=complete_cluster("groups"))
@click.argument("files", nargs=-1, metavar="[FILES...]")
@policy_options
@click.option(
    "--task",
    metavar="NAME",
    shell_complete=complete_cluster("pods"),
    help="Explain one task of the job.",
)
@click.option(
    "--node",
    metavar="NAME",
    shell_complete=complete_cluster("nodes"),
    help="Why this node takes the job's tasks, or does not.",
)
@click.option(
    "--queue",
    metavar="NAME",
    shell_complete=complete_cluster("queues"),
    help="Explain a queue instead of a job; give no JOB.",
)
@click.option("--eviction", is_flag=True, help="Only who evicted the job's tasks, and why.")
@click.option(
    "--code",
    metavar="CODE",
    shell_complete=complete_codes,
    help="Describe a reason code; give no JOB and no FILES.",
)
@click.option(
    "--cycles", default=1, type=click.IntRange(1), show_default=True,
    help="Explain the last of so many cycles.",
)  # fmt: skip
@click.option(
    "--budget", default=_BUDGET, type=click.FloatRange(0), show_default=True, metavar="SECONDS",
    help="How long to look for changes that would let the job run; 0: not at all.",
)  # fmt: skip
@now_option
@output_option
def command(
    job: str | None,
    files: tuple[str, ...],
    policy: str | None,
    preset: str | None,
    overrides: tuple[str, ...],
    task: str | None,
    node: str | None,
    queue: str | None,
    eviction: bool,
    code: str | None,
    cycles: int,
    budget: float,
    now: float | None,
    output: str,
) -> None:
    """Explain why a job waits, runs or was evicted.

    JOB is namespace/name of a pod group or a pod; the name alone will do if there is only one.
    FILES are those of 'pumice run', or one scenario file of 'pumice test'; its policy is used if
    neither -c nor --preset nor --set is given. The cluster is decided again, the cycle recorded,
    and the steps of the decision printed in their order. Then small changes are tried on the same
    cluster, to find one with which the job would run.
    """
    if code is not None:
        _describe_code(code, output)
        return
    if queue is not None and job is not None:
        files, job = (job, *files), None
    if (job is None and queue is None) or not files:
        missing = "JOB and FILES" if job is None and queue is None else "FILES"
        raise PumiceError(f"there is nothing to explain: give {missing}", hint=EXAMPLE)
    catalog = Catalog()
    if any(map(is_scenario_file, files)):
        if now is not None:
            raise PumiceError("a scenario states its own time", hint="leave out --now")
        own = policy is None and preset is None and not overrides
        given = None if own else _policy(policy, preset, overrides, catalog)
        backend, chosen = _scenario_cluster(files, given, catalog)
    else:
        chosen = _policy(policy, preset, overrides, catalog)
        memory = make_backend("memory", files, chosen, catalog, now=now)
        assert isinstance(memory, MemoryBackend)
        backend = memory
    warnings = input_warnings(backend)
    read = backend.snapshot()
    adopt_pods(backend, chosen)
    uid = None
    if job is not None:
        uid = find_job(backend.snapshot(), job)
        if uid is None:
            _print_left_out(left_out(read, job), output)
            return
    cycle, inventory = _run(backend, chosen, uid, cycles)
    if queue is not None:
        _print_queue(cycle, queue, output)
        return
    assert uid is not None
    if uid not in cycle.session.jobs:
        _print_left_out(left_out(read, uid), output)
        return
    explained = cycle.explain(uid)
    if task is not None:
        explained = task_explanation(cycle, explained, task)
    if node is not None:
        click.echo(node_text(cycle, uid, node))
        return
    if eviction:
        explained = only_evictions(explained)
        budget = 0
    changes = None
    if budget and explained.verdict in ("pending", "never") and not _is_served(explained):
        changes = _what_if(explained, inventory, chosen, backend.now(), budget)
        explained = replace(explained, would_run_if=changes.found)
    _print(explained, changes, warnings, output)


def _policy(
    policy: str | None, preset: str | None, overrides: tuple[str, ...], catalog: Catalog
) -> Policy:
    return load_policy(policy, preset=preset, overrides=overrides, catalog=catalog)


def _scenario_cluster(
    files: tuple[str, ...], policy: Policy | None, catalog: Catalog
) -> tuple[MemoryBackend, Policy]:
    """The cluster of a scenario file, and its policy unless another is given."""
    file = Path(files[0])
    if len(files) > 1:
        raise PumiceError(
            "a scenario file has a cluster of its own and is explained alone",
            hint="give the scenario file only, or manifests only",
        )
    texts = read_file(file)
    if len(texts) > 1:
        raise PumiceError(
            f"{file} has {len(texts)} scenarios",
            hint="put the one to explain into a file of its own",
        )
    scheduler, backend = Runner(catalog).scheduler(parse(texts[0], str(file)), file, policy)
    return backend, scheduler.policy


def _run(
    backend: MemoryBackend, policy: Policy, job: str | None, cycles: int
) -> tuple[ExplainedCycle, Inventory]:
    """Run the cycles; the last one is recorded. Answers the cluster as it was before it, too."""
    scheduler = Scheduler(backend, policy)
    for _ in range(cycles - 1):
        scheduler.run_once()
        advance(backend, policy)
    inventory = backend.snapshot()
    ledger = JobLedger([]) if job is None else ledger_of(inventory, job)
    return run_explained(scheduler, ledger), inventory


def _is_served(explained: Explanation) -> bool:
    return explained.code == "WaitsForRelease"


def _what_if(
    explained: Explanation, inventory: Inventory, policy: Policy, now: float, budget: float
) -> Counterfactuals:
    shows = sys.stderr.isatty()

    def progress(text: str) -> None:
        if shows:
            click.echo(f"\r\033[Ktrying: {text}"[:100], err=True, nl=False)

    found = find_changes(explained, inventory, policy, now=now, budget=budget, progress=progress)
    if shows:
        click.echo("\r\033[K", err=True, nl=False)
    return found


def _print(
    explained: Explanation, changes: Counterfactuals | None, warnings: list[str], output: str
) -> None:
    if output == "json":
        if changes is not None:
            tried = Level("would_run_if", bool(changes.found), changes.text)
            explained = replace(explained, levels=(*explained.levels, tried))
        print_json(explained.to_dict())
        return
    tried_text = changes.text if changes else ""
    click.echo(explanation_text(explained, not_tried=tried_text, columns=width()))
    about = [warning for warning in warnings if explained.job in warning]
    for warning in about:
        click.echo(f"warning: {warning}", err=True)


def _print_left_out(explained: Explanation, output: str) -> None:
    if output == "json":
        print_json(explained.to_dict())
    else:
        click.echo(explanation_text(explained, columns=width()))


def _print_queue(cycle: ExplainedCycle, name: str, output: str) -> None:
    facts = queue_facts(cycle, name)
    if output == "json":
        print_json(facts.to_dict())
    else:
        click.echo(facts.text)


def _describe_code(name: str, output: str) -> None:
    code = code_of(name)
    if code is None:
        near = did_you_mean(name, CODES) or f"; known: {', '.join(CODES)}"
        raise PumiceError(f"--code: there is no reason code {name!r}{near}")
    if output == "json":
        print_json({name: value for name, value in code._asdict().items() if name != "progress"})
    else:
        click.echo(code_text(code))
