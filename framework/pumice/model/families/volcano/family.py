"""Volcano's rules: sub-jobs by policies, roles, preemptability of single tasks."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress

from pumice.model.dimensions import Dimensions
from pumice.model.facts import Inventory, Pod
from pumice.model.families.base import Family
from pumice.model.families.kai.pod_sets import constrain
from pumice.model.families.volcano.sub_jobs import copy_of, default_sub_job, sub_job_of
from pumice.model.gpu.request import count_whole_gpus
from pumice.model.job import Job, SubJob
from pumice.model.task import Task

_ROLE = "volcano.sh/task-spec"
_PRIORITY = "volcano.sh/task-priority"
_PREEMPTABLE = "volcano.sh/preemptable"
_REVOCABLE_ZONE = "volcano.sh/revocable-zone"


class Volcano(Family):
    default_priority = 0

    def __init__(self, *, beside_kai: bool = False) -> None:
        """``beside_kai``: the cluster has KAI jobs, so GPUs of any vendor are one resource."""
        self._beside_kai = beside_kai

    def takes(self, pod: Pod, scheduler_names: Collection[str]) -> bool:
        name = pod.scheduler_name
        return not scheduler_names or not name or name in scheduler_names

    def read_job(self, job: Job) -> None:
        group = job.group
        annotations, labels = group.annotations, group.labels
        if annotations or labels:
            preemptable = annotations.get(_PREEMPTABLE, labels.get(_PREEMPTABLE))
            job.preemptable = preemptable is not None and parse_bool(preemptable)
            job.revocable_zone = revocable_zone(annotations)
        job.network_topology = copy_of(group.network_topology)
        for policy in group.sub_group_policies:
            job.min_sub_jobs[f"{job.uid}/{policy.name}"] = policy.min_sub_groups or 0
        if not group.sub_group_policies:
            sub_job = default_sub_job(job)
            # Volcano's own pod groups have none; those of the other API groups may.
            if group.topology_constraint:
                constrain(job, sub_job, group.topology_constraint)

    def read_task(self, task: Task, inventory: Inventory, dimensions: Dimensions) -> None:
        pod = task.pod
        task.best_effort = pod.request.is_empty()
        if pod.priority is not None:
            task.priority = pod.priority
        if self._beside_kai:
            task.gpu, task.vector = count_whole_gpus(pod, task.vector, dimensions)
        annotations, labels = pod.annotations, pod.labels
        if labels:
            if _ROLE in labels:
                task.role = labels[_ROLE]
            if _PREEMPTABLE in labels:
                task.preemptable = parse_bool(labels[_PREEMPTABLE])
        if annotations:
            task.role = annotations.get(_ROLE) or task.role
            if _PRIORITY in annotations:
                with suppress(ValueError):
                    task.priority = int(annotations[_PRIORITY])
            if _PREEMPTABLE in annotations:
                task.preemptable = parse_bool(annotations[_PREEMPTABLE])
                task.revocable_zone = revocable_zone(annotations)
            elif _REVOCABLE_ZONE in annotations:
                task.revocable_zone = revocable_zone(annotations)

    def sub_job(self, job: Job, pod: Pod) -> SubJob | None:
        if job.group.sub_group_policies:
            return sub_job_of(job, pod)
        return job.sub_jobs.get(job.uid) or default_sub_job(job)

    def joined(self, job: Job, task: Task) -> None:
        if not task.preemptable:
            job.spared = True


def parse_bool(text: str) -> bool:
    """A boolean as Go's ``strconv.ParseBool`` reads it; anything else is false."""
    return text in ("1", "t", "T", "true", "TRUE", "True")


def revocable_zone(annotations: Mapping[str, str]) -> str:
    """``*`` where the object may run on revocable nodes, else empty."""
    zone = annotations.get(_REVOCABLE_ZONE)
    if zone is not None:
        return "*" if zone == "*" else ""
    return "*" if parse_bool(annotations.get(_PREEMPTABLE, "")) else ""
