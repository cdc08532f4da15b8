"""KAI's rules: pod sets, shares of GPUs, preemptibility of whole jobs."""

from __future__ import annotations

from collections.abc import Collection

from pumice.model.dimensions import Dimensions
from pumice.model.facts import Inventory, Pod
from pumice.model.families.base import Family
from pumice.model.families.kai.pod_sets import pod_set_of, read_kai_job
from pumice.model.families.kai.tasks import read_kai_task
from pumice.model.job import Job, SubJob
from pumice.model.task import Task, TaskStatus


class Kai(Family):
    default_priority = 50
    not_on_a_node = Family.not_on_a_node | {TaskStatus.UNKNOWN}

    def takes(self, pod: Pod, scheduler_names: Collection[str]) -> bool:
        return True

    def read_job(self, job: Job) -> None:
        job.heeds_preemption_policy = False
        job.takes_foreign_pods = True
        read_kai_job(job)

    def read_task(self, task: Task, inventory: Inventory, dimensions: Dimensions) -> None:
        read_kai_task(task, dimensions, inventory)

    def sub_job(self, job: Job, pod: Pod) -> SubJob | None:
        return pod_set_of(job, pod)

    def joined(self, job: Job, task: Task) -> None:
        task.preemptable = job.preemptible
