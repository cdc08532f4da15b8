"""Clusters to measure on."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from pumice.model.facts import Inventory, Node, Pod, PodGroup, PriorityClass, Queue
from pumice.model.resources import Resource
from tests.bench._case import Case

GI = 1 << 30
GPU = "nvidia.com/gpu"


def empty_nodes(count: int) -> Inventory:
    """Nodes of 32 cpu, 128Gi, 8 GPUs and 110 pods."""
    inventory = Inventory()
    for number in range(count):
        room = Resource(32_000, 128 * GI, {GPU: 8000, "pods": 110})
        name = f"node-{number:05}"
        inventory.nodes[name] = Node(name, room, room, 110, labels={"kubernetes.io/hostname": name})
    return inventory


def add_gang(
    inventory: Inventory,
    number: int,
    queue: str,
    tasks: int,
    request: Resource,
    *,
    family: str = "volcano",
    priority: str = "",
) -> None:
    """A pending job that runs with all its tasks or not at all."""
    name, created = f"job-{number:05}", 1_800_000_000.0 + number
    inventory.groups[f"bench/{name}"] = PodGroup(
        f"bench/{name}",
        name,
        "bench",
        family=family,
        queue=queue,
        min_member=tasks,
        priority_class=priority,
        phase="Inqueue",
        created=created,
    )
    for index in range(tasks):
        pod = f"{name}-task-{index}"
        inventory.pods[pod] = Pod(
            pod, pod, "bench", request, group=f"bench/{name}", created=created
        )


def pending_gangs(case: Case) -> Inventory:
    """Empty nodes, four queues of weight 1 to 4, gangs that all fit."""
    inventory = empty_nodes(case.nodes)
    for weight in range(1, 5):
        inventory.queues[f"q{weight}"] = Queue(f"q{weight}", weight=weight)
    request = Resource(1000, 4 * GI, {"pods": 1})
    if case.gpu:
        request.set(GPU, case.gpu * 1000)
    for number in range(case.jobs):
        add_gang(inventory, number, f"q{number % 4 + 1}", case.tasks, request)
    return inventory


def running_job(
    inventory: Inventory,
    name: str,
    queue: str,
    node: str,
    request: Resource,
    *,
    family: str = "volcano",
    priority: str = "",
) -> None:
    """A job of one task that runs."""
    uid, created = f"bench/{name}", 1_700_000_000.0
    inventory.groups[uid] = PodGroup(
        uid, name, "bench", family=family, queue=queue, min_member=1, phase="Running",
        priority_class=priority, created=created,
    )  # fmt: skip
    inventory.pods[name] = Pod(
        name, name, "bench", request, group=uid, phase="Running", node_name=node, created=created
    )


def full_of_others(case: Case) -> Inventory:
    """Every node full with four running jobs; as many claimants as the case has jobs.

    For reclaim they are in another queue, for preempt they have a higher priority.
    """
    inventory = empty_nodes(case.nodes)
    preempt = case.kind.startswith("preempt")
    inventory.priority_classes = {
        "low": PriorityClass("low", 10),
        "high": PriorityClass("high", 100_000),
    }
    for name in ("a",) if preempt else ("a", "b"):
        inventory.queues[name] = Queue(name, weight=1)
    request = Resource(8000, 4 * GI, {"pods": 1})
    for node in inventory.nodes:
        for number in range(4):
            running_job(inventory, f"run-{node}-{number}", "a", node, request, priority="low")
    for number in range(case.jobs):
        add_gang(inventory, number, "a" if preempt else "b", case.tasks, request, priority="high")
    return inventory


def kai_queue(name: str, gpus: float, parent: str = "") -> Queue:
    unlimited = Resource(math.inf, math.inf, {GPU: math.inf})
    return Queue(
        name,
        family="kai",
        parent=parent,
        priority=100,
        deserved=Resource(math.inf, math.inf, {GPU: gpus * 1000}),
        limit=unlimited,
        over_quota_weight=Resource(1, 1, {GPU: 1}),
    )


def kai_queues(inventory: Inventory, shares: Mapping[str, float]) -> None:
    """A department with leaf queues that deserve so many GPUs."""
    inventory.queues["department"] = kai_queue("department", sum(shares.values()))
    for name, gpus in shares.items():
        inventory.queues[name] = kai_queue(name, gpus, "department")
    inventory.queues["department"].children = list(shares)
    inventory.priority_classes = {
        "train": PriorityClass("train", 50),
        "urgent": PriorityClass("urgent", 75),
    }


def kai_pending(case: Case) -> Inventory:
    """Empty nodes, four queues that deserve 1:2:3:4, gangs that all fit."""
    inventory = empty_nodes(case.nodes)
    unit = case.nodes * 8 / 10
    kai_queues(inventory, {f"q{weight}": weight * unit for weight in range(1, 5)})
    request = Resource(1000, 4 * GI, {"pods": 1})
    if case.gpu:
        request.set(GPU, case.gpu * 1000)
    for number in range(case.jobs):
        add_gang(inventory, number, f"q{number % 4 + 1}", case.tasks, request, family="kai")
    return inventory


def kai_full(case: Case) -> Inventory:
    """Every node full with eight running 1-GPU jobs of one queue; claimants beside them."""
    inventory = empty_nodes(case.nodes)
    half = case.nodes * 4
    preempt = case.kind.startswith("preempt")
    kai_queues(inventory, {"a": half * 2} if preempt else {"a": half, "b": half})
    request = Resource(1000, 4 * GI, {"pods": 1, GPU: 1000})
    for node in inventory.nodes:
        for number in range(8):
            name = f"run-{node}-{number}"
            running_job(inventory, name, "a", node, request, family="kai", priority="train")
    for number in range(case.jobs):
        add_gang(
            inventory,
            number,
            "a" if preempt else "b",
            case.tasks,
            request,
            family="kai",
            priority="urgent" if preempt else "train",
        )
    return inventory


def kai_half_used(case: Case) -> Inventory:
    """Every node has four of its eight GPUs used; jobs of eight GPUs wait."""
    inventory = empty_nodes(case.nodes)
    kai_queues(inventory, {"a": case.nodes * 8})
    request = Resource(1000, 4 * GI, {"pods": 1, GPU: 1000})
    for node in inventory.nodes:
        for number in range(4):
            name = f"run-{node}-{number}"
            running_job(inventory, name, "a", node, request, family="kai", priority="train")
    large = Resource(1000, 4 * GI, {"pods": 1, GPU: 8000})
    for number in range(case.jobs):
        add_gang(inventory, number, "a", 1, large, family="kai", priority="train")
    return inventory


def kai_never_fits(case: Case) -> Inventory:
    """Every node full with 1-GPU jobs; a gang asks for one task more than there are nodes."""
    inventory = kai_full(replace(case, jobs=0))
    whole = Resource(1000, 4 * GI, {"pods": 1, GPU: 8000})
    inventory.queues["b"] = kai_queue("b", case.nodes * 16, "department")
    add_gang(inventory, 0, "b", case.tasks, whole, family="kai", priority="train")
    return inventory
