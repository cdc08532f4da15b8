"""What a simulation records: jobs, evictions and how amounts change over time."""

from __future__ import annotations

from dataclasses import dataclass, field

from pumice.traces.trace import TraceJob


@dataclass(slots=True)
class JobRecord:
    """What became of one job. Times are seconds since the start of the trace."""

    job: TraceJob
    """The job of the trace."""
    amount: float
    """GPUs that it takes with all its pods, or CPUs where the cluster has no GPUs."""
    start: float | None = None
    """When it first ran with its minimum; None: never."""
    finish: float | None = None
    """When it was done; None: not within the simulation."""
    evictions: int = 0
    """How often it was stopped by evictions."""
    failures: int = 0
    """How often it was stopped because a node failed."""
    lost: float = 0.0
    """Seconds of work that had to be done again, and of restarts."""

    @property
    def delay(self) -> float | None:
        """Seconds from its submission to its first start."""
        return None if self.start is None else self.start - self.job.submit

    @property
    def jct(self) -> float | None:
        """Seconds from its submission to its end."""
        return None if self.finish is None else self.finish - self.job.submit


@dataclass(slots=True)
class EvictionRecord:
    """One pod that was evicted."""

    time: float
    """When."""
    job: str
    """The job that lost it."""
    queue: str
    """The queue of that job."""
    claimant: str
    """The job that gained; empty: none."""
    amount: float
    """GPUs, or CPUs, of the pod."""


@dataclass(slots=True)
class Record:
    """Everything that measures and reports are made of."""

    unit: str = "GPU"
    """What amounts count: ``GPU`` or ``CPU``."""
    jobs: list[JobRecord] = field(default_factory=list)
    """All jobs in order of submission."""
    queues: list[str] = field(default_factory=list)
    """The names of the queues."""
    deserved: list[float] = field(default_factory=list)
    """Of each queue: what it is entitled to."""
    evictions: list[EvictionRecord] = field(default_factory=list)
    """Pods that were evicted, in order."""
    used: list[tuple[float, int, float]] = field(default_factory=list)
    """Changes of what a queue uses: time, number of the queue, amount more."""
    demand: list[tuple[float, int, float]] = field(default_factory=list)
    """Changes of what the unfinished jobs of a queue request, in the same form."""
    capacity: list[tuple[float, float]] = field(default_factory=list)
    """Changes of the size of the cluster: time, amount more."""
    fragments: list[tuple[float, float, float]] = field(default_factory=list)
    """Time, free amount, and the expected part of it that a pod of the trace cannot use."""
    claims: dict[tuple[int, str], float] = field(default_factory=dict)
    """By cycle and claimant: what the job for which pods were evicted requests."""
    cycles: int = 0
    """How many cycles the scheduler ran."""
    chains: list[int] = field(default_factory=list)
    """After each change from outside that led to decisions: cycles until nothing was decided."""
    late_evictions: int = 0
    """Evictions in the second and later cycles after a change from outside."""
    unsettled: int = 0
    """How often decisions went on and on without a change from outside."""
    faults: int = 0
    """Faults of plugins and actions."""
    end: float = 0.0
    """When the last event happened."""
