"""The cluster of one cycle: tasks, jobs and the node table, built from an inventory."""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from pumice.labels import matches_selector
from pumice.model.dimensions import Dimensions
from pumice.model.facts import Inventory, NetworkTopology, Pod, PodGroup, Queue
from pumice.model.gpu_request import GPU
from pumice.model.job import Job, SubJob
from pumice.model.kai_nodes import describe_kai_nodes, is_kai
from pumice.model.kai_task import describe_kai_task, describe_whole_gpus
from pumice.model.nodes import NodeTable
from pumice.model.pod_sets import describe_kai_job, pod_set_of
from pumice.model.task import ALLOCATED_STATUSES, COMPLETED_STATUSES, Task, TaskStatus
from pumice.model.topology import ROOT, HyperNodeTree

_KAI_DEFAULT_PRIORITY = 50
_BY_LABEL = {status.label: status for status in TaskStatus} | {"Gated": TaskStatus.PENDING}


@dataclass(slots=True, eq=False)
class Cluster:
    """Everything a session decides about. Built anew for every cycle."""

    inventory: Inventory
    now: float
    dimensions: Dimensions
    nodes: NodeTable
    tasks: dict[str, Task]
    """Every task by uid, those of no job included."""
    jobs: dict[str, Job]
    queues: dict[str, Queue]
    hyper_nodes: HyperNodeTree
    total: np.ndarray
    """What all nodes have, by dimension."""
    extra: dict[str, Any] = field(default_factory=dict)
    job_journal: list[Job] = field(default_factory=list)
    """Jobs in the order in which their tasks changed status."""


def build_cluster(
    inventory: Inventory, *, now: float, scheduler_names: Collection[str] = ()
) -> Cluster:
    """Make a cycle's own, mutable view of the facts.

    Pods of other schedulers than those named take room on their nodes and belong to no job.
    """
    scalars = {name for node in inventory.nodes.values() for name in node.allocatable.scalars}
    scalars.update(name for pod in inventory.pods.values() for name in pod.request.scalars)
    kai = is_kai(inventory)
    dimensions = Dimensions({*scalars, GPU} if kai else scalars)
    nodes = NodeTable(inventory.nodes.values(), dimensions)
    if kai:
        describe_kai_nodes(nodes, inventory)
    tree = _hyper_nodes(inventory, nodes)
    jobs = {
        uid: Job(group, priority=job_priority(group, inventory), dimensions=len(dimensions))
        for uid, group in sorted(inventory.groups.items())
        if group.queue in inventory.queues
    }
    job_journal: list[Job] = []
    for job in jobs.values():
        job.journal = job_journal
        if job.family == "kai":
            describe_kai_job(job, now)
        else:
            _describe_job(job)
    tasks: dict[str, Task] = {}
    vectors: dict[int, np.ndarray] = {}
    for pod in sorted(inventory.pods.values(), key=lambda pod: (pod.namespace, pod.name)):
        vector = vectors.get(id(pod.request))
        if vector is None:
            vector = vectors[id(pod.request)] = dimensions.vector(pod.request)
        task = Task(pod, task_status(pod), vector)
        ours = (
            not scheduler_names or not pod.scheduler_name or pod.scheduler_name in scheduler_names
        )
        owner = jobs.get(pod.group)
        if owner is not None and owner.family != "kai" and not ours:
            owner = None
        if kai and (owner is None or owner.family == "kai"):
            describe_kai_task(task, dimensions, inventory)
        else:
            _describe_task(task)
            if kai:
                describe_whole_gpus(task, dimensions)
        sub_job = None if owner is None else _sub_job_of(owner, pod)
        if owner is not None and sub_job is not None:
            owner.add(task, sub_job)
            if owner.family == "kai":
                task.preemptable = owner.preemptible
            elif not task.preemptable:
                owner.spared = True
        tasks[task.uid] = task
        row = nodes.row_of.get(task.node)
        if task.status in COMPLETED_STATUSES or task.status is TaskStatus.PENDING:
            continue
        if kai and task.status is TaskStatus.UNKNOWN:
            continue
        if row is not None:
            nodes.add(row, task, task.status)
    nominated = inventory.extra.get("nominated_hypernodes", {})
    for job in jobs.values():
        _settle_topology(job, tree)
        if job.uid in nominated:
            _default_sub_job(job).nominated_hyper_node = nominated[job.uid]
    return Cluster(
        inventory=inventory,
        now=now,
        dimensions=dimensions,
        nodes=nodes,
        tasks=tasks,
        jobs=jobs,
        queues=dict(sorted(inventory.queues.items())),
        hyper_nodes=tree,
        total=nodes.allocatable.sum(axis=0),
        extra=dict(inventory.extra),
        job_journal=job_journal,
    )


def task_status(pod: Pod) -> TaskStatus:
    """The status a pod starts the cycle with; ``extra["state"]`` is told and wins."""
    told = pod.extra.get("state")
    if told:
        return _BY_LABEL.get(told, TaskStatus.UNKNOWN)
    match pod.phase:
        case "Running":
            return TaskStatus.RELEASING if pod.deleted is not None else TaskStatus.RUNNING
        case "Pending":
            if pod.deleted is not None:
                return TaskStatus.RELEASING
            return TaskStatus.BOUND if pod.node_name else TaskStatus.PENDING
        case "Succeeded":
            return TaskStatus.SUCCEEDED
        case "Failed":
            return TaskStatus.FAILED
    return TaskStatus.UNKNOWN


