"""``pumice run``: schedule a cluster and print the decisions."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click
import msgspec

from pumice._nearest import did_you_mean
from pumice.backends import Backend
from pumice.backends.adopt import adopt
from pumice.backends.memory import MemoryBackend
from pumice.backends.state import ClusterState, load_state, save_state
from pumice.cli._decisions import print_cycle, print_totals
from pumice.cli._group import LogChoice
from pumice.cli._live import is_live, live_backend, print_live_cycle, run_live
from pumice.cli._live_page import live_page
from pumice.cli._options import (
    backend_set_option,
    cycles_output_option,
    plain_option,
    policy_options,
)
from pumice.cli._output import print_json, print_json_line
from pumice.config import Policy, PolicyHolder, load_policy
from pumice.decisions import Decisions
from pumice.discovery import Catalog
from pumice.errors import PumiceError
from pumice.explain.log import log_ledger
from pumice.ledger import Ledger
from pumice.model.facts import Inventory
from pumice.scheduler import Scheduler

ALL = "all"
EXAMPLE = "pumice run dump.json, where kubectl get nodes,pods,… -A -o json wrote dump.json"


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
    help="Print the questions and answers of an extension point, or of 'all'; may be repeated.",
)
@click.option("--check", is_flag=True, help="Check the accounts after every action.")
@plain_option
@click.option(
    "--backend",
    "backend_name",
    default="memory",
    show_default=True,
    metavar="NAME",
    help="Where the facts come from, by its entry point in the group pumice.backends.",
)
@backend_set_option
@click.option(
    "--serve",
    "address",
    metavar="ADDRESS",
    help="Show the cycles of a live cluster on a web page at this host:port.",
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

    def load() -> Policy:
        loaded = load_policy(policy, preset=preset, overrides=overrides, catalog=catalog)
        return loaded.without(plain)

    chosen = load()
    ledger = _ledger(hooks, catalog, click.get_current_context().obj)
    cls = catalog.load("backend", backend_name).cls
    if is_live(cls):
        _refuse(backend_name, files=files, state=state_file, json=output == "json")
        _warn(chosen.warnings)
        live = live_backend(backend_name, cls, settings, chosen, dry_run=dry_run)
        scheduler = Scheduler(live, PolicyHolder(load), ledger=ledger, verify=check)
        with ExitStack() as stack:
            run_cycle: Callable[[], Decisions] = scheduler.run_once
            if address:
                run_cycle = stack.enter_context(live_page(scheduler, address, backend_name))

            def step() -> None:
                decisions = run_cycle()
                print_live_cycle(scheduler.cycle, decisions, output)

            policy_file = Path(policy) if policy else None
            run_live(live, scheduler, step, cycles=cycles, policy_file=policy_file)
        return
    if address:
        raise PumiceError(
            f"--serve: the backend {backend_name!r} has no live cluster",
            hint="'pumice serve FILES' shows the cycles of an embedded one",
        )
    cycles = cycles or 1
    state = load_state(state_file) if state_file else None
    backend = make_backend(backend_name, files, chosen, catalog, state_file, state)
    warnings = [*chosen.warnings, *input_warnings(backend)]
    if state is not None and files:
        warnings.append(
            f"{state_file} exists: the cluster is taken from it after cycle {state.cycle}, and "
            "FILES are not read (remove it to start again)"
        )
    _warn(warnings)
    adopt_pods(backend, chosen)
    scheduler = Scheduler(backend, chosen, ledger=ledger, verify=check)
    first = scheduler.cycle = state.cycle if state else 0
    history: list[Decisions] = []
    for number in range(first + 1, first + cycles + 1):
        decisions = scheduler.run_once()
        if output == "jsonl":
            said = [] if number > first + 1 else warnings
            print_json_line({"cycle": number, **decisions.as_json(), "warnings": said})
        else:
            history.append(decisions)
        if output == "table":
            print_cycle(number, decisions)
        if state_file or number < first + cycles:
            advance(backend, chosen)
        # A killed run repeats at most the cycle that it printed last, and leaves none unprinted.
        if state_file and isinstance(backend, MemoryBackend):
            save_state(state_file, backend.state(number))
    scheduler.close()
    if output == "json":
        decided = [decisions.as_json() for decisions in history]
        print_json({"cycles": decided, "warnings": warnings})
    elif output == "table":
        print_totals(history)


def _refuse(name: str, **given: object) -> None:
    """Refuse what makes no sense with the backend of a live cluster."""
    texts = {"files": "FILES", "state": "--state", "json": "-o json, which ends with the run"}
    for key, value in given.items():
        if value:
            raise PumiceError(f"the backend {name!r} does not take {texts[key]}")


def _warn(warnings: Sequence[str]) -> None:
    if not click.get_current_context().find_root().params.get("quiet"):
        for warning in warnings:
            click.echo(f"warning: {warning}", err=True)


def make_backend(
    name: str,
    files: Sequence[str],
    policy: Policy,
    catalog: Catalog,
    state_file: Path | None,
    state: ClusterState | None,
) -> Backend:
    cls = catalog.load("backend", name).cls
    if state_file and not (isinstance(cls, type) and issubclass(cls, MemoryBackend)):
        raise PumiceError(
            f"--state: the backend {name!r} has no state to store",
            hint="remove --state, or use the backend 'memory'",
        )
    if state is not None:
        return cls.from_state(state)  # type: ignore[no-any-return]
    settings = policy.scheduler
    if not hasattr(cls, "from_files"):
        if files:
            raise PumiceError(
                f"the backend {name!r} does not read files",
                hint="remove the files from the command",
            )
        return _instance(name, cls)
    if not files:
        missing = f": {state_file} does not exist yet" if state_file else ""
        raise PumiceError(f"there is nothing to schedule: give FILES{missing}", hint=EXAMPLE)
    backend: Backend = cls.from_files(files, default_queue=settings.default_queue)
    return backend


def input_warnings(backend: Backend) -> list[str]:
    """What is wrong with the manifests."""
    if not isinstance(backend, MemoryBackend):
        return []
    inventory = backend.snapshot()
    return [
        *map(str, inventory.problems),
        *_missing_groups(inventory),
        *_missing_nodes(inventory),
    ]


def adopt_pods(backend: Backend, policy: Policy) -> None:
    """Give pods without a pod group one of their own; a real cluster has controllers for it."""
    if isinstance(backend, MemoryBackend):
        queue, ours = policy.scheduler.default_queue, policy.scheduler.scheduler_names
        backend.replace(adopt(backend.snapshot(), queue=queue, scheduler_names=ours))


def _missing_groups(inventory: Inventory) -> list[str]:
    """Warnings about pending pods whose pod group is missing."""
    reported = {problem.object for problem in inventory.problems}
    pods = Counter(
        pod.group
        for pod in inventory.pods.values()
        if pod.group and pod.group not in inventory.groups and pod.phase == "Pending"
    )
    return [
        f"PodGroup {group}: not in the files, so pods that name it are not scheduled: {count}"
        for group, count in sorted(pods.items())
        if f"PodGroup {group}" not in reported
    ]


def _missing_nodes(inventory: Inventory) -> list[str]:
    """Warnings about pods on nodes that are missing."""
    pods = Counter(
        pod.node_name
        for pod in inventory.pods.values()
        if pod.node_name
        and pod.node_name not in inventory.nodes
        and pod.phase in ("Pending", "Running")
    )
    return [
        f"Node {node}: not in the files, so pods that are on it count nowhere: {count}"
        for node, count in sorted(pods.items())
    ]


def _instance(name: str, cls: Callable[[], Any]) -> Backend:
    backend = cls()
    if not isinstance(backend, Backend):
        raise PumiceError(f"the backend {name!r} lacks methods of a backend")
    return backend


def advance(backend: Backend, policy: Policy) -> None:
    """Simulate what happens between cycles; a real cluster needs no help."""
    if isinstance(backend, MemoryBackend):
        backend.advance()
        backend.step(policy.scheduler.period)


def _ledger(hooks: Sequence[str], catalog: Catalog, log: LogChoice | None = None) -> Ledger | None:
    """A ledger that prints the calls of these extension points, or logs; None: neither."""
    points = catalog.points
    if not hooks:
        return log_ledger(log.level, [*points], job=log.job) if log is not None else None
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
