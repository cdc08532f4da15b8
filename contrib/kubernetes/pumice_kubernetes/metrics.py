"""What is measured, for Prometheus."""

from __future__ import annotations

from collections import Counter as Count

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from pumice import Decisions

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)


class Metrics:
    """The metrics of one backend."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self.cycle_seconds = Histogram(
            "pumice_cycle_seconds",
            "Time to decide one cycle.",
            buckets=_SECONDS,
            registry=self._registry,
        )
        self.apply_seconds = Histogram(
            "pumice_apply_seconds",
            "Time to carry out the decisions of one cycle.",
            buckets=_SECONDS,
            registry=self._registry,
        )
        self.binds = Counter(
            "pumice_binds", "Binds that were sent.", ["result"], registry=self._registry
        )
        self.evictions = Counter(
            "pumice_evictions",
            "Evictions that were sent.",
            ["action", "result"],
            registry=self._registry,
        )
        self.faults = Counter(
            "pumice_faults", "Faults of plugins and actions.", registry=self._registry
        )
        self.leader = Gauge(
            "pumice_leader", "1 while this process holds the lease.", registry=self._registry
        )
        self._jobs = Gauge(
            "pumice_jobs", "Jobs by queue and phase.", ["queue", "phase"], registry=self._registry
        )
        self._pending = Gauge(
            "pumice_pending_tasks", "Pending tasks by queue.", ["queue"], registry=self._registry
        )

    def take(self, decisions: Decisions) -> None:
        """Count the jobs and faults of a cycle."""
        self.faults.inc(len(decisions.faults))
        self._jobs.clear()
        self._pending.clear()
        phases = Count((state.queue, state.phase) for state in decisions.jobs)
        for (queue, phase), number in phases.items():
            self._jobs.labels(queue, phase).set(number)
        for state in decisions.jobs:
            self._pending.labels(state.queue).inc(state.pending)

    def text(self) -> bytes:
        """The metrics in Prometheus' format."""
        return generate_latest(self._registry)
