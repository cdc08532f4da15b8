"""The engine: events in order of time, and a cycle of the scheduler where something changed."""

from __future__ import annotations

import gc
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from typing import Any

import numpy as np

from pumice._gc import gc_paused
from pumice.config import Policy
from pumice.decisions import Decisions
from pumice.model.facts import Inventory, Node, Queue
from pumice.scheduler import Scheduler
from pumice.simulation.backend import SimulatedCluster
from pumice.simulation.cluster import JobFacts, needs_kai, priority_classes
from pumice.simulation.job_run import JobRun
from pumice.simulation.record import EvictionRecord, Record
from pumice.simulation.usage import Usage
from pumice.traces.trace import Trace, TraceJob

EPOCH = 1_767_268_800.0
"""Epoch seconds at which every simulation begins."""
_MOST_CYCLES = 50
"""So many cycles in a row may decide something before the next change from outside is awaited."""

_FRUITLESS = 24
"""After so many cycles that decided nothing, jobs will never start if none runs and none comes."""
_COLLECT_EVERY = 25
"""The garbage collector looks at what these cycles made instead of in each cycle."""
_COLLECT_ALL_EVERY = 500
"""It looks at everything, which costs the more the more jobs wait, after so many cycles."""

Progress = Callable[[int, int], None]
"""Called now and then with the number of jobs that are done, and of all."""


@dataclass(slots=True, frozen=True)
class Settings:
    """How the world of a simulation behaves."""

    period: float = 60.0
    """Least seconds between two cycles."""
    recheck: float = 3600.0
    """While jobs wait, a cycle runs at the latest after so many seconds."""
    checkpoint: float | None = None
    """Seconds of work between checkpoints; None: a job that is stopped begins again."""
    restart_cost: float = 0.0
    """Seconds that a start after a stop takes."""
    mtbf: float = 0.0
    """Mean seconds between failures of a node; 0: none fails."""
    repair: float = 3600.0
    """Seconds until a node that failed is back."""
    window: int = 0
    """Most waiting jobs of a queue that the scheduler sees, the first by priority and submission;
    later ones are held back. 0: all."""
    jitter: float = 0.0
    """Submissions are moved by up to so many seconds, by chance."""
    horizon: float = 0.0
    """End after so many seconds; 0: when all jobs are done."""
    seed: int = 0
    """Seed of everything that happens by chance."""


