"""A task: one pod as a session sees and changes it."""

from __future__ import annotations

import enum
import json
from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from pumice.model.gpu.request import NO_GPU, GpuRequest

if TYPE_CHECKING:
    from pumice.model.facts import Pod
    from pumice.model.job import Job, SubJob
    from pumice.model.resources import Resource


class TaskStatus(enum.IntEnum):
    """The status of a task in a session."""

    PENDING = 0
    ALLOCATED = 1
    """Placed, the bind is not sent yet."""
    PIPELINED = 2
    """Waits on a node for resources that are being released."""
    BINDING = 3
    BOUND = 4
    RUNNING = 5
    RELEASING = 6
    """Being evicted or deleted; its resources become idle later."""
    SUCCEEDED = 7
    FAILED = 8
    UNKNOWN = 9

    @property
    def label(self) -> str:
        """The status as it is printed."""
        return STATUS_LABELS[self]


_S = TaskStatus
STATUS_LABELS = tuple(status.name.capitalize() for status in TaskStatus)
"""By status value: the status as it is printed."""
ALLOCATED_STATUSES = frozenset({_S.BOUND, _S.BINDING, _S.RUNNING, _S.ALLOCATED})
"""Statuses of a task that holds its request on a node."""
PLACED_STATUSES = (_S.ALLOCATED, _S.PIPELINED)
"""Statuses of a task that this session has placed and not bound yet."""
ACTIVE_STATUSES = (*PLACED_STATUSES, _S.BINDING, _S.BOUND, _S.RUNNING)
"""Statuses of a task that holds its request on a node or is pipelined to one."""
USED_STATUSES = (*ACTIVE_STATUSES, _S.RELEASING)
"""The active statuses, and that of a task which is being evicted or deleted."""
COMPLETED_STATUSES = frozenset({_S.SUCCEEDED, _S.FAILED})
"""Statuses of a task that has ended."""
READY_STATUSES = ALLOCATED_STATUSES | {_S.SUCCEEDED}
"""Statuses of a task that counts towards the minimum of a ready gang."""
VALID_STATUSES = READY_STATUSES | {_S.PIPELINED, _S.PENDING}
"""Statuses of a task that could still count towards the minimum of its gang."""
SCHEDULED_STATUSES = frozenset({_S.RUNNING, _S.BOUND, _S.FAILED, _S.SUCCEEDED})
"""Statuses of a task that has been bound to a node."""
PREEMPTABLE_STATUSES = frozenset({_S.BOUND, _S.RUNNING})
"""Statuses of a task that may be a victim of preemption."""
IS_ALLOCATED = tuple(status in ALLOCATED_STATUSES for status in TaskStatus)
"""By status value: whether the task holds its request (the hot form of the set above)."""

IS_READY = tuple(status in READY_STATUSES for status in TaskStatus)
"""By status value: whether the task counts towards the minimum of a ready gang."""

_NO_CONSTRAINTS: Hashable = ()
CPU_AND_MEMORY = (0, 1)


class Transaction:
    """Where a task stood when a statement that had placed it was taken back."""

    __slots__ = ("eviction_occurred", "node", "status")

    def __init__(self, status: TaskStatus, node: str, eviction_occurred: bool) -> None:
        self.status = status
        self.node = node
        self.eviction_occurred = eviction_occurred


