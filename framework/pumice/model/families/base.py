"""What differs between the families of schedulers: how facts become jobs and tasks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection
from typing import TYPE_CHECKING, Literal

from pumice.model.task import COMPLETED_STATUSES, TaskStatus

if TYPE_CHECKING:
    from pumice.model.dimensions import Dimensions
    from pumice.model.facts import Inventory, Pod
    from pumice.model.job import Job, SubJob
    from pumice.model.task import Task

FamilyName = Literal["volcano", "kai"]
_NOT_ON_A_NODE = COMPLETED_STATUSES | {TaskStatus.PENDING}


class Family(ABC):
    """The rules of one family. There is one object per family and cluster."""

    default_priority: int
    """Of jobs without a priority class, where no class is the global default."""
    not_on_a_node: frozenset[TaskStatus] = _NOT_ON_A_NODE
    """Statuses in which a task does not count on the node that it names."""

    @abstractmethod
    def takes(self, pod: Pod, scheduler_names: Collection[str]) -> bool:
        """Whether a pod of one of the family's groups becomes a task of its job."""

    @abstractmethod
    def read_job(self, job: Job) -> None:
        """Set what the pod group says beside the common facts: sub-jobs, preemptibility."""

    @abstractmethod
    def read_task(self, task: Task, inventory: Inventory, dimensions: Dimensions) -> None:
        """Set what the pod says beside the common facts: GPUs, priority, preemptibility."""

    @abstractmethod
    def sub_job(self, job: Job, pod: Pod) -> SubJob | None:
        """The sub-job that a pod belongs to; None: the job ignores the pod."""

    @abstractmethod
    def joined(self, job: Job, task: Task) -> None:
        """A task has joined its job."""
