"""Terminating pods that should be gone: their resources are not counted on any more."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pumice.log import logger
from pumice.model.task import TaskStatus

if TYPE_CHECKING:
    from pumice.session.session import Session


def hold_overdue(session: Session) -> list[str]:
    """Count the resources of overdue pods as used, so that nothing is pipelined to them.

    A pod hangs in this state when its node does not answer, or a finalizer stays. The tasks stay
    Releasing: they are not ready for their gang. Returns their uids.
    """
    overdue: list[str] = []
    slack = session.policy.evictions.terminating
    if not slack:
        return overdue
    nodes = session.nodes
    for row in np.flatnonzero(nodes.releasing.any(axis=1)).tolist():
        for entry in list(nodes.held[row].values()):
            task = entry.task
            if entry.status is not TaskStatus.RELEASING or task.pod.deleted is None:
                continue
            if session.now > task.pod.deleted + slack:
                nodes.recount(row, task, TaskStatus.RUNNING)
                overdue.append(task.uid)
                logger.debug("{} should be gone from node {}", task.key, nodes.names[row])
    return overdue
