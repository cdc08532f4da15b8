"""What is measured, for Prometheus."""

from __future__ import annotations

from collections import Counter as Count
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from pumice import CycleTelemetry, Decisions, QueueUsage
from pumice_kubernetes import metric_names as names
from pumice_kubernetes.metric_names import Name

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
_OPEN = "OnSessionOpen"
"""Volcano's and KAI's label of the time that a plugin takes when a session is opened."""


class Metrics:
    """The metrics of one backend."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self.apply_seconds = self._make(names.APPLY)
        self.binds = self._make(names.BINDS)
        self.evictions = self._make(names.EVICTIONS)
        self.faults = self._make(names.FAULTS)
        self.leader = self._make(names.LEADER)
        self._jobs = self._make(names.JOBS)
        self._pending = self._make(names.PENDING_TASKS)
        self._waiting = self._make(names.PENDING_JOBS)
        self._waiting_count = self._make(names.WAITING)
        self._times = {
            name: [(one, self._make(one)) for one in (name, *names.SAME_TIME[name])]
            for name in (names.CYCLE, names.ACTION, names.PLUGIN)
        }
        self._amounts = self._make(names.QUEUE_RESOURCE)
        self._shares = [self._make(one) for one in (names.QUEUE_SHARE, names.SHARE)]
        self._weight = self._make(names.WEIGHT)
        self._same_amounts = [
            (one, self._make(Name(one.name, "gauge", one.amount, ("queue_name",))))
            for one in names.QUEUE
        ]

    def _make(self, name: Name) -> Any:
        if name.kind == "counter":
            return Counter(name.name, name.help, name.labels, registry=self._registry)
        if name.kind == "gauge":
            return Gauge(name.name, name.help, name.labels, registry=self._registry)
        buckets = [round(bound * name.scale, 6) for bound in _SECONDS]
        return Histogram(
            name.name, name.help, name.labels, buckets=buckets, registry=self._registry
        )

    def took(self, name: Name, seconds: float, *labels: str) -> None:
        """Record a time under all its names; the last label may be Volcano's own."""
        for one, metric in self._times[name]:
            child = metric.labels(*labels[: len(one.labels)]) if one.labels else metric
            record = child.set if one.kind == "gauge" else child.observe
            record(seconds * one.scale)

    def take(self, decisions: Decisions) -> None:
        """Count the jobs and faults of a cycle."""
        for fault in decisions.faults:
            self.faults.labels(fault.name, fault.hook).inc(fault.count)
        for gauge in (self._jobs, self._pending, self._waiting):
            gauge.clear()
        phases = Count((state.queue, state.phase) for state in decisions.jobs)
        for (queue, phase), number in phases.items():
            self._jobs.labels(queue, phase).set(number)
        waiting = Count((state.queue, state.code) for state in decisions.jobs if state.reason)
        for (queue, code), number in waiting.items():
            self._waiting.labels(queue, code).set(number)
        self._waiting_count.set(waiting.total())
        pending: Count[str] = Count()
        for state in decisions.jobs:
            pending[state.queue] += state.pending
        for queue, number in pending.items():
            self._pending.labels(queue).set(number)

    def measured(self, telemetry: CycleTelemetry) -> None:
        """Record the times of a cycle and the queues at its end."""
        for action, seconds in telemetry.actions.items():
            self.took(names.ACTION, seconds, action)
        for plugin, seconds in telemetry.plugins.items():
            self.took(names.PLUGIN, seconds, plugin, _OPEN)
        for gauge in (self._amounts, self._weight, *self._shares):
            gauge.clear()
        for _, gauge in self._same_amounts:
            gauge.clear()
        for usage in telemetry.queues:
            self._queue(usage)

    def _queue(self, usage: QueueUsage) -> None:
        for amount, by_resource in usage.amounts.items():
            for resource, value in by_resource.items():
                self._amounts.labels(usage.queue, resource, amount).set(value)
        for one, gauge in self._same_amounts:
            held = usage.amounts[one.amount].get(one.resource)
            if held is not None:
                gauge.labels(usage.queue).set(held * one.scale)
        self._weight.labels(usage.queue).set(usage.weight)
        if usage.share is not None:
            for gauge in self._shares:
                gauge.labels(usage.queue).set(usage.share)

    def text(self) -> bytes:
        """The metrics in Prometheus' format."""
        return generate_latest(self._registry)
