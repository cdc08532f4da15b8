"""What past evictions leave for later cycles: reservations, and who took resources from whom."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(slots=True, frozen=True)
class ReservedTask:
    """A task that resources are held for."""

    uid: str
    """The pod's uid."""
    node: str
    """The node on which the resources are held."""
    gpu_groups: tuple[str, ...] = ()
    """The GPU groups, one for each shared GPU, that it joins."""
    role: str = ""
    """Its role in the job: a new pod of the same role may take its place."""


@dataclass(slots=True, frozen=True)
class Reservation:
    """Resources that were freed by evictions and are held for one job."""

    job: str
    """The uid of the job."""
    tasks: tuple[ReservedTask, ...]
    """Where its tasks will run."""
    deadline: float
    """Epoch seconds at which the reservation ends."""
    generation: int = 1
    """Grows with every change of the reservation."""


@dataclass(slots=True, frozen=True)
class PastEviction:
    """An eviction that is remembered so that it is not reversed."""

    claimant: str
    """The uid of the job that gained."""
    victim: str
    """The uid of the job that lost tasks."""
    time: float
    """Epoch seconds of the eviction."""
    demand: str = ""
    """Stands for the jobs, queues and nodes at that time."""


@dataclass(slots=True, frozen=True)
class EvictionLog:
    """What a snapshot knows of past evictions. A backend stores that of the last decisions."""

    reservations: Mapping[str, Reservation] = field(default_factory=dict)
    """By job uid."""
    past: tuple[PastEviction, ...] = ()
    """The evictions that are remembered."""
    failed: Mapping[str, str] = field(default_factory=dict)
    """Jobs whose reservation came to nothing → the demand at that time."""

    def __bool__(self) -> bool:
        return bool(self.reservations or self.past or self.failed)