class Task:
    """One canonical object per uid and session; only the session and its statements change it."""

    __slots__ = (
        "_constraints",
        "best_effort",
        "class_id",
        "compared",
        "created",
        "eviction_occurred",
        "gated",
        "gpu",
        "gpu_groups",
        "initial",
        "job",
        "job_hyper_node",
        "key",
        "last_transaction",
        "name",
        "namespace",
        "node",
        "nominated_node",
        "pod",
        "preemptable",
        "priority",
        "request",
        "revocable_zone",
        "role",
        "state",
        "status",
        "sub_job",
        "uid",
        "vector",
        "virtual",
    )

    def __init__(self, pod: Pod, status: TaskStatus, vector: np.ndarray) -> None:
        self.pod = pod
        """The pod as the cluster reports it."""
        self.uid = pod.uid
        """The pod's uid."""
        self.name = pod.name
        """The pod's name."""
        self.namespace = pod.namespace
        """The pod's namespace."""
        self.key = f"{pod.namespace}/{pod.name}"
        """``namespace/name``."""
        self.created = pod.created
        """Epoch seconds of the pod's creation."""
        self.request: Resource = pod.request
        """The effective request."""
        self.vector = vector
        """The request as integers, in the order of the cluster's dimensions."""
        self.status = status
        """The status in this session."""
        self.node = pod.node_name
        """The name of its node; empty: none."""
        self.nominated_node = pod.nominated_node
        """The node that an earlier cycle chose for it."""
        self.job: Job | None = None
        """The job that it belongs to; None: none."""
        self.sub_job: SubJob | None = None
        """The part of the job that it belongs to."""
        self.role = ""
        """Its role in the job (Volcano's task spec)."""
        self.priority = 1
        """The pod's priority."""
        self.preemptable = True
        """Whether it may be a victim of preemption (Volcano's mark)."""
        self.best_effort = False
        """Whether it requests nothing."""
        self.gated = bool(pod.gates)
        """Whether scheduling gates hold it back."""
        self.revocable_zone = ""
        """The revocable zone that it may use (Volcano's tdm)."""
        self.eviction_occurred = False
        """Whether tasks were evicted so that it could be pipelined."""
        self.job_hyper_node = ""
        """Hypernode of the tasks of this job placed so far, while this one is being placed."""
        self.last_transaction: Transaction | None = None
        """Where it was when a statement that had placed it was undone."""
        self._constraints: Hashable = None
        self.compared: tuple[int, ...] = CPU_AND_MEMORY
        """Dimensions that are compared with a node even where the task requests nothing."""
        self.class_id = -1
        """Session's number for tasks that ask the same; -1 until first asked."""
        self.gpu: GpuRequest = NO_GPU
        """Its GPU request, where its family distinguishes shares of GPUs from whole ones."""
        self.gpu_groups: tuple[str, ...] = ()
        """The groups of pods with which it shares devices."""
        self.virtual = False
        """Whether its status is that of an operation which has not been committed."""
        self.state: dict[str, Any] = {}
        """Per-plugin notes for this cycle, by plugin name (what pre_predicate prepared)."""
        self.initial: tuple[Any, ...] = ()
        """Its state when the cycle began, see :mod:`pumice.model.incremental.restore`."""

    @property
    def labels(self) -> Mapping[str, str]:
        """The pod's labels."""
        return self.pod.labels

    @property
    def annotations(self) -> Mapping[str, str]:
        """The pod's annotations."""
        return self.pod.annotations

    @property
    def constraints(self) -> Hashable:
        """What it asks of a node besides resources, as a value to compare by."""
        if self._constraints is None:
            self._constraints = constraints_key(self.pod)
        return self._constraints

    @property
    def queue(self) -> str:
        """The name of its job's queue; empty without a job."""
        return self.job.queue if self.job is not None else ""

    def __repr__(self) -> str:
        where = f" on {self.node}" if self.node else ""
        return f"<task {self.key} {self.status.label}{where}>"


def constraints_key(pod: Pod) -> Hashable:
    """What a pod asks of a node besides resources, as a value to compare by."""
    if not (
        pod.node_selector
        or pod.affinity
        or pod.tolerations
        or pod.topology_spread
        or pod.host_ports
        or pod.volumes
        or pod.resource_claims
    ):
        return _NO_CONSTRAINTS
    return json.dumps(
        [
            dict(pod.node_selector),
            pod.affinity,
            list(pod.tolerations),
            list(pod.topology_spread),
            list(pod.host_ports),
            list(pod.volumes),
            list(pod.resource_claims),
            pod.namespace,
        ],
        sort_keys=True,
        default=str,
    )
