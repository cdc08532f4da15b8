"""The decisions of a cycle, for the backend that carries them out and for programs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True, frozen=True)
class Bind:
    task: str
    """``namespace/name``."""
    uid: str
    node: str
    annotations: dict[str, str] = field(default_factory=dict, hash=False)
    gpu_groups: tuple[str, ...] = ()
    """The GPU groups, one for each shared GPU, that it joins."""


@dataclass(slots=True, frozen=True)
class Eviction:
    task: str
    uid: str
    node: str
    action: str
    claimant: str
    """The job (``namespace/name``) that gains; empty where there is none."""
    reason: str


@dataclass(slots=True, frozen=True)
class Promise:
    """A pipelined task: it waits for resources that are being released on a node."""

    task: str
    uid: str
    node: str
    eviction_occurred: bool = False


@dataclass(slots=True, frozen=True)
class JobState:
    job: str
    queue: str
    phase: str
    ready: int
    pending: int
    reason: str
    counted_phase: str = ""
    """The phase by the statuses of the tasks alone, which is what scenarios expect. ``phase`` is
    Unknown for a running job that is Unschedulable now."""
    conditions: tuple[dict[str, Any], ...] = field(default=(), hash=False)
    last_start: float | None = None
    """Epoch seconds at which the job last went from nothing to running, where it is recorded."""
    stale_since: float | None = None
    """Epoch seconds since when the gang has been below its minimum, where it is recorded."""


@dataclass(slots=True)
class Decisions:
    """One cycle's outcome, in the order in which it was decided."""

    binds: list[Bind] = field(default_factory=list)
    pipelined: list[Promise] = field(default_factory=list)
    evictions: list[Eviction] = field(default_factory=list)
    jobs: list[JobState] = field(default_factory=list)
    task_states: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Task ``namespace/name`` → (status, node) at the end of the cycle."""

    def as_json(self) -> dict[str, Any]:
        """The stable shape of ``pumice run -o json``."""
        return {
            "binds": [{"task": b.task, "node": b.node} for b in self.binds],
            "pipelined": [{"task": p.task, "node": p.node} for p in self.pipelined],
            "evictions": [
                {
                    "task": e.task,
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
                    "reason": j.reason,
                }
                for j in self.jobs
            ],
        }
