"""The decisions of a cycle, for the backend that carries them out and for programs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pumice.faults import Fault
from pumice.model.facts import EvictionLog


@dataclass(slots=True, frozen=True)
class Bind:
    """A task that starts on a node."""

    task: str
    """``namespace/name``."""
    uid: str
    """The pod's uid."""
    node: str
    """The name of the node."""
    annotations: dict[str, str] = field(default_factory=dict, hash=False)
    """What ``bind_request_mutate`` and the bind context add to the bind request."""
    gpu_groups: tuple[str, ...] = ()
    """The GPU groups, one for each shared GPU, that it joins."""
    job: str = ""
    """The job (``namespace/name``) that the task belongs to."""


@dataclass(slots=True, frozen=True)
class Eviction:
    """A task that loses its place."""

    task: str
    """``namespace/name``."""
    uid: str
    """The pod's uid."""
    node: str
    """The node that the task leaves."""
    action: str
    """The action that decided it."""
    claimant: str
    """The job (``namespace/name``) that gains; empty where there is none."""
    reason: str
    """Why, for a person."""
    job: str = ""
    """The job (``namespace/name``) that the task belongs to."""


@dataclass(slots=True, frozen=True)
class PipelinedTask:
    """A task that waits for resources which are being released on a node."""

    task: str
    """``namespace/name``."""
    uid: str
    """The pod's uid."""
    node: str
    """The node that the task waits for."""
    eviction_occurred: bool = False
    """Whether tasks were evicted to free the resources."""
    gpu_groups: tuple[str, ...] = ()
    """The GPU groups, one for each shared GPU, that it will join."""
    job: str = ""
    """The job (``namespace/name``) that the task belongs to."""


@dataclass(slots=True, frozen=True)
class JobState:
    """A job at the end of the cycle."""

    job: str
    """``namespace/name``."""
    queue: str
    """The name of its queue."""
    phase: str
    """The phase of its pod group."""
    ready: int
    """How many tasks are placed or done."""
    pending: int
    """How many tasks are pending."""
    reason: str
    """Why the job waits, for a person; empty if it does not."""
    counted_phase: str = ""
    """The phase by the statuses of the tasks alone, which is what scenarios expect. ``phase`` is
    Unknown for a running job that is Unschedulable now."""
    conditions: tuple[dict[str, Any], ...] = field(default=(), hash=False)
    """Conditions of the pod group: those that plugins set, and ``Waiting`` with the reason."""
    last_start: float | None = None
    """Epoch seconds at which the job last went from nothing to running, where it is recorded."""
    stale_since: float | None = None
    """Epoch seconds since when the gang has been below its minimum, where it is recorded."""
    code: str = ""
    """The reason code of ``reason`` (``pumice explain --code CODE``); empty if it waits for
    nothing."""


@dataclass(slots=True)
class Decisions:
    """One cycle's outcome, in the order in which it was decided."""

    binds: list[Bind] = field(default_factory=list)
    """Tasks that start now."""
    pipelined: list[PipelinedTask] = field(default_factory=list)
    """Tasks that wait for resources which are being freed."""
    evictions: list[Eviction] = field(default_factory=list)
    """Tasks that lose their place."""
    jobs: list[JobState] = field(default_factory=list)
    """Every job at the end of the cycle."""
    task_states: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Task ``namespace/name`` → (status, node) at the end of the cycle."""
    faults: list[Fault] = field(default_factory=list)
    """What plugins and actions did wrong, each fault once."""
    set_aside: tuple[str, ...] = ()
    """Plugins that took no part because of faults in earlier cycles."""

    eviction_log: EvictionLog = field(default_factory=EvictionLog)
    """What the evictions of this and earlier cycles leave for later ones; a backend that stores it
    gives it back in its next snapshot."""

    def as_json(self) -> dict[str, Any]:
        """The stable shape of ``pumice run -o json``."""
        return {
            "binds": [_placed(bind) for bind in self.binds],
            "pipelined": [_placed(task) for task in self.pipelined],
            "evictions": [
                {
                    "task": e.task,
                    "job": e.job,
                    "node": e.node,
                    "action": e.action,
                    "for": e.claimant,
                    "reason": e.reason,
                }
                for e in self.evictions
            ],
            "jobs": [
                {
                    "job": j.job,
                    "queue": j.queue,
                    "phase": j.phase,
                    "ready": j.ready,
                    "pending": j.pending,
                    "code": j.code,
                    "reason": j.reason,
                    "conditions": list(j.conditions),
                }
                for j in self.jobs
            ],
            "faults": [fault.as_json() for fault in self.faults],
            "set_aside": list(self.set_aside),
        }


def _placed(task: Bind | PipelinedTask) -> dict[str, Any]:
    return {
        "task": task.task,
        "job": task.job,
        "node": task.node,
        "gpu_groups": list(task.gpu_groups),
    }
