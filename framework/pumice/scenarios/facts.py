"""Facts of a scenario that its manifests do not state: ``extra`` written into the facts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from pumice.config import Policy
from pumice.model.facts import HyperNode, Inventory, Node, Pod, PodGroup
from pumice.model.families.kai.pod_sets import DEFAULT, SUB_GROUP_LABEL
from pumice.model.quantity import PODS
from pumice.model.task import TaskStatus
from pumice.scenarios.scenario import (
    Extra,
    HyperNodeTiers,
    JobFacts,
    NodeFacts,
    TaskFacts,
)

_TASK_PRIORITY_LABEL = "kai.scheduler/task-priority"
_GPU_MEMORY_LABEL = "nvidia.com/gpu.memory"
_LEGACY_MIG_ANNOTATION = "nvidia.com/mig-1g.5gb"
_SHARD = "NodeShard"


def add_facts(
    inventory: Inventory, extra: Extra, *, now: float, known: Inventory | None = None
) -> None:
    """Write what ``extra`` states into the facts; objects that were ``known`` before have it."""
    if known is None:
        _describe_cluster(inventory, extra)
    pods = {pod.key: pod for uid, pod in inventory.pods.items() if _is_new(uid, known, "pods")}
    for key, task in extra.tasks.items():
        if key in pods:
            _describe_pod(pods[key], task)
    groups = inventory.groups
    for uid, job in extra.jobs.items():
        if uid in groups and _is_new(uid, known, "groups"):
            _describe_group(groups[uid], job, now)
    for uid, hyper_node in extra.nominated_hypernodes.items():
        if uid in groups:
            groups[uid].nominated_hyper_node = hyper_node
    for name, queue in extra.queues.items():
        if name in inventory.queues and queue.index is not None:
            inventory.queues[name].created = float(queue.index)
    for name, node in extra.nodes.items():
        if name in inventory.nodes and _is_new(name, known, "nodes"):
            _describe_node(inventory.nodes[name], node)


def with_sharding(policy: Policy, inventory: Inventory, extra: Extra) -> Policy:
    """The policy with the scenario's sharding mode; its shard has the scenario's nodes."""
    if extra.nodes_in_shard is not None:
        shard = {"status": {"nodesInUse": extra.nodes_in_shard}}
        inventory.others.setdefault(_SHARD, {})[policy.scheduler.shard] = shard
    if extra.sharding_mode is None:
        return policy
    settings = policy.scheduler.model_copy(update={"sharding_mode": extra.sharding_mode})
    return replace(policy, scheduler=settings)


def _is_new(key: str, known: Inventory | None, table: str) -> bool:
    return known is None or key not in getattr(known, table)


def _describe_cluster(inventory: Inventory, extra: Extra) -> None:
    inventory.feature_gates = extra.feature_gates
    inventory.node_usage = extra.node_usage
    inventory.queue_usage = extra.queue_usage
    inventory.min_node_gpu_memory = extra.min_node_gpu_memory
    inventory.scheduler_params = extra.scheduler_params or {}
    if extra.hypernodes is not None:
        inventory.hypernodes = {h.name: h for h in _hyper_nodes(extra.hypernodes)}


def _describe_pod(pod: Pod, facts: TaskFacts) -> None:
    if facts.state == "Gated":
        pod.status_override = TaskStatus.PENDING.label
        pod.gates = pod.gates or ("extra.tasks",)
    else:
        pod.status_override = facts.state
    if facts.node is not None:
        pod.node_name = facts.node
    if facts.index is not None:
        pod.created = float(facts.index)
    pod.gpu_groups = tuple(facts.gpu_groups)
    labels = {}
    if facts.subgroup:
        labels[SUB_GROUP_LABEL] = facts.subgroup
    if facts.task_order_priority is not None:
        labels[_TASK_PRIORITY_LABEL] = str(facts.task_order_priority)
    pod.labels = _with(pod.labels, labels)
    if facts.is_legacy_mig:
        pod.annotations = _with(pod.annotations, {_LEGACY_MIG_ANNOTATION: "1"})


def _describe_group(group: PodGroup, facts: JobFacts, now: float) -> None:
    if facts.priority is not None:
        group.priority = facts.priority
    group.preemptibility = facts.preemptibility or group.preemptibility
    if facts.creation_order is not None:
        group.created = float(facts.creation_order)
    if facts.last_start_seconds_ago is not None:
        group.last_start = now - facts.last_start_seconds_ago
    if facts.stale_seconds is not None:
        group.stale_since = now - facts.stale_seconds
    minimums = facts.min_available or {}
    if group.sub_groups:
        group.sub_groups = [
            replace(sub_group, min_member=minimums.get(sub_group.name, sub_group.min_member))
            for sub_group in group.sub_groups
        ]
    else:
        group.min_member = minimums.get(DEFAULT, group.min_member)


def _describe_node(node: Node, facts: NodeFacts) -> None:
    if facts.max_task_num is not None:
        node.max_pods = facts.max_task_num
        node.allocatable = node.allocatable.clone()
        node.allocatable.scalars[PODS] = facts.max_task_num
    memory = facts.memory_of_every_gpu_on_node
    if memory is not None and facts.gpu_memory_synced:
        node.labels = _with(node.labels, {_GPU_MEMORY_LABEL: str(memory)})
    elif not facts.gpu_memory_synced:
        node.labels = {k: v for k, v in node.labels.items() if k != _GPU_MEMORY_LABEL}


def _with(table: Mapping[str, str], more: Mapping[str, str]) -> Mapping[str, str]:
    return {**table, **more} if more else table


def _hyper_nodes(tiers: HyperNodeTiers) -> Iterator[HyperNode]:
    """The hypernodes of a tree given as tiers and the nodes of each.

    The parent of a hypernode is the one of the lowest tier above it that has all its nodes.
    """
    nodes, tier_of = tiers.real_nodes, {n: t for t, names in tiers.by_tier.items() for n in names}
    members: dict[str, list[dict[str, Any]]] = {
        name: [_member("Node", node) for node in nodes.get(name, ())] for name in tier_of
    }
    for name, tier in tier_of.items():
        inside = set(nodes.get(name, ()))
        above = [
            (other_tier, other)
            for other, other_tier in tier_of.items()
            if other_tier > tier and inside.issubset(nodes.get(other, ()))
        ]
        if above:
            members[min(above)[1]].append(_member("HyperNode", name))
    for name, tier in tier_of.items():
        yield HyperNode(name, tier, members=members[name])


def _member(kind: str, name: str) -> dict[str, Any]:
    return {"type": kind, "selector": {"exactMatch": {"name": name}}}
