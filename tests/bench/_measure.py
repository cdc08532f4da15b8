"""The measurements of a case. Each call is one run, on a cluster and a scheduler of its own."""

from __future__ import annotations

import contextlib
import cProfile
import io
import math
import random
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pumice.backends.memory import MemoryBackend
from pumice.cli._decisions import print_cycle
from pumice.config import Policy, policy_from_dict
from pumice.config.settings import AS_UPSTREAM
from pumice.decisions import Decisions
from pumice.discovery import Catalog
from pumice.explain import JobLedger, ledger_of, run_explained
from pumice.explain.text import explanation_text
from pumice.ledger import Ledger
from pumice.model.facts import Inventory
from pumice.scheduler import Scheduler
from pumice.session.session import Session
from tests.bench._case import Case, Measured
from tests.bench._clock import Timing
from tests.bench._dump import write_dump

Profile = cProfile.Profile | None
CHANGED = 0.01
"""The part of the objects that is another one in the second cycle."""
CHANGE = "example.com/change"
MOVED = 10
"""How many nodes came, how many went, how many were closed and how many labelled."""


def policy_of(case: Case, changes: Mapping[str, Any] | None = None) -> Policy:
    catalog = Catalog()
    for name, cls in case.plugins.items():
        catalog.register_local("plugin", name, cls)
    return policy_from_dict({**case.policy, **(changes or {})}, where=case.name, catalog=catalog)


def deciding(case: Case, number: int, profile: Profile) -> Measured:
    """Open a session and run the action; each is timed."""
    return _decide(case, Scheduler(MemoryBackend(case.cluster(case)), policy_of(case)), profile)[0]


def explaining(case: Case, number: int, profile: Profile) -> Measured:
    """As deciding, but every job must wait in the end and say why."""
    scheduler = Scheduler(MemoryBackend(case.cluster(case)), policy_of(case))
    measured, decisions = _decide(case, scheduler, profile)
    dumb = [state.job for state in decisions.jobs if waited(state.job) and not state.reason]
    return replace(measured, wrong=tuple(f"{job} does not say why it waits" for job in dumb))


def recording(case: Case, number: int, profile: Profile) -> Measured:
    """With a ledger that stores everything, compared with no ledger."""
    without = deciding(case, number, None)
    backend = MemoryBackend(case.cluster(case))
    ledger = Ledger()
    measured, _ = _decide(case, Scheduler(backend, policy_of(case), ledger=ledger), profile)
    wrong = () if ledger.sequence > case.placed else (f"{ledger.sequence} events",)
    return replace(measured, base=without.cpu, wrong=wrong)


def recording_jobs(case: Case, number: int, profile: Profile) -> Measured:
    """With the ledger that explanations are made from, compared with no ledger."""
    without = deciding(case, number, None)
    backend = MemoryBackend(case.cluster(case))
    ledger = JobLedger()
    measured, _ = _decide(case, Scheduler(backend, policy_of(case), ledger=ledger), profile)
    wrong = () if ledger.by_job else ("nothing was recorded",)
    return replace(measured, base=without.cpu, wrong=wrong)


