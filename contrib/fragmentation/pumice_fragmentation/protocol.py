"""The protocol of the paper: pods arrive one by one, none leaves, one that does not fit is lost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from pumice import (
    Decisions,
    Inventory,
    MemoryBackend,
    Node,
    Pod,
    PodGroup,
    Policy,
    Queue,
    Resource,
    Scheduler,
    policy_from_dict,
)
from pumice.gpu import GPU
from pumice_fragmentation.devices import WHOLE
from pumice_fragmentation.fragments import typical_pods
from pumice_fragmentation.workload import TraceNode, TracePod, arrivals

POLICIES = ("random", "dotprod", "gpuclustering", "gpupacking", "bestfit", "fgd")
"""The plugins that are compared."""
LABEL = "nvidia.com/gpu.product"
_MIB = 1 << 20
_REQUESTED = 1.3
"""The pods request so much of the cluster's GPUs."""


class Allocation(NamedTuple):
    """Percent of all GPUs that are allocated when a percentage of them has been requested."""

    at_100: float
    at_130: float


def run(nodes: Sequence[TraceNode], pods: Sequence[TracePod], policy: str, seed: int) -> Allocation:
    """Place the pods of a list on empty nodes with one of the policies."""
    chance = np.random.default_rng(seed)
    capacity = WHOLE * sum(node.gpus for node in nodes)
    order = arrivals(pods, _REQUESTED * capacity, chance)
    rank = chance.permutation(len(nodes)).tolist()
    inventory = _inventory(nodes, rank, order)
    decisions = _decide(inventory, _policy(policy, pods, seed))
    placed = {bind.uid for bind in decisions.binds}
    gpu = np.array([pod.gpu for pod in order], np.int64)
    done = np.array([_uid(number) in placed for number in range(len(order))])
    arrived, used = np.cumsum(gpu), np.cumsum(np.where(done, gpu, 0))
    percent = np.rint(100 * arrived / capacity).astype(int)
    allocated = np.round(100 * used / capacity, 2)
    return Allocation(_at(100, percent, allocated), _at(130, percent, allocated))


def _at(wanted: int, percent: np.ndarray, allocated: np.ndarray) -> float:
    """The mean allocation over the arrivals at which so much had been requested."""
    rows = percent == wanted
    if not rows.any():
        rows = abs(percent - wanted) <= 1
    return round(float(allocated[rows].mean()), 2) if rows.any() else float(allocated[-1])


def _policy(name: str, pods: Sequence[TracePod], seed: int) -> Policy:
    options: dict[str, Any] = {}
    if name == "random":
        options = {"random.seed": seed}
    if name == "fgd":
        typical = typical_pods(pod.shape for pod in pods)
        options = {"fgd.label": LABEL, "fgd.typical": typical}
    return policy_from_dict(
        {
            "actions": ["fair_allocate"],
            "tiers": [{"plugins": ["predicates", name]}],
            "plugin": {name: options},
        },
        where=name,
    )


def _decide(inventory: Inventory, policy: Policy) -> Decisions:
    scheduler = Scheduler(MemoryBackend(inventory), policy)
    decisions = scheduler.run_once()
    scheduler.close()
    return decisions


def _inventory(
    nodes: Sequence[TraceNode], rank: Sequence[int], order: Sequence[TracePod]
) -> Inventory:
    """The cluster; nodes are named by their rank, because the first name wins a tie."""
    named = (
        _node(node, f"{place:04}-{node.name}") for node, place in zip(nodes, rank, strict=True)
    )
    inventory = Inventory(
        nodes={node.name: node for node in named}, queues={"default": Queue("default", "kai")}
    )
    for number, pod in enumerate(order):
        uid = _uid(number)
        created = float(number + 1)
        inventory.groups[uid] = PodGroup(
            uid, uid, "", family="kai", queue="default", min_member=1, created=created
        )
        inventory.pods[uid] = _pod(pod, uid, created)
    return inventory


def _uid(number: int) -> str:
    return f"pod-{number:06}"


def _node(node: TraceNode, name: str) -> Node:
    amounts = Resource(
        node.cpu, node.memory * _MIB, {GPU: node.gpus * WHOLE} if node.gpus else None
    )
    labels = {LABEL: node.model, "nvidia.com/gpu.memory": str(WHOLE)}
    return Node(name, amounts, amounts, max_pods=1001, labels=labels)


def _pod(pod: TracePod, uid: str, created: float) -> Pod:
    shape = pod.shape
    request = Resource(shape.cpu, pod.memory * _MIB)
    annotations = {}
    if shape.milli == WHOLE:
        request.scalars[GPU] = shape.devices * WHOLE
    elif shape.devices:
        annotations = {"gpu-fraction": str(shape.milli / WHOLE)}
    affinity = {}
    if shape.models:
        terms = [{"key": LABEL, "operator": "In", "values": shape.models.split("|")}]
        required = {"nodeSelectorTerms": [{"matchExpressions": terms}]}
        key = "requiredDuringSchedulingIgnoredDuringExecution"
        affinity = {"nodeAffinity": {key: required}}
    return Pod(
        uid,
        uid,
        "",
        request,
        annotations=annotations,
        affinity=affinity,
        created=created,
        group=uid,
    )
