"""The jobs of a trace, whatever format it was read from."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from pumice.errors import PumiceError
from pumice.model.facts import Node, Queue
from pumice.model.gpu.request import GPU
from pumice.model.quantity import PODS

WHOLE_GPU_MILLI = 1000
MAX_PODS = 1000
"""Most pods of a node of which it is not known."""
MOST_PODS_OF_JOB = 100_000
"""A job of more pods is taken for a mistake."""


class TraceError(PumiceError):
    """A trace that cannot be replayed."""


@dataclass(slots=True, frozen=True)
class TraceJob:
    """One job: pods of the same request that run together for some time."""

    name: str
    """The name of the job; each job of a trace has another."""
    submit: float
    """Seconds since the start of the trace."""
    duration: float
    """Seconds that the job runs with all its pods."""
    queue: str = "default"
    """The queue that the job is submitted to."""
    pods: int = 1
    """How many pods it has."""
    min_pods: int = 0
    """How many of them must run together; 0: all."""
    cpu: float = 0.0
    """Milli-CPUs that a pod requests."""
    memory: float = 0.0
    """Bytes that a pod requests."""
    gpus: int = 0
    """Thousandths of GPUs that a pod requests; less than 1000 is a share of one GPU."""
    models: tuple[str, ...] = ()
    """GPU models that it accepts; empty: any."""
    priority: int = 0
    """Jobs of higher priority go first."""

    @property
    def minimum(self) -> int:
        """How many pods must run together."""
        return self.min_pods or self.pods


@dataclass(slots=True)
class Trace:
    """Jobs by the time of their submission, and the cluster where the trace knows it."""

    jobs: list[TraceJob] = field(default_factory=list)
    """The jobs in order of submission."""
    nodes: list[Node] = field(default_factory=list)
    """The nodes; empty: the trace does not say."""
    queues: list[Queue] = field(default_factory=list)
    """The queues; empty: the trace does not say."""
    problems: list[str] = field(default_factory=list)
    """Rows that were left out, and why."""

    @property
    def span(self) -> float:
        """Seconds from the first to the last submission."""
        return self.jobs[-1].submit - self.jobs[0].submit if self.jobs else 0.0


def ordered(jobs: list[TraceJob]) -> list[TraceJob]:
    """The jobs in order of submission, the first of them at 0."""
    if not jobs:
        return []
    first = min(job.submit for job in jobs)
    moved = (replace(job, submit=job.submit - first) if first else job for job in jobs)
    return sorted(moved, key=lambda job: (job.submit, job.name))


def node_scalars(gpus: int) -> dict[str, float]:
    """The pods and GPUs that a node takes, as amounts."""
    return {PODS: MAX_PODS, **({GPU: gpus * WHOLE_GPU_MILLI} if gpus else {})}


def gang_of(gpus: int, per_node: int = 8) -> tuple[int, int]:
    """Pods, and GPUs of each, of a job that takes whole GPUs: nodes are filled up."""
    if gpus <= per_node:
        return 1, gpus
    pods = -(-gpus // per_node)
    return (pods, per_node) if gpus % per_node == 0 else (gpus, 1)
