"""Random clusters of the KAI family in which GPUs are short."""

from __future__ import annotations

import random
from typing import Any

from pumice.model.facts import PriorityClass, SubGroup
from pumice.testing.random_clusters import AFFINITIES, TAINT, TOLERATION
from tests.plugins._fair import FairWorld, ask
from tests.twin.volcano_world import GONE, WISHES

LEVELS = ("block", "rack")
GROUP_LABEL = "kai.scheduler/subgroup-name"


def draw(dice: random.Random) -> FairWorld:
    """A few nodes with GPUs, mostly taken, and jobs that want some."""
    world = FairWorld()
    free: dict[str, float] = {}
    for number in range(dice.randint(2, 3)):
        name = f"n{number}"
        gpus = dice.choice([1, 2, 2, 4])
        world.node(
            name,
            gpu=gpus,
            gpu_memory=dice.choice([16_000, 16_000, 40_000]),
            taints=dice.choice([(), (), (), (), (TAINT,)]),
        )
        block = dice.choice(["b1", "b2"])
        world.inventory.nodes[name].labels.update(  # type: ignore[attr-defined]
            {"block": block, "rack": block + dice.choice("xy"), "zone": dice.choice("ab")}
        )
        free[name] = float(gpus)
    spec = {"levels": [{"nodeLabel": level} for level in LEVELS]}
    world.inventory.others["Topology"] = {"dc": {"spec": spec}}
    for value in (50, 75, 125):
        world.inventory.priority_classes[f"p{value}"] = PriorityClass(f"p{value}", value)
    queues = _queues(world, dice)
    for number in range(dice.randint(2, 5)):
        _running(world, f"r{number}", free, queues, dice)
    for number in range(dice.randint(1, 3)):
        _waiting(world, f"w{number}", queues, dice)
    return world


def _queues(world: FairWorld, dice: random.Random) -> list[str]:
    departments = ["d0", "d1"][: dice.choice([1, 1, 2])]
    for name in departments:
        world.queue(name, dice.choice([2, 4, 8]), priority=dice.choice([100, 100, 50]))
    names = ["q0", "q1", "q2"][: dice.randint(1, 3)]
    for name in names:
        world.queue(
            name,
            dice.choice([0, 1, 2, 4]),
            weight=dice.choice([0, 1, 1, 3]),
            limit=dice.choice([float("inf"), float("inf"), 2, 4]),
            priority=dice.choice([100, 100, 200]),
            parent=dice.choice(departments),
            preempt_min_runtime=dice.choice([None, None, 60.0]),
            reclaim_min_runtime=dice.choice([None, None, 60.0]),
        )
    return names


def _running(
    world: FairWorld, name: str, free: dict[str, float], queues: list[str], dice: random.Random
) -> None:
    pods = []
    shared = dice.random() < 0.3
    for number in range(dice.randint(1, 4)):
        size = 0.5 if shared else dice.choice([0, 1, 1, 2])
        fitting = [node for node, left in free.items() if left >= max(size, 1)]
        if not fitting:
            continue
        node = dice.choice(fitting)
        free[node] -= size
        facts = _facts(dice)
        if dice.random() < 0.02:
            node = GONE
        elif shared:
            # Two by two on a device, in groups as a scheduler would have made them.
            free[node] -= size
            facts |= {"fraction": size, "gpu_groups": (f"{name}-{number}",)}
        pods.append(
            ask(
                gpu=0 if shared else size,
                on=node,
                deleted=world.now if dice.random() < 0.12 else None,
                start_time=world.now - 100,
                **facts,
            )
        )
    if pods:
        _job(world, name, queues, pods, dice, last_start=world.now - dice.choice([10, 1000]))


def _waiting(world: FairWorld, name: str, queues: list[str], dice: random.Random) -> None:
    kind = dice.choice(["whole", "whole", "whole", "fraction", "memory", "none"])
    size = dice.choice([1, 1, 2, 4])
    pods = []
    for _ in range(dice.randint(1, 4)):
        if dice.random() < 0.2:
            size = dice.choice([1, 2])
        facts = _facts(dice)
        if kind == "fraction":
            facts["fraction"] = dice.choice([0.3, 0.5])
        elif kind == "memory":
            facts["gpu_memory"] = dice.choice([4000, 8000])
        pods.append(ask(gpu=size if kind == "whole" else 0, **facts))
    _job(world, name, queues, pods, dice)


def _facts(dice: random.Random) -> dict[str, Any]:
    """What a pod asks of nodes."""
    return {
        "labels": {"app": dice.choice(["db", "web"])},
        "cpu": dice.choice([100, 1000, 8000]),
        "node_selector": {"zone": "a"} if dice.random() < 0.1 else {},
        "tolerations": (TOLERATION,) if dice.random() < 0.5 else (),
        "affinity": dice.choice([*AFFINITIES, *WISHES]) if dice.random() < 0.15 else {},
        "host_ports": (("TCP", "0.0.0.0", 80),) if dice.random() < 0.05 else (),
    }


