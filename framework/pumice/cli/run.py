"""``pumice run``: schedule a cluster and print the decisions."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click
import msgspec

from pumice import log
from pumice._nearest import did_you_mean
from pumice.backends.memory import MemoryBackend
from pumice.backends.state import load_state, save_state
from pumice.cli._cluster import adopt_pods, advance, input_warnings, make_backend
from pumice.cli._complete import complete_traced
from pumice.cli._decisions import MANY, count_faults, cycle_data, print_cycle, print_totals
from pumice.cli._group import LogChoice
from pumice.cli._live import is_live, live_backend, print_live_cycle, run_live
from pumice.cli._live_page import live_page
from pumice.cli._options import (
    backend_option,
    backend_set_option,
    cycles_output_option,
    now_option,
    plain_option,
    policy_options,
)
from pumice.cli._output import print_json, print_json_line
from pumice.cli._progress import Progress
from pumice.config import Policy, PolicyHolder, load_policy
from pumice.decisions import Decisions
from pumice.discovery import Catalog
from pumice.errors import PumiceError
from pumice.explain.log import log_ledger
from pumice.ledger import Ledger
from pumice.scheduler import Scheduler

ALL = "all"


@click.command("run")
@click.argument("files", nargs=-1, metavar="[FILES...]")
@policy_options
@click.option(
    "--cycles",
    type=click.IntRange(1),
    help="How many cycles; without it one, or as many as come in a live cluster.",
)
@cycles_output_option
@click.option(
    "--trace",
    "hooks",
    multiple=True,
    metavar="HOOK",
    shell_complete=complete_traced,
    help="Print the questions and answers of an extension point, or of 'all'; may be repeated.",
)
@click.option("--check", is_flag=True, help="Check the accounts after every action.")
@plain_option
@backend_option("memory")
@backend_set_option
@now_option
@click.option(
    "--serve",
    "address",
    metavar="ADDRESS",
    help="Show the cycles of a live cluster on a web page at this host:port.",
)
@click.option("--full", is_flag=True, help=f"List every task, also if there are more than {MANY}.")
@click.option(
    "-q", "--quiet", is_flag=True, help="Print only the totals and what plugins did wrong."
)
@click.option(
    "--strict", is_flag=True, help="Exit with status 1 if objects were left out or plugins failed."
)
@click.option("--dry-run", is_flag=True, help="Decide, and change nothing in a live cluster.")
@click.option(
    "--state",
    "state_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Store the cluster in FILE after every cycle; go on from FILE if it exists.",
)
def command(
    files: tuple[str, ...],
    policy: str | None,
    preset: str | None,
    overrides: tuple[str, ...],
    cycles: int | None,
    output: str,
    hooks: tuple[str, ...],
    check: bool,
    plain: tuple[str, ...],
    backend_name: str,
    settings: tuple[str, ...],
    now: float | None,
    full: bool,
    quiet: bool,
    strict: bool,
    address: str | None,
    dry_run: bool,
    state_file: Path | None,
) -> None:
    """Schedule a cluster and print the decisions.

    FILES are Kubernetes manifests: dumps of 'kubectl get -o json', YAML, directories, or - for
    the standard input. Between cycles, bound pods start and evicted pods disappear.

    With --state FILE the cluster is the one that FILE holds, and FILES are read only if FILE does
    not exist yet; remove it to start again.
    """
    catalog = Catalog()
    quiet = _set_quiet(quiet)

    def load() -> Policy:
        loaded = load_policy(policy, preset=preset, overrides=overrides, catalog=catalog)
        return loaded.without(plain)

    chosen = load()
    ledger = _ledger(hooks, catalog, click.get_current_context().obj)
    cls = catalog.load("backend", backend_name).cls
    if is_live(cls):
        no_json, no_clock = output == "json", now is not None
        _refuse(backend_name, files=files, state=state_file, json=no_json, now=no_clock)
        _warn(chosen.warnings, quiet)
        live = live_backend(backend_name, cls, settings, chosen, dry_run=dry_run)
        scheduler = Scheduler(live, PolicyHolder(load), ledger=ledger, verify=check)
        shown, faults = "" if quiet and output == "table" else output, 0
        with ExitStack() as stack:
            run_cycle: Callable[[], Decisions] = scheduler.run_once
            if address:
                run_cycle = stack.enter_context(live_page(scheduler, address, backend_name))

            def step() -> None:
                nonlocal faults
                clock = live.now()
                decisions = run_cycle()
                faults += count_faults(decisions)
                print_live_cycle(scheduler.cycle, clock, decisions, shown, full)

            policy_file = Path(policy) if policy else None
            run_live(live, scheduler, step, cycles=cycles, policy_file=policy_file)
        _be_strict(strict, 0, faults)
        return
    if address:
        raise PumiceError(
            f"--serve: the backend {backend_name!r} has no live cluster",
            hint="'pumice serve FILES' shows the cycles of an embedded one",
        )
    cycles = cycles or 1
    state = load_state(state_file) if state_file else None
    with Progress("loading", ticks=True):
        backend = make_backend(
            backend_name, files, chosen, catalog, state_file, state, now=now, settings=settings
        )
    left_out = input_warnings(backend)
    warnings = [*chosen.warnings, *left_out]
    if state is not None and files:
        warnings.append(
            f"{state_file} exists: the cluster is taken from it after cycle {state.cycle}, and "
            "FILES are not read (remove it to start again)"
        )
    _warn(warnings, quiet)
    adopt_pods(backend, chosen)
    scheduler = Scheduler(backend, chosen, ledger=ledger, verify=check)
    first = scheduler.cycle = state.cycle if state else 0
    history: list[Decisions] = []
    clocks: list[float] = []
    faults, summarised = 0, False
    said = {"warnings": warnings, "left_out": left_out}
    with Progress("deciding", "cycles", cycles, ticks=True) as progress:
        for number in range(first + 1, first + cycles + 1):
            clock = backend.now()
            decisions = scheduler.run_once()
            faults += count_faults(decisions)
            progress.update(number - first)
            with progress.hidden():
                if output == "jsonl":
                    print_json_line(cycle_data(number, clock, decisions) | said)
                    said = {"warnings": [], "left_out": []}
                elif output == "table" and not quiet:
                    summarised |= print_cycle(number, decisions, clock, full=full)
            if output != "jsonl":
                history.append(decisions)
                clocks.append(clock)
            if state_file or number < first + cycles:
                advance(backend, chosen)
            # A killed run repeats at most the cycle that it printed last, and leaves none
            # unprinted.
            if state_file and isinstance(backend, MemoryBackend):
                save_state(state_file, backend.state(number))
    scheduler.close()
    if output == "json":
        numbered = enumerate(zip(clocks, history, strict=True), first + 1)
        decided = [cycle_data(number, clock, each) for number, (clock, each) in numbered]
        print_json({"cycles": decided, **said})
    elif output == "table":
        print_totals(history, summarised=summarised)
    _be_strict(strict, len(left_out), faults)


def _set_quiet(quiet: bool) -> bool:
    """Whether ``-q`` was given, before or after the name of the command."""
    context = click.get_current_context()
    if quiet:
        log.setup(-1, json=bool(context.find_root().params.get("log_json")))
    return quiet or bool(context.find_root().params.get("quiet"))


def _be_strict(strict: bool, left_out: int, faults: int) -> None:
    """With ``--strict``, fail where objects were left out or plugins and actions had faults."""
    counts = ((left_out, "problem", "with objects"), (faults, "fault", "of plugins or actions"))
    texts = [f"{n} {word}{'s' * (n > 1)} {of}" for n, word, of in counts if n]
    if strict and texts:
        click.echo(f"error: --strict: {' and '.join(texts)}", err=True)
        click.get_current_context().exit(1)


def _refuse(name: str, **given: object) -> None:
    """Refuse what makes no sense with the backend of a live cluster."""
    texts = {
        "files": "FILES",
        "state": "--state",
        "json": "-o json, which ends with the run",
        "now": "--now: it has a clock of its own",
    }
    for key, value in given.items():
        if value:
            raise PumiceError(f"the backend {name!r} does not take {texts[key]}")


def _warn(warnings: Sequence[str], quiet: bool) -> None:
    for warning in () if quiet else warnings:
        click.echo(f"warning: {warning}", err=True)


def _ledger(
    hooks: Sequence[str], catalog: Catalog, wanted: LogChoice | None = None
) -> Ledger | None:
    """A ledger that prints the calls of these extension points, or logs; None: neither."""
    points = catalog.points
    if not hooks:
        return log_ledger(wanted.level, [*points], job=wanted.job) if wanted is not None else None
    known = [*points, ALL]
    for hook in hooks:
        if hook not in known:
            near = did_you_mean(hook, known)
            raise PumiceError(
                f"--trace: there is no extension point {hook!r}{near}",
                hint="'pumice hooks' lists them",
            )
    if ALL in hooks:
        return Ledger(_print_event)
    return Ledger(_print_event, [points[hook].base for hook in hooks], statements=False)


def _print_event(event: dict[str, Any]) -> None:
    sys.stderr.write(msgspec.json.encode(event, enc_hook=str).decode() + "\n")
