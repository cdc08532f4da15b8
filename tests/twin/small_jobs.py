"""Random clusters of a few kinds of nodes on which many jobs wait that ask for the same."""

from __future__ import annotations

import math
import random

from pumice.model.facts import Inventory, Node, Pod, PodGroup, PriorityClass, Queue
from pumice.model.resources import Resource
from tests.twin.worlds import TwinWorld

GI = 1 << 30
GPU = "nvidia.com/gpu"
NOW = 1_800_000_000.0
POLICIES = {
    "volcano": ("preset volcano", "everybody votes", "hierarchy", "capacity"),
    "kai": ("preset kai", "exact", "spread"),
}


def small_jobs_world(seed: int) -> TwinWorld:
    """The same cluster, policy and cycles for the same seed."""
    dice = random.Random(f"small jobs {seed}")
    family = ("volcano", "kai")[seed % 2]
    inventory = Inventory()
    _add_nodes(inventory, dice)
    _add_queues(inventory, dice, family)
    inventory.priority_classes = {n: PriorityClass(n, v) for n, v in (("low", 10), ("high", 50))}
    nodes = sorted(inventory.nodes)
    for number in range(dice.randint(0, 8)):
        _add_job(inventory, dice, family, f"run-{number}", 1, node=dice.choice(nodes))
    for number in range(dice.randint(12, 50)):
        tasks = 1 if dice.random() < 0.93 else dice.randint(2, 4)
        _add_job(inventory, dice, family, f"job-{number:02}", tasks)
    return TwinWorld(
        family, dice.choice(POLICIES[family]), inventory, NOW + 100, dice.randint(1, 2), "settle"
    )


def crowded_world(seed: int) -> TwinWorld:
    """A full cluster on which most jobs wait in vain, in long rows of equal ones."""
    dice = random.Random(f"crowd {seed}")
    family = ("volcano", "kai")[seed % 2]
    inventory = Inventory()
    _add_nodes(inventory, dice)
    _add_queues(inventory, dice, family)
    inventory.priority_classes = {n: PriorityClass(n, v) for n, v in (("low", 10), ("high", 50))}
    for node in inventory.nodes.values():
        for number in range(int(node.allocatable.cpu // 1000) - dice.randint(0, 1)):
            _add_job(inventory, dice, family, f"run-{node.name}-{number}", 1, node=node.name)
    for number in range(dice.randint(30, 90)):
        tasks = 1 if dice.random() < 0.97 else dice.randint(2, 4)
        _add_job(inventory, dice, family, f"job-{number:02}", tasks)
    policy = "preset pumice" if family == "volcano" else dice.choice(POLICIES[family])
    return TwinWorld(family, policy, inventory, NOW + 100, dice.randint(1, 2), "settle")


def _add_nodes(inventory: Inventory, dice: random.Random) -> None:
    shapes = [
        Resource(dice.choice((4, 8)) * 1000, dice.choice((8, 16)) * GI, scalars)
        for scalars in ({"pods": 8}, {GPU: 4000, "pods": 20}, {"pods": 5})
    ]
    for number in range(dice.randint(2, 9)):
        name, shape = f"n{number}", dice.choice(shapes[: dice.randint(1, 3)])
        labels = {"kubernetes.io/hostname": name, "zone": dice.choice("ab")}
        inventory.nodes[name] = Node(name, shape, shape, int(shape.get("pods")), labels=labels)


def _add_queues(inventory: Inventory, dice: random.Random, family: str) -> None:
    names = ("qa", "qb", "qc")[: dice.randint(1, 3)]
    if family == "volcano":
        for name in names:
            inventory.queues[name] = Queue(name, weight=dice.randint(1, 4))
        return
    unlimited = Resource(math.inf, math.inf, {GPU: math.inf})
    for name in ("top", *names):
        limit = Resource(dice.randint(4, 12) * 1000, math.inf, {GPU: math.inf})
        inventory.queues[name] = Queue(
            name,
            family="kai",
            parent="" if name == "top" else "top",
            priority=100,
            deserved=Resource(dice.randint(1, 8) * 1000, math.inf, {GPU: 1000}),
            limit=limit if name != "top" and dice.random() < 0.3 else unlimited,
            over_quota_weight=Resource(1, 1, {GPU: 1}),
            created=float(dice.randint(0, 2)),
        )
    inventory.queues["top"].children = list(names)


def _add_job(
    inventory: Inventory,
    dice: random.Random,
    family: str,
    name: str,
    tasks: int,
    node: str = "",
) -> None:
    queues = [queue.name for queue in inventory.queues.values() if not queue.children]
    request = Resource(dice.choice((500, 1000, 1000)), GI, {"pods": 1})
    if dice.random() < 0.2:
        request.set(GPU, 1000)
    created, uid = NOW + dice.randint(0, 9), f"ns/{name}"
    inventory.groups[uid] = PodGroup(
        uid,
        name,
        "ns",
        family=family,
        queue=dice.choice(queues),
        min_member=tasks,
        priority_class=dice.choice(("low", "low", "high")),
        phase="Running" if node else "Inqueue",
        created=created,
    )
    selector = {"zone": "a"} if dice.random() < 0.15 else {}
    for number in range(tasks):
        pod = Pod(
            f"{name}-{number}", f"{name}-{number}", "ns", request, group=uid, created=created,
            node_selector=selector, phase="Running" if node else "Pending", node_name=node,
        )  # fmt: skip
        inventory.pods[pod.uid] = pod
