"""Runs of several policies and seeds, side by side in processes."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, wait
from dataclasses import dataclass, field, replace
from functools import lru_cache
from multiprocessing import get_context
from pathlib import Path
from time import process_time
from typing import Any

from pumice.config import load_policy
from pumice.errors import PumiceError
from pumice.manifests import load
from pumice.model.facts import Node, Queue
from pumice.simulation.cluster import MODEL_LABEL, needs_kai, nodes_of, queues_of
from pumice.simulation.engine import Settings, Simulation
from pumice.simulation.outcome import Outcome, outcome_of
from pumice.traces import Trace, read_trace
from pumice.traces.formats import read_openb_nodes

Report = Callable[[int, int], None]
"""Called with the number of jobs that are done in all runs, and of all."""
_GPUS_PER_NODE = 8
PERIODS = (60.0, 120.0, 300.0, 600.0, 900.0, 1800.0, 3600.0)
"""The seconds between two cycles that are chosen for a trace, if nobody says how many."""
_PERIODS_OF_TRACE = 5_500
"""A longer period is chosen where a trace would have more periods than that."""

_MANY_JOBS = 20_000
_WINDOW = 500
"""The window of a trace of more than so many jobs, if nobody says how large."""


@dataclass(slots=True, frozen=True)
class PolicySource:
    """Where a policy comes from."""

    name: str
    """The name in reports."""
    file: str | None = None
    """The policy file."""
    preset: str | None = None
    """The preset."""
    overrides: tuple[str, ...] = ()
    """Settings that are overridden."""


@dataclass(slots=True, frozen=True)
class TraceSource:
    """Which jobs are replayed on which cluster."""

    trace: str
    """The file, or ``synthetic``."""
    format_name: str = ""
    """The format; empty: it is recognised."""
    options: tuple[tuple[str, str], ...] = ()
    """What the reader of the format is given."""
    skip_bad_rows: bool = True
    """Whether malformed rows are skipped."""
    limit: int = 0
    """How many jobs are replayed; 0: all."""
    nodes: tuple[str, ...] = ()
    """Nodes as ``COUNTxGPUS[:CPU[:MEMORY]]``."""
    cluster: tuple[str, ...] = ()
    """Files with nodes and queues."""

    @property
    def is_drawn(self) -> bool:
        """Whether every seed has jobs of its own."""
        return "synthetic" in (self.trace, self.format_name)


@dataclass(slots=True, frozen=True)
class Workload:
    """A trace with the cluster that it is replayed on."""

    trace: Trace
    nodes: list[Node]
    queues: list[Queue]
    warnings: list[str] = field(default_factory=list)


def period_for(span: float) -> float:
    """Seconds between two cycles of a trace of this length, so that they remain affordable."""
    fitting = (period for period in PERIODS if span <= period * _PERIODS_OF_TRACE)
    return next(fitting, PERIODS[-1])


def window_for(jobs: int) -> int:
    """Most waiting jobs of a queue that the scheduler sees, so that backlogs remain affordable.

    0: all.
    """
    return _WINDOW if jobs > _MANY_JOBS else 0


def load_workload(source: TraceSource, seed: int) -> Workload:
    """Read the trace and the cluster.

    :raises PumiceError: one of them cannot be used.
    """
    options = dict(source.options)
    if source.is_drawn:
        options.setdefault("seed", str(seed))
    trace = read_trace(
        source.trace,
        format_name=source.format_name,
        skip_bad_rows=source.skip_bad_rows,
        options=options,
    )
    if source.limit:
        trace.jobs = trace.jobs[: source.limit]
    nodes, queues = _cluster(source, trace, options)
    warnings = list(trace.problems)
    known = {queue.name for queue in queues}
    missing = sorted({job.queue for job in trace.jobs} - known)
    kai = needs_kai(trace.jobs)
    if not queues:
        queues = queues_of(trace, nodes, kai=kai)
    elif missing:
        warnings.append(f"queues that the cluster does not have were added: {', '.join(missing)}")
        queues = [*queues, *(Queue(name, "kai" if kai else "volcano") for name in missing)]
    return Workload(trace, nodes, queues, warnings)


def _cluster(
    source: TraceSource, trace: Trace, options: Mapping[str, str]
) -> tuple[list[Node], list[Queue]]:
    nodes, queues = list(trace.nodes), list(trace.queues)
    manifests = [path for path in source.cluster if Path(path).suffix != ".csv"]
    tables = [path for path in source.cluster if Path(path).suffix == ".csv"]
    if manifests:
        facts = load(manifests)
        nodes, queues = list(facts.nodes.values()), list(facts.queues.values()) or queues
    if tables:
        nodes = [node for path in tables for node in read_openb_nodes(path, MODEL_LABEL)]
    if source.nodes:
        nodes = nodes_of(source.nodes)
    if not nodes and source.is_drawn:
        gpus = int(float(options.get("gpus", "64")))
        nodes = nodes_of([f"{max(-(-gpus // _GPUS_PER_NODE), 1)}x{_GPUS_PER_NODE}"])
    if not nodes:
        raise PumiceError(
            f"{source.trace}: the trace does not say which nodes there are",
            hint="give them: --nodes 60x8 for 60 nodes of 8 GPUs, or --cluster FILE",
        )
    return nodes, queues


_cached_workload = lru_cache(maxsize=2)(load_workload)


def run_one(
    source: TraceSource,
    policy: PolicySource,
    settings: Settings,
    progress: Callable[[int, int], None] | None = None,
) -> Outcome:
    """One policy with one seed."""
    workload = _cached_workload(source, settings.seed if source.is_drawn else 0)
    chosen = load_policy(policy.file, preset=policy.preset, overrides=policy.overrides)
    begin = process_time()
    simulation = Simulation(workload.trace, workload.nodes, workload.queues, chosen, settings)
    outcome = outcome_of(simulation.run(progress), policy.name, settings.seed)
    outcome.cpu_seconds = process_time() - begin
    return outcome


_progress: Any = None
"""In a worker process: the queue into which it reports how far it is."""


def _begin_worker(queue: Any) -> None:
    global _progress
    _progress = queue


def _run_in_worker(
    number: int, source: TraceSource, policy: PolicySource, settings: Settings
) -> Outcome:
    return run_one(
        source, policy, settings, lambda done, total: _progress.put((number, done, total))
    )


def run_all(
    source: TraceSource,
    policies: Sequence[PolicySource],
    seeds: Sequence[int],
    settings: Settings,
    *,
    processes: int = 0,
    report: Report | None = None,
) -> list[Outcome]:
    """Every policy with every seed, policies first; the order of the result is always the same."""
    specs = [(policy, replace(settings, seed=seed)) for policy in policies for seed in seeds]
    processes = min(processes or os.cpu_count() or 1, len(specs))
    state: dict[int, tuple[int, int]] = {}

    def note(number: int, done: int, total: int) -> None:
        state[number] = (done, total)
        if report is not None:
            each = max(t for _, t in state.values())
            report(sum(d for d, _ in state.values()), each * len(specs))

    if processes == 1:
        return [
            run_one(source, policy, each, lambda done, total, i=i: note(i, done, total))  # type: ignore[misc]
            for i, (policy, each) in enumerate(specs)
        ]
    context = get_context("fork" if os.name == "posix" else "spawn")
    queue = context.Queue()
    with ProcessPoolExecutor(
        processes, mp_context=context, initializer=_begin_worker, initargs=(queue,)
    ) as pool:
        futures = [
            pool.submit(_run_in_worker, i, source, policy, each)
            for i, (policy, each) in enumerate(specs)
        ]
        while wait(futures, timeout=0.2).not_done:
            while not queue.empty():
                note(*queue.get())
            if any(future.done() and future.exception() for future in futures):
                for future in futures:
                    future.cancel()
                break
        return [future.result() for future in futures]