def job_priority(group: PodGroup, inventory: Inventory) -> int:
    """The value of the group's priority class, else of the global default, else the family's."""
    named = inventory.priority_classes.get(group.priority_class)
    if named is not None:
        return named.value
    for priority_class in inventory.priority_classes.values():
        if priority_class.global_default:
            return priority_class.value
    return _KAI_DEFAULT_PRIORITY if group.family == "kai" else 0


def _describe_task(task: Task) -> None:
    pod = task.pod
    task.best_effort = pod.request.is_empty()
    if pod.priority is not None:
        task.priority = pod.priority
    if not pod.annotations and not pod.labels:
        return
    annotations, labels = pod.annotations, pod.labels
    task.role = annotations.get("volcano.sh/task-spec") or labels.get("volcano.sh/task-spec", "")
    with suppress(KeyError, ValueError):
        task.priority = int(annotations["volcano.sh/task-priority"])
    preemptable = annotations.get("volcano.sh/preemptable", labels.get("volcano.sh/preemptable"))
    task.preemptable = True if preemptable is None else parse_bool(preemptable)
    task.revocable_zone = revocable_zone(annotations)


def _describe_job(job: Job) -> None:
    annotations, labels = job.group.annotations, job.group.labels
    preemptable = annotations.get("volcano.sh/preemptable", labels.get("volcano.sh/preemptable"))
    job.preemptable = preemptable is not None and parse_bool(preemptable)
    job.revocable_zone = revocable_zone(annotations)
    job.network_topology = _copy(job.group.network_topology)
    for policy in job.group.sub_group_policies:
        job.min_sub_jobs[f"{job.uid}/{policy.name}"] = policy.min_sub_groups or 0
    if not job.group.sub_group_policies:
        _default_sub_job(job)


def parse_bool(text: str) -> bool:
    """Go's idea of a boolean; anything else is false."""
    return text in ("1", "t", "T", "true", "TRUE", "True")


def revocable_zone(annotations: Any) -> str:
    """``*`` where the object may run on revocable nodes, else empty."""
    zone = annotations.get("volcano.sh/revocable-zone")
    if zone is not None:
        return "*" if zone == "*" else ""
    return "*" if parse_bool(annotations.get("volcano.sh/preemptable", "")) else ""


def _copy(topology: NetworkTopology | None) -> NetworkTopology | None:
    return None if topology is None else replace(topology)


def _default_sub_job(job: Job) -> SubJob:
    sub_job = job.sub_jobs.get(job.uid)
    if sub_job is None:
        sub_job = job.sub_jobs[job.uid] = SubJob(
            job.uid,
            job,
            group_id=job.uid,
            min_available=1 if job.has_sub_job_policy else job.min_available,
            network_topology=_copy(job.group.network_topology),
        )
    return sub_job


def _sub_job_of(job: Job, pod: Pod) -> SubJob | None:
    """The sub-job that the first matching policy puts the pod into."""
    if job.family == "kai":
        return pod_set_of(job, pod)
    for policy in job.group.sub_group_policies:
        selector = policy.label_selector
        if selector is not None and not matches_selector(selector, pod.labels):
            continue
        values = [pod.labels.get(key, "") for key in policy.match_label_keys]
        if not values or not all(values):
            continue
        group_id = f"{job.uid}/{policy.name}"
        joined = "-".join(values)
        uid = f"{group_id}-{joined}"
        if len(uid) > 128:
            uid = f"{group_id}-{hashlib.sha256(joined.encode()).hexdigest()[:8]}"
        sub_job = job.sub_jobs.get(uid)
        if sub_job is None:
            sub_job = job.sub_jobs[uid] = SubJob(
                uid,
                job,
                group_id=group_id,
                name=policy.name,
                min_available=policy.size if policy.size is not None else 1,
                match_index=_int_or_zero(values[0]),
                network_topology=_copy(policy.network_topology),
            )
        return sub_job
    return _default_sub_job(job)


def _int_or_zero(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        return 0


def _hyper_nodes(inventory: Inventory, nodes: NodeTable) -> HyperNodeTree:
    given = inventory.extra.get("hypernodes")
    if given:
        return HyperNodeTree.from_tiers(
            given.get("by_tier", {}), given.get("real_nodes", {}), nodes.facts
        )
    return HyperNodeTree(inventory.hypernodes.values(), nodes.facts)


def _settle_topology(job: Job, tree: HyperNodeTree) -> None:
    """Resolve tier names, make soft limits hard ones, find where the job already is."""
    limit = _settle(job.network_topology, tree, tree.tier[ROOT])
    for sub_job in job.sub_jobs.values():
        _settle(sub_job.network_topology, tree, limit)
    if not tree.ready or not job.has_network_topology:
        return
    found = ""
    for sub_job in job.sub_jobs.values():
        if sub_job.network_topology is not None:
            placed = [t.node for t in sub_job.having(*ALLOCATED_STATUSES) if t.node]
            sub_job.allocated_hyper_node = tree.lowest_containing(placed)
            found = tree.lowest_common(found, sub_job.allocated_hyper_node)
    job.allocated_hyper_node = found


def _settle(topology: NetworkTopology | None, tree: HyperNodeTree, widest: int) -> int:
    """The highest tier allowed, after names and softness are resolved."""
    if topology is None:
        return widest
    if topology.highest_tier_name and topology.highest_tier_name in tree.tier_names:
        topology.highest_tier_allowed = tree.tier_names[topology.highest_tier_name]
    if topology.mode == "soft":
        topology.mode = "hard"
        topology.highest_tier_allowed = widest
    allowed = topology.highest_tier_allowed
    return widest if topology.mode != "hard" or allowed is None else allowed
