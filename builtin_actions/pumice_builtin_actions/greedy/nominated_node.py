"""Whether a task should wait for the node that was nominated for it."""

from __future__ import annotations

from pumice import Code, Pod, Session, Task


def awaits_nominated_node(session: Session, task: Task) -> bool:
    """Whether to wait instead of preempting again. The task must be prepared.

    It waits while the filters accept the nominated node, and while a pod of lower priority is
    still terminating there after a preemption; not when no eviction can make the node fit.
    """
    if not task.nominated_node:
        return False
    row = session.nodes.row_of.get(task.nominated_node)
    if row is None:
        # Volcano does not preempt for a task whose nominated node is gone.
        return True
    error = session.queries.predicate(task, row)
    if error is None:
        return True
    if error.code is Code.UNRESOLVABLE:
        return False
    priority = task.pod.priority or 0
    return any(
        (held.task.pod.priority or 0) < priority and _is_preempted(held.task.pod)
        for held in session.nodes.held[row].values()
    )


def _is_preempted(pod: Pod) -> bool:
    return pod.deleted is not None and any(
        condition.get("type") == "DisruptionTarget"
        and condition.get("status") == "True"
        and condition.get("reason") == "PreemptionByScheduler"
        for condition in pod.conditions
    )
