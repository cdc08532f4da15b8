"""The hypernodes to try for a job or sub-job with a hard network topology."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pumice.model.job import Job, SubJob, is_hard
from pumice.model.task import ACTIVE_STATUSES

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
