"""The sub-jobs of a job: which one a pod goes into, and how close together their tasks must be."""

from __future__ import annotations

import hashlib
from dataclasses import replace

from pumice.kube.labels import matches_selector
from pumice.model.facts import NetworkTopology, Pod
from pumice.model.job import Job, SubJob
from pumice.model.task import ALLOCATED_STATUSES
from pumice.model.topology import ROOT, HyperNodeTree


def copy_of(topology: NetworkTopology | None) -> NetworkTopology | None:
    """A cycle's own copy: settling changes it."""
    return None if topology is None else replace(topology)


def default_sub_job(job: Job) -> SubJob:
    """The sub-job of the tasks that no policy puts elsewhere."""
    sub_job = job.sub_jobs.get(job.uid)
    if sub_job is None:
        sub_job = job.sub_jobs[job.uid] = SubJob(
            job.uid,
            job,
            group_id=job.uid,
            min_available=1 if job.has_sub_job_policy else job.min_available,
            network_topology=copy_of(job.group.network_topology),
        )
    return sub_job


def sub_job_of(job: Job, pod: Pod) -> SubJob:
    """The sub-job that the first matching policy puts the pod into."""
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
                network_topology=copy_of(policy.network_topology),
            )
        return sub_job
    return default_sub_job(job)


def _int_or_zero(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        return 0


def has_topology(job: Job) -> bool:
    """Whether anything about the job depends on the tree of hypernodes."""
    if job.network_topology is not None:
        return True
    for sub_job in job.sub_jobs.values():  # noqa: SIM110 - asked of every job: any() costs twice
        if sub_job.network_topology is not None:
            return True
    return False


def settle_topology(job: Job, tree: HyperNodeTree) -> None:
    """Resolve tier names, make soft limits hard ones, find where the job already is."""
    limit = _settle(job.network_topology, tree, tree.tier[ROOT])
    for sub_job in job.sub_jobs.values():
        _settle(sub_job.network_topology, tree, limit)
    if not tree.ready or not job.has_network_topology:
        return
    lowest = ""
    for sub_job in job.sub_jobs.values():
        if sub_job.network_topology is not None:
            placed = [t.node for t in sub_job.having(*ALLOCATED_STATUSES) if t.node]
            sub_job.allocated_hyper_node = tree.lowest_containing(placed)
            lowest = tree.lowest_common(lowest, sub_job.allocated_hyper_node)
    job.allocated_hyper_node = lowest


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
