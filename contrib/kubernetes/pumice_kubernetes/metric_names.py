"""The names of all metrics, and which of Volcano's and KAI's names mean the same."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["counter", "gauge", "histogram"]


@dataclass(frozen=True, slots=True)
class Name:
    """A metric."""

    name: str
    """Without the suffix ``_total`` of a counter."""
    kind: Kind
    help: str
    labels: tuple[str, ...] = ()
    scale: float = 1.0
    """What a value in seconds, cores or bytes is multiplied with."""


@dataclass(frozen=True, slots=True)
class QueueName:
    """A gauge of what a queue has of one resource."""

    name: str
    amount: str
    """Which of the amounts of a queue."""
    resource: str
    scale: float = 1.0


CYCLE = Name("pumice_cycle_seconds", "histogram", "Time to decide one cycle.")
APPLY = Name("pumice_apply_seconds", "histogram", "Time to carry out the decisions of one cycle.")
ACTION = Name("pumice_action_seconds", "histogram", "Time of an action in a cycle.", ("action",))
PLUGIN = Name(
    "pumice_plugin_seconds", "histogram", "Time of a plugin to open a session.", ("plugin",)
)
BINDS = Name("pumice_binds", "counter", "Binds that were sent.", ("result",))
EVICTIONS = Name(
    "pumice_evictions", "counter", "Evictions that were sent.", ("action", "reason", "result")
)
FAULTS = Name("pumice_faults", "counter", "Faults of plugins and actions.", ("plugin", "hook"))
LEADER = Name("pumice_leader", "gauge", "1 while this process holds the lease.")
JOBS = Name("pumice_jobs", "gauge", "Jobs by queue and phase.", ("queue", "phase"))
PENDING_TASKS = Name("pumice_pending_tasks", "gauge", "Pending tasks by queue.", ("queue",))
PENDING_JOBS = Name(
    "pumice_pending_jobs", "gauge", "Jobs that wait, by reason code.", ("queue", "code")
)
QUEUE_RESOURCE = Name(
    "pumice_queue_resource",
    "gauge",
    "allocated, request, deserved, fair_share and limit of a queue, in cores, bytes and devices.",
    ("queue", "resource", "amount"),
)
QUEUE_SHARE = Name(
    "pumice_queue_share", "gauge", "Largest part of a deserved resource in use.", ("queue",)
)

OWN = (
    CYCLE, APPLY, ACTION, PLUGIN, BINDS, EVICTIONS, FAULTS, LEADER, JOBS, PENDING_TASKS,
    PENDING_JOBS, QUEUE_RESOURCE, QUEUE_SHARE,
)  # fmt: skip

_KINDS: tuple[tuple[str, Kind], ...] = (("volcano", "histogram"), ("kai", "gauge"))


def _latency(of: Name, what: str, *labels: str) -> tuple[Name, ...]:
    return tuple(
        Name(f"{family}_{what}_scheduling_latency_milliseconds", kind, of.help, labels, 1000)
        for family, kind in _KINDS
    )


SAME_TIME = {
    CYCLE: _latency(CYCLE, "e2e"),
    ACTION: _latency(ACTION, "action", "action"),
    PLUGIN: _latency(PLUGIN, "plugin", "plugin", "OnSession"),
}
"""Times under other names: Volcano's are histograms, KAI's gauges with the last value."""

WAITING = Name("volcano_unschedule_job_count", "gauge", "Jobs that wait.")
WEIGHT = Name("volcano_queue_weight", "gauge", "Weight of a queue.", ("queue_name",))
SHARE = Name("volcano_queue_share", "gauge", QUEUE_SHARE.help, ("queue_name",))

_GPU = "nvidia.com/gpu"
QUEUE = (
    *(
        QueueName(f"volcano_queue_{amount}_{unit}", amount, resource, scale)
        for amount in ("allocated", "request", "deserved")
        for unit, resource, scale in (("milli_cpu", "cpu", 1000.0), ("memory_bytes", "memory", 1.0))
    ),
    QueueName("kai_queue_allocated_gpus", "allocated", _GPU),
    QueueName("kai_queue_allocated_cpu_cores", "allocated", "cpu"),
    QueueName("kai_queue_allocated_memory_bytes", "allocated", "memory"),
    QueueName("kai_queue_deserved_gpus", "deserved", _GPU),
    QueueName("kai_queue_quota_cpu_cores", "deserved", "cpu"),
    QueueName("kai_queue_quota_memory_bytes", "deserved", "memory"),
    QueueName("kai_queue_fair_share_gpu", "fair_share", _GPU),
    QueueName("kai_queue_fair_share_cpu_cores", "fair_share", "cpu"),
    QueueName("kai_queue_fair_share_memory_gb", "fair_share", "memory", 1e-9),
)
"""Amounts of queues under other names, with the label ``queue_name``."""


def all_names() -> list[str]:
    """Every name as Prometheus shows it."""
    others = [name for names in SAME_TIME.values() for name in names]
    plain = [
        f"{one.name}_total" if one.kind == "counter" else one.name
        for one in (*OWN, *others, WAITING, WEIGHT, SHARE)
    ]
    return [*plain, *(one.name for one in QUEUE)]