def _job(
    world: FairWorld,
    name: str,
    queues: list[str],
    pods: list[dict[str, Any]],
    dice: random.Random,
    **facts: Any,
) -> None:
    """A gang, an elastic job, one of two pod sets, or one that must stay together."""
    count = len(pods)
    if count > 1 and dice.random() < 0.2:
        half = count // 2
        level = {"topology": "dc", "requiredTopologyLevel": dice.choice(LEVELS)}
        facts["sub_groups"] = [
            SubGroup("head", min_member=half, topology_constraint=dice.choice([None, level])),
            SubGroup("tail", min_member=dice.randint(1, count - half)),
        ]
        for number, pod in enumerate(pods):
            group = "head" if number < half else "tail"
            pod["labels"] = {**pod["labels"], GROUP_LABEL: group}
    if dice.random() < 0.2:
        facts["topology_constraint"] = {
            "topology": "dc",
            dice.choice(["requiredTopologyLevel", "preferredTopologyLevel"]): dice.choice(LEVELS),
        }
    world.job(
        name,
        dice.choice(queues),
        *pods,
        min_member=dice.choice([count, count, 1, max(count - 1, 1)]),
        priority_class=dice.choice(["p50", "p50", "p75", "p125"]),
        created=float(dice.randint(0, 3)),
        **facts,
    )


def draw_contested(dice: random.Random) -> FairWorld:
    """Nodes full of jobs that are alike, whole GPUs or halves, and claims on them; or empty nodes.

    Some jobs that hold GPUs want more, so that they are claimants and victims at once.
    """
    world = FairWorld()
    slots: list[tuple[str, str]] = []
    halves = dice.random() < 0.4
    for number in range(dice.randint(2, 3)):
        name, gpus = f"n{number}", dice.choice([2, 2, 4])
        world.node(name, gpu=gpus, gpu_memory=16_000)
        slots += [(name, f"{name}-{gpu}") for gpu in range(gpus) for _ in range(1 + halves)]
    for value in (50, 75, 125):
        world.inventory.priority_classes[f"p{value}"] = PriorityClass(f"p{value}", value)
    total = len(slots) / (1 + halves)
    world.queue("d", total)
    names = ["q0", "q1", "q2"][: dice.choice([1, 2, 2, 3])]
    for name in names:
        world.queue(name, dice.choice([0, total // 2, total]), parent="d")
    dice.shuffle(slots)
    holes = dice.choice([(), (), (), {f"{name}-0" for name in world.inventory.nodes}])
    taken = [slot for slot in slots if slot[1] not in holes]
    taken = taken[: max(len(taken) - dice.choice([0, 0, 1, 2, 99]), 0)]
    claims = 1 if taken else 3
    number = 0
    while taken:
        size = dice.randint(1, 3)
        held, taken = taken[:size], taken[size:]
        pods = [_slot(place, halves, dice) for place in held]
        pods += [_claim(1, halves)] * dice.choice([0, 0, 0, 2])
        _alike(world, f"r{number}", names, pods, len(held), dice)
        number += 1
    for number in range(claims + dice.randint(0, 2)):
        sizes = dice.choice([[1], [1, 1], [2], [2], [2, 2], [2, 1, 1], [1, 1, 2], [2] * 4, [4, 4]])
        half = halves and dice.random() < 0.5
        pods = [_claim(size, half) for size in sizes]
        _alike(world, f"w{number}", names, pods, len(pods), dice)
    return world


def _slot(place: tuple[str, str], half: bool, dice: random.Random) -> dict[str, Any]:
    node, group = place
    facts = {"deleted": FairWorld().now} if dice.random() < 0.05 else {}
    if half:
        facts |= {"fraction": 0.5, "gpu_groups": (group,)}
    return ask(gpu=0 if half else 1, on=node, **facts)


def _claim(size: int, half: bool) -> dict[str, Any]:
    return ask(gpu=0, fraction=0.5) if half else ask(gpu=size)


def _alike(
    world: FairWorld,
    name: str,
    queues: list[str],
    pods: list[dict[str, Any]],
    count: int,
    dice: random.Random,
) -> None:
    world.job(
        name,
        dice.choice(queues),
        *pods,
        min_member=dice.choice([count, 1, max(count - 1, 1)]),
        priority_class=dice.choice(["p50", "p50", "p50", "p75", "p125"]),
        created=float(dice.randint(0, 2)),
        last_start=world.now - 1000,
    )
