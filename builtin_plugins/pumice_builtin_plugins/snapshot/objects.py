"""Writes the facts of a cluster as manifests, by kind."""

from __future__ import annotations

from typing import Any

from pumice import (
    DisruptionBudget,
    HyperNode,
    Inventory,
    NetworkTopology,
    Node,
    PodGroup,
    PriorityClass,
    ResourceQuota,
)
from pumice.kube import PODS, quantity_of
from pumice.manifests import OWN_API
from pumice_builtin_plugins.snapshot.pods import (
    Object,
    compact,
    metadata,
    quantities,
    timestamp,
    write_pod,
)
from pumice_builtin_plugins.snapshot.queues import write_queue

_RAW_KINDS = {
    "BindRequest": "bindRequests",
    "ConfigMap": "configMaps",
    "PersistentVolumeClaim": "persistentVolumeClaims",
    "CSIStorageCapacity": "csiStorageCapacities",
    "StorageClass": "storageClasses",
    "CSIDriver": "csiDrivers",
    "ResourceClaim": "resourceClaims",
    "ResourceSlice": "resourceSlices",
    "DeviceClass": "deviceClasses",
    "Topology": "topologies",
}
_LAST_START = "kai.scheduler/last-start-timestamp"
_STALE = "kai.scheduler/stale-podgroup-timestamp"


def write_objects(inventory: Inventory) -> dict[str, list[Any]]:
    """Every object by kind; a kind without objects is an empty list."""
    groups, others = inventory.groups, inventory.others
    written: dict[str, list[Any]] = {
        "pods": [
            write_pod(pod, groups[pod.group].family if pod.group in groups else None)
            for pod in inventory.pods.values()
        ],
        "nodes": [write_node(node) for node in inventory.nodes.values()],
        "queues": [write_queue(queue) for queue in inventory.queues.values()],
        "podGroups": [write_group(group) for group in groups.values()],
        "priorityClasses": [_priority_class(p) for p in inventory.priority_classes.values()],
        "podDisruptionBudgets": [_budget(budget) for budget in inventory.budgets.values()],
        "hyperNodes": [_hyper_node(hyper) for hyper in inventory.hypernodes.values()],
        "resourceQuotas": [_quota(quota) for quota in inventory.quotas.values()],
        **{name: list(others.get(kind, {}).values()) for kind, name in _RAW_KINDS.items()},
    }
    for kind, objects in others.items():
        if kind not in _RAW_KINDS:
            written[f"{kind[0].lower()}{kind[1:]}s"] = list(objects.values())
    return written


def write_node(node: Node) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": metadata(node),
        "spec": compact(taints=list(node.taints), unschedulable=node.unschedulable),
        "status": compact(
            allocatable=quantities(node.allocatable) | _max_pods(node),
            capacity=quantities(node.capacity),
            conditions=[{"type": t, "status": s} for t, s in node.conditions.items()],
            images=list(node.images),
        ),
    }


def _max_pods(node: Node) -> Object:
    return {PODS: str(node.max_pods)} if node.max_pods else {}


# -- pod groups


def write_group(group: PodGroup) -> Object:
    if group.family == "kai":
        return _kai_group(group)
    listed = group.quota_min_resources
    resources = {name: quantity_of(name, amount) for name, amount in listed.items()}
    if not resources and group.min_resources is not None:
        resources = quantities(group.min_resources)
    spec = compact(
        queue=group.queue,
        minMember=group.min_member,
        minTaskMember=dict(group.min_task_member),
        priorityClassName=group.priority_class,
        networkTopology=_network(group.network_topology),
        subGroupPolicy=[
            compact(
                name=policy.name,
                labelSelector=policy.label_selector,
                matchLabelKeys=list(policy.match_label_keys),
                subGroupSize=policy.size,
                minSubGroups=policy.min_sub_groups,
                networkTopology=_network(policy.network_topology),
            )
            for policy in group.sub_group_policies
        ],
    )
    if group.min_resources is not None:
        spec["minResources"] = resources
    version = "scheduling.volcano.sh/v1beta1"
    if group.topology_constraint:  # Volcano's kind has no place for a node label
        version = f"{OWN_API}/v1alpha1"
        spec["topologyKey"] = group.topology_constraint["nodeLabel"]
    return {
        "apiVersion": version,
        "kind": "PodGroup",
        "metadata": metadata(group),
        "spec": spec,
        "status": compact(phase=group.phase, conditions=list(group.conditions)),
    }


def _network(topology: NetworkTopology | None) -> Object | None:
    if topology is None:
        return None
    return compact(
        mode=topology.mode,
        highestTierAllowed=topology.highest_tier_allowed,
        highestTierName=topology.highest_tier_name,
    )


def _kai_group(group: PodGroup) -> Object:
    meta = metadata(group)
    for key, seconds in ((_LAST_START, group.last_start), (_STALE, group.stale_since)):
        if seconds is not None:
            meta.setdefault("annotations", {}).setdefault(key, timestamp(seconds))
    return {
        "apiVersion": "scheduling.run.ai/v2alpha2",
        "kind": "PodGroup",
        "metadata": meta,
        "spec": compact(
            queue=group.queue,
            minMember=group.min_member,
            priorityClassName=group.priority_class,
            preemptibility=group.preemptibility,
            markUnschedulable=group.mark_unschedulable,
            schedulingBackoff=group.scheduling_backoff,
            topologyConstraint=group.topology_constraint,
            subGroups=[
                compact(
                    name=sub.name,
                    minMember=sub.min_member,
                    parent=sub.parent,
                    topologyConstraint=sub.topology_constraint,
                )
                for sub in group.sub_groups
            ],
        ),
        "status": compact(phase=group.phase, schedulingConditions=list(group.conditions)),
    }


# -- other kinds


def _priority_class(fact: PriorityClass) -> Object:
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": metadata(fact),
        "value": fact.value,
        **compact(globalDefault=fact.global_default, preemptionPolicy=fact.preemption_policy),
    }


def _budget(fact: DisruptionBudget) -> Object:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": metadata(fact),
        "spec": {} if fact.selector is None else {"selector": dict(fact.selector)},
        "status": {
            "disruptionsAllowed": fact.disruptions_allowed,
            "disruptedPods": dict.fromkeys(sorted(fact.disrupted_pods), ""),
        },
    }


def _hyper_node(fact: HyperNode) -> Object:
    return {
        "apiVersion": "topology.volcano.sh/v1alpha1",
        "kind": "HyperNode",
        "metadata": metadata(fact),
        "spec": compact(tier=fact.tier, tierName=fact.tier_name, members=list(fact.members)),
    }


def _quota(fact: ResourceQuota) -> Object:
    if fact.raw:
        return dict(fact.raw)
    return {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": metadata(fact),
        "status": {
            part: {name: quantity_of(name, value) for name, value in table.items()}
            for part, table in (("hard", fact.hard), ("used", fact.used))
        },
    }
