"""Where a job with a network topology, or a topology constraint, may have its tasks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from pumice.model.families.kai.pod_sets import SubGroupSet
from pumice.model.job import Job, SubJob, is_hard
from pumice.model.task import ACTIVE_STATUSES, Task
from pumice.model.topology import ROOT

if TYPE_CHECKING:
    from pumice.session.session import Session


def hyper_nodes_for(
    session: Session, members: Job | SubJob, root: str, *, simulate: bool
) -> list[str]:
    """Names below ``root``, the lowest tiers first; ``root`` alone without a hard topology."""
    if not is_hard(members.network_topology):
        return [root]
    purpose = "evict" if simulate else "allocate"
    before = members.allocated_hyper_node
    placed = [task.node for task in members.having(*ACTIVE_STATUSES) if task.node]
    members.allocated_hyper_node = session.hyper_nodes.lowest_containing(placed)
    try:
        if isinstance(members, SubJob):
            if not session.ask.has("hyper_node_gradient_for_sub_job"):
                return [root]
            groups = session.ask.hyper_node_gradient_for_sub_job(members, root, purpose)
        else:
            if not session.ask.has("hyper_node_gradient_for_job"):
                return [root]
            groups = session.ask.hyper_node_gradient_for_job(members, root, purpose)
    finally:
        members.allocated_hyper_node = before
    ordered = list(groups or ())
    if simulate:  # for evictions, plugins name the highest tier first
        ordered.reverse()
    return [name for group in ordered for name in group]


def rows_within(session: Session, hyper_node: str, rows: np.ndarray | None) -> np.ndarray | None:
    """Those of ``rows`` that are in a hypernode; None is all nodes, given or answered."""
    inside = session.rows_of(hyper_node)
    if inside is None or rows is None:
        return rows if inside is None else inside
    return np.intersect1d(inside, rows, assume_unique=True)


def rows_beside_job(session: Session, task: Task) -> np.ndarray | None:
    """The nodes that a task may have beside those of its job that have one; None: all."""
    job = task.job
    assert job is not None
    root = job.sub_group_root
    if not (job.has_network_topology if root is None else root.is_constrained):
        return None
    job = session.jobs[job.uid]
    sub_job = job.sub_jobs.get(task.sub_job.uid) if task.sub_job is not None else None
    if job.sub_group_root is not None:
        return _rows_of_sub_groups(session, job, sub_job, task)
    rows = session.nodes.all_rows
    for members in (job, sub_job):
        if members is not None and is_hard(members.network_topology):
            names = hyper_nodes_for(session, members, ROOT, simulate=True)
            rows = _union([rows_within(session, name, rows) for name in names])
    return rows


def _rows_of_sub_groups(
    session: Session, job: Job, pod_set: SubJob | None, task: Task
) -> np.ndarray:
    refusals, rows = len(job.refusals), session.nodes.all_rows
    for group in reversed(list(_sub_groups(pod_set))):
        leaves = [group] if isinstance(group, SubJob) else group.leaves()
        pod_sets = {leaf.name: job.sub_jobs[leaf.uid] for leaf in leaves}
        subsets = session.ask.subset_nodes(job, group, pod_sets, [task], rows)
        rows = _union([np.asarray(subset) for subset in subsets])
        if not len(rows):
            break
    del job.refusals[refusals:]
    return rows


def _sub_groups(pod_set: SubJob | None) -> Iterator[SubJob | SubGroupSet]:
    """A pod set and the sub-groups above it."""
    group: SubJob | SubGroupSet | None = pod_set
    while group is not None:
        yield group
        group = group.parent


def _union(parts: list[np.ndarray | None]) -> np.ndarray:
    found = [part for part in parts if part is not None]
    return np.unique(np.concatenate(found)) if found else np.zeros(0, np.intp)
