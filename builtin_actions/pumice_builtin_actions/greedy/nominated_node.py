"""Whether a task should wait for the node that an earlier cycle promised to it."""

from __future__ import annotations

from pumice import Code, Pod, Session, Task


def awaits_nominated_node(session: Session, task: Task) -> bool:
    """Whether to wait instead of preempting again. The task is prepared.

    It waits while the filters accept its nominated node, and while somebody of lower priority is
    still leaving it for a preemption; not when no eviction can make that node fit any more.
    """
    if not task.nominated_node:
        return False
    row = session.nodes.row_of.get(task.nominated_node)
    if row is None:
        return True
    error = session.queries.predicate(task, row)
    if error is None:
        return True
    if error.code is Code.UNRESOLVABLE:
        return False
    own = task.pod.priority or 0
    return any(
        (held.task.pod.priority or 0) < own and _leaves_for_preemption(held.task.pod)
        for held in session.nodes.held[row].values()
    )


def _leaves_for_preemption(pod: Pod) -> bool:
    return pod.deleted is not None and any(
        condition.get("type") == "DisruptionTarget"
        and condition.get("status") == "True"
        and condition.get("reason") == "PreemptionByScheduler"
        for condition in pod.conditions
    )