class Simulation:
    """One trace on one cluster under one policy."""

    def __init__(
        self,
        trace: Trace,
        nodes: list[Node],
        queues: list[Queue],
        policy: Policy,
        settings: Settings | None = None,
    ) -> None:
        self._settings = settings = settings or Settings()
        self._chance = np.random.default_rng(settings.seed)
        self._jobs = _moved(trace.jobs, settings.jitter, self._chance)
        self._facts = JobFacts(kai=needs_kai(trace.jobs))
        self._nodes = {node.name: node for node in nodes}
        inventory = Inventory(
            nodes=dict(self._nodes),
            queues={queue.name: queue for queue in queues},
            priority_classes=priority_classes(trace.jobs),
        )
        self._backend = SimulatedCluster(inventory, now=EPOCH, between="recreate")
        self._scheduler = Scheduler(self._backend, policy)
        self._may_rest = all(entry.cls.needs_pending for entry in policy.actions)
        self._usage = Usage(trace.jobs, nodes, queues)
        self._record: Record = self._usage.record
        self._runs: dict[str, JobRun] = {}
        self._held: dict[str, list[tuple[int, float, str]]] = defaultdict(list)
        """By queue: jobs that the scheduler does not see yet."""
        self._waiting: Counter[str] = Counter()
        """By queue: jobs that the scheduler sees and that have not started yet."""
        self._owner: dict[str, str] = {}
        """By uid of a pod: its job."""
        self._events: list[tuple[float, int, str, Any]] = []
        self._sequence = 0
        self._pending = 0
        """How many pods wait."""
        self._cycle_at: float | None = None
        self._last_cycle = float("-inf")
        self._chain = 0
        self._fruitless = 0
        """How many cycles in a row decided nothing."""
        self._arrived = self._done = 0

    def run(self, progress: Progress | None = None) -> Record:
        """Replay the trace."""
        # The trace is not searched for garbage again and again.
        gc.freeze()
        try:
            with gc_paused():
                return self._run(progress)
        finally:
            gc.unfreeze()

    def _run(self, progress: Progress | None) -> Record:
        settings, record = self._settings, self._record
        for job in self._jobs:
            self._add_event(job.submit, "arrive", job)
        if settings.mtbf:
            for name in self._nodes:
                self._add_event(float(self._chance.exponential(settings.mtbf)), "fail", name)
        total, reported = len(self._jobs), 0
        while self._done < total:
            now = self._next_time()
            if now is None:
                break
            if settings.horizon and now > settings.horizon:
                record.end = settings.horizon
                break
            record.end = now
            self._handle_events(now)
            if self._cycle_at is not None and self._cycle_at <= now:
                self._cycle(now)
            if self._is_stuck():
                break
            if progress is not None and self._done - reported >= 100:
                reported = self._done
                progress(self._done, total)
        self._end_chain()
        self._scheduler.close()
        if progress is not None:
            progress(self._done, total)
        return record

    def _is_stuck(self) -> bool:
        """Whether jobs are left that will never run: nothing runs or comes, nothing is decided."""
        return (
            self._fruitless >= _FRUITLESS
            and self._arrived == len(self._jobs)
            and not any(run.running for run in self._runs.values())
        )

    # -- events

    def _add_event(self, time: float, kind: str, what: Any) -> None:
        self._sequence += 1
        heappush(self._events, (time, self._sequence, kind, what))

    def _next_time(self) -> float | None:
        times = [self._cycle_at] if self._cycle_at is not None else []
        if self._events:
            times.append(self._events[0][0])
        return min(times, default=None)

    def _handle_events(self, now: float) -> None:
        changed = False
        while self._events and self._events[0][0] <= now:
            _, _, kind, what = heappop(self._events)
            match kind:
                case "arrive":
                    changed = self._arrive(what, now) or changed
                case "end":
                    name, number = what
                    changed = self._finish(name, number, now) or changed
                case "fail":
                    self._fail(what, now)
                    changed = True
                case "join":
                    self._join(what, now)
                    changed = True
        if changed:
            self._end_chain()
            if self._pending or not self._may_rest:
                self._request_cycle(now)

    def _request_cycle(self, now: float) -> None:
        due = max(now, self._last_cycle + self._settings.period)
        if self._cycle_at is None or due < self._cycle_at:
            self._cycle_at = due

    def _arrive(self, job: TraceJob, now: float) -> bool:
        """A job is submitted; whether the scheduler sees it."""
        self._arrived += 1
        record = self._usage.submit(job, now)
        settings = self._settings
        self._runs[job.name] = JobRun(
            record,
            self._usage.queue_number(job.queue),
            checkpoint=settings.checkpoint,
            restart_cost=settings.restart_cost,
        )
        heappush(self._held[job.queue], (-job.priority, job.submit, job.name))
        return self._admit(job.queue)

    def _admit(self, queue: str) -> bool:
        """Show the scheduler the next jobs of a queue; whether there are any."""
        held, window = self._held[queue], self._settings.window
        admitted = False
        while held and (not window or self._waiting[queue] < window):
            self._show(self._runs[heappop(held)[2]].record.job)
            admitted = True
        return admitted

    def _show(self, job: TraceJob) -> None:
        self._waiting[job.queue] += 1
        created = EPOCH + job.submit
        pods = self._facts.pods(job, created)
        for pod in pods:
            self._owner[pod.uid] = job.name
        self._pending += job.pods
        self._backend.submit(self._facts.group(job, created), pods)

    def _finish(self, name: str, number: int, now: float) -> bool:
        run = self._runs.get(name)
        if run is None or run.number != number:
            return False
        run.update(now)
        del self._runs[name]
        job = run.record.job
        self._usage.finish(run, now)
        uids = [f"{name}-{i}" for i in range(job.pods)]
        self._pending -= job.pods - len(run.pods)
        for uid in uids:
            del self._owner[uid]
        self._backend.remove(f"trace/{name}", uids)
        self._done += 1
        return True

    def _fail(self, node: str, now: float) -> None:
        """A node fails: it is gone with the pods on it, which are made again."""
        settings = self._settings
        self._add_event(now + settings.repair, "join", node)
        self._usage.resize(self._nodes[node], now, -1)
        for uid in self._backend.lose(node):
            self._stop_pod(uid, now, failed=True)

    def _join(self, node: str, now: float) -> None:
        self._backend.join(self._nodes[node])
        self._usage.resize(self._nodes[node], now, 1)
        again = now + float(self._chance.exponential(self._settings.mtbf))
        self._add_event(again, "fail", node)

    # -- cycles

    def _cycle(self, now: float) -> None:
        self._cycle_at, self._last_cycle = None, now
        self._backend.set_time(EPOCH + now)
        self._backend.phases_changed = False
        decisions = self._scheduler.run_once()
        self._backend.advance()
        self._backend.history.clear()
        self._record.cycles += 1
        if self._record.cycles % _COLLECT_EVERY == 0:
            gc.collect(1 if self._record.cycles % _COLLECT_ALL_EVERY else 2)
        self._record.faults += len(decisions.faults)
        more = self._carry_out(decisions, now)
        decided = bool(decisions.binds or decisions.evictions)
        self._usage.sample(now)
        if decided:
            self._chain += 1
        if decided and self._chain >= _MOST_CYCLES:
            self._record.unsettled += 1
            self._end_chain()
            decided = False
        self._fruitless = 0 if decided else self._fruitless + 1
        if more:
            self._end_chain()
            self._cycle_at = now
        elif self._pending:
            soon = decided or self._backend.phases_changed
            self._cycle_at = now + (self._settings.period if soon else self._settings.recheck)

    def _end_chain(self) -> None:
        """Something came from outside: what follows is not owed to the decisions before."""
        if self._chain:
            self._record.chains.append(self._chain)
        self._chain = 0

    def _carry_out(self, decisions: Decisions, now: float) -> bool:
        """Start and stop pods; whether the scheduler now sees others where it left none waiting."""
        more = False
        touched: dict[str, JobRun] = {}
        if self._chain:
            self._record.late_evictions += len(decisions.evictions)
        for bind in decisions.binds:
            run = self._runs[self._owner[bind.uid]]
            run.pods[bind.uid] = bind.node
            self._pending -= 1
            self._usage.add_pod(run, bind.node, now, 1)
            touched[run.record.job.name] = run
        for uid, eviction in {e.uid: e for e in decisions.evictions}.items():
            name = self._owner.get(uid)
            if name is None or uid not in self._runs[name].pods:
                continue
            run = self._runs[name]
            claimant = eviction.claimant.partition("/")[2]
            self._record.evictions.append(
                EvictionRecord(now, name, run.record.job.queue, claimant, self._usage.of_pod(run))
            )
            if claimant in self._runs:
                self._record.claims[self._record.cycles, claimant] = self._runs[
                    claimant
                ].record.amount
            self._stop_pod(uid, now, failed=False)
            touched.pop(name, None)
        started = set()
        for run in touched.values():
            first = run.record.start is None
            self._foresee_end(run, now)
            if first and run.running:
                self._waiting[run.record.job.queue] -= 1
                started.add(run.record.job.queue)
        for queue in sorted(started):
            # Where jobs that it sees are left, there was no room for them: others come later.
            all_started = not self._waiting[queue]
            more = (self._admit(queue) and all_started) or more
        return more

    def _stop_pod(self, uid: str, now: float, *, failed: bool) -> None:
        run = self._runs[self._owner[uid]]
        node = run.pods.pop(uid)
        self._pending += 1
        self._usage.add_pod(run, node, now, -1)
        was_running = run.running
        self._foresee_end(run, now)
        if was_running and not run.running:
            if failed:
                run.record.failures += 1
            else:
                run.record.evictions += 1

    def _foresee_end(self, run: JobRun, now: float) -> None:
        end = run.update(now)
        if end is not None:
            self._add_event(end, "end", (run.record.job.name, run.number))


def _moved(jobs: list[TraceJob], jitter: float, chance: np.random.Generator) -> list[TraceJob]:
    if not jitter:
        return jobs
    moves = chance.uniform(0, jitter, len(jobs)).tolist()
    return [replace(job, submit=job.submit + by) for job, by in zip(jobs, moves, strict=True)]