def explaining_one(case: Case, number: int, profile: Profile) -> Measured:
    """Explain one job of a dump, from the objects in memory to the text; loading is not timed."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "dump.json")
        write_dump(path, case.nodes, case.jobs, case.tasks, every=case.every)
        backend = MemoryBackend.from_files([path])
    inventory = backend.snapshot()
    job = max(uid for uid, group in inventory.groups.items() if group.phase == "Pending")
    scheduler = Scheduler(backend, policy_of(case))
    with Timing(profile) as timing:
        explained = run_explained(scheduler, ledger_of(inventory, job)).explain(job)
        text = explanation_text(explained)
    wrong = () if text.startswith(f"{job} ") and explained.levels else (f"{job}: {text}",)
    return Measured(timing.cpu, timing.cpu, timing.wall, wrong=wrong)


def rendering(case: Case, number: int, profile: Profile) -> Measured:
    """Print what a cycle decided, every task of it, compared with deciding it."""
    backend = MemoryBackend(case.cluster(case))
    measured, decisions = _decide(case, Scheduler(backend, policy_of(case)), None)
    target = io.StringIO()
    with contextlib.redirect_stdout(target), Timing(profile) as full:
        print_cycle(1, decisions, backend.now(), full=True)
    with contextlib.redirect_stdout(io.StringIO()), Timing() as short:
        print_cycle(1, decisions, backend.now())
    lines = target.getvalue().count("\n")
    wrong = [] if lines > case.placed else [f"{lines:,} lines for {case.placed:,} tasks"]
    if short.cpu > full.cpu:
        wrong.append("the summary takes longer than the whole list")
    return replace(measured, cpu=full.cpu, wall=full.wall, base=measured.cpu, wrong=tuple(wrong))


def handing(case: Case, number: int, profile: Profile) -> Measured:
    """With a ledger that hands every event to a sink, compared with no ledger."""
    without = deciding(case, number, None)
    backend = MemoryBackend(case.cluster(case))
    events: list[dict[str, Any]] = []
    ledger = Ledger(events.append)
    measured, _ = _decide(case, Scheduler(backend, policy_of(case), ledger=ledger), profile)
    return replace(measured, base=without.cpu)


def promising(case: Case, number: int, profile: Profile) -> Measured:
    """With the promises of an eviction, compared with the same action without them."""
    without = deciding(case, number, None)
    backend = MemoryBackend(case.cluster(case))
    policy = policy_of(case, {"evictions": dict.fromkeys(AS_UPSTREAM, True)})
    return replace(_decide(case, Scheduler(backend, policy), profile)[0], base=without.cpu)


def filtering(case: Case, number: int, profile: Profile) -> Measured:
    """With the plugins of the case's own, compared with the same policy without them."""
    tiers = [
        {"plugins": [plugin for plugin in tier["plugins"] if plugin not in case.plugins]}
        for tier in case.policy["tiers"]
    ]
    backend = MemoryBackend(case.cluster(case))
    without, _ = _decide(case, Scheduler(backend, policy_of(case, {"tiers": tiers})), None)
    return replace(deciding(case, number, profile), base=without.cpu)


def opening(case: Case, number: int, profile: Profile) -> Measured:
    """Open a session."""
    scheduler = Scheduler(MemoryBackend(case.cluster(case)), policy_of(case))
    with Timing(profile) as timing:
        session = scheduler.open_session()
    return Measured(timing.cpu, timing.cpu, timing.wall, wrong=_incomplete(case, session))


def reopening(case: Case, number: int, profile: Profile) -> Measured:
    """Open the session of a second cycle, before which some objects have changed."""
    node = ""

    def change(inventory: Inventory) -> Inventory:
        nonlocal node
        inventory, node = changed(inventory, number)
        return inventory

    measured, session = _second_cycle(case, change, profile)
    wrong = measured.wrong
    if session.nodes.handle(session.nodes.row_of[node]).labels.get(CHANGE) != str(number):
        wrong += (f"the second cycle does not see the change of {node}",)
    return replace(measured, wrong=wrong)


def moving(case: Case, number: int, profile: Profile) -> Measured:
    """Open the session of a second cycle, before which nodes came, went and changed."""
    came = gone = ""

    def change(inventory: Inventory) -> Inventory:
        nonlocal came, gone
        inventory, came, gone = moved(inventory, number)
        return inventory

    measured, session = _second_cycle(case, change, profile)
    wrong = measured.wrong
    if session.nodes.get(came) is None or session.nodes.get(gone) is not None:
        wrong += (f"the second cycle does not see that {came} came and {gone} is gone",)
    return replace(measured, wrong=wrong)


