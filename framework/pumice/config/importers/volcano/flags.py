"""Volcano's switches in the entry of a plugin, with its irregular spelling."""

from __future__ import annotations

FLAGS: dict[str, tuple[str, ...]] = {
    "enableJobOrder": ("job_order",),
    "enableJobReady": ("job_ready",),
    "enableJobPipelined": ("job_pipelined",),
    "enableJobEnqueued": ("job_enqueueable", "job_enqueued"),
    "enableTaskOrder": ("task_order",),
    "enablePreemptable": ("preemptable",),
    "enableReclaimable": ("reclaimable",),
    "enablePreemptive": ("preemptive",),
    "enableQueueOrder": ("queue_order",),
    "enablePredicate": ("predicate", "pre_predicate", "simulate_predicate"),
    "enableBestNode": ("best_node",),
    "enableNodeOrder": ("node_order", "node_map", "node_reduce"),
    "enableTargetJob": ("target_job",),
    "enableReservedNodes": ("reserved_nodes",),
    "enabledVictim": ("victim_tasks",),
    "enableJobStarving": ("job_starving",),
    "enabledOverused": ("overused",),
    "enabledAllocatable": ("allocatable", "simulate_allocatable"),
    "enabledHyperNodeOrder": ("hyper_node_order",),
    "enabledSubJobReady": ("sub_job_ready",),
    "enabledSubJobPipelined": ("sub_job_pipelined",),
    "enabledSubJobOrder": ("sub_job_order",),
    "enabledHyperNodeGradient": (
        "hyper_node_gradient_for_job",
        "hyper_node_gradient_for_sub_job",
    ),
}
"""Switch → the extension points that it switches off; all are on by default."""

HIERARCHY_FLAG = "enableHierarchy"
CLUSTER_ORDER_FLAG = "enabledClusterOrder"
KNOWN_FLAGS = (*FLAGS, HIERARCHY_FLAG, CLUSTER_ORDER_FLAG)

_SIMULATED = ("simulate_add_task", "simulate_remove_task")
"""On while either of two switches is on."""
_SIMULATED_BY = {"enablePreemptable", "enabledAllocatable"}


def points_off(off: set[str]) -> dict[str, tuple[str, ...]]:
    """The extension points that each switch in ``off`` disables."""
    points = {flag: FLAGS[flag] for flag in FLAGS if flag in off}
    if off >= _SIMULATED_BY:
        points["enabledAllocatable"] += _SIMULATED
    return points