def _second_cycle(
    case: Case, change: Callable[[Inventory], Inventory], profile: Profile
) -> tuple[Measured, Session]:
    """Open a session, change the cluster, and measure how the next one is opened."""
    backend = MemoryBackend(case.cluster(case))
    scheduler = Scheduler(backend, policy_of(case))
    with Timing() as first:
        session = scheduler.open_session()
    scheduler.finish(session)
    del session
    backend.replace(change(backend.snapshot()))
    with Timing(profile) as second:
        session = scheduler.open_session()
    wrong = _incomplete(case, session)
    measured = Measured(second.cpu, first.cpu, second.wall, base=first.cpu, wrong=wrong)
    return measured, session


def loading(case: Case, number: int, profile: Profile) -> Measured:
    """Read a dump from a file, then open a session on it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "dump.json")
        write_dump(path, case.nodes, case.jobs, case.tasks)
        with Timing(profile) as timing:
            backend = MemoryBackend.from_files([path])
    problems = tuple(str(problem) for problem in backend.snapshot().problems[:3])
    scheduler = Scheduler(backend, policy_of(case))
    with Timing() as first:
        session = scheduler.open_session()
    return Measured(
        timing.cpu, first.cpu, timing.wall, wrong=(*problems, *_incomplete(case, session))
    )


def changed(inventory: Inventory, number: int) -> tuple[Inventory, str]:
    """The inventory with some other nodes and pods in it, and the name of one of the nodes."""
    chance = random.Random(number)
    nodes, pods = dict(inventory.nodes), dict(inventory.pods)
    mark = {CHANGE: str(number)}
    names = chance.sample(sorted(nodes), math.ceil(len(nodes) * CHANGED))
    for name in names:
        nodes[name] = replace(nodes[name], labels={**nodes[name].labels, **mark})
    for uid in chance.sample(sorted(pods), math.ceil(len(pods) * CHANGED)):
        pods[uid] = replace(pods[uid], annotations={**pods[uid].annotations, **mark})
    return replace(inventory, nodes=nodes, pods=pods), names[0]


def moved(inventory: Inventory, number: int) -> tuple[Inventory, str, str]:
    """The inventory in which some nodes came, went, closed or have another label; two names."""
    chance = random.Random(number)
    nodes = dict(inventory.nodes)
    names = chance.sample(sorted(nodes), 4 * MOVED)
    gone, models = names[:MOVED], names[MOVED : 2 * MOVED]
    for name in gone:
        del nodes[name]
    for name in models:
        nodes[f"{name}-new"] = replace(nodes[name], name=f"{name}-new")
    for name in names[2 * MOVED : 3 * MOVED]:
        nodes[name] = replace(nodes[name], unschedulable=True)
    for name in names[3 * MOVED :]:
        nodes[name] = replace(nodes[name], labels={**nodes[name].labels, CHANGE: str(number)})
    return replace(inventory, nodes=nodes), f"{models[0]}-new", gone[0]


def waited(name: str) -> bool:
    """Whether a job, or the task of one, was pending before the cycle: running ones may move."""
    return name.rpartition("/")[2].startswith("job-")


def _decide(case: Case, scheduler: Scheduler, profile: Profile) -> tuple[Measured, Decisions]:
    (action,) = (action for action in scheduler.holder.actions if action.name == case.action)
    with Timing() as first:
        session = scheduler.open_session()
    with Timing(profile) as timing:
        scheduler.run_action(session, action)
    decisions = scheduler.finish(session)
    placed = sum(1 for d in (*decisions.binds, *decisions.pipelined) if waited(d.uid))
    return (
        Measured(timing.cpu, first.cpu, timing.wall, placed, len(decisions.evictions)),
        decisions,
    )


def _incomplete(case: Case, session: Session) -> tuple[str, ...]:
    """What a session lacks of its case."""
    counts = {
        "nodes": (len(session.nodes), case.nodes),
        "jobs": (len(session.jobs), case.jobs),
        "tasks": (sum(len(job.tasks) for job in session.jobs.values()), case.jobs * case.tasks),
    }
    return tuple(
        f"{got:,} {what}, not {wanted:,}" for what, (got, wanted) in counts.items() if got != wanted
    )
