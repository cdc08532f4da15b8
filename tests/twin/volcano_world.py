"""Random clusters of the Volcano family in which room is short."""

from __future__ import annotations

import random
from typing import Any

from pumice.model.facts import DisruptionBudget, HyperNode, NetworkTopology, SubGroupPolicy
from pumice.testing.cluster import NOW, Cluster, amount
from pumice.testing.random_clusters import AFFINITIES, SOFT_TAINT, TAINT, TOLERATION

NEAR = {"labelSelector": {"matchLabels": {"app": "db"}}, "topologyKey": "zone"}
SPREAD = {
    "maxSkew": 1,
    "topologyKey": "zone",
    "labelSelector": {"matchLabels": {"app": "db"}},
}
WISHES = (
    {"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
        {"weight": 10, "podAffinityTerm": NEAR}]}},
    {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
        {"weight": 10, "podAffinityTerm": NEAR}]}},
)  # fmt: skip
GONE = "gone"
"""A node that is no more: what ran there is not known to have ended."""
PATHS = ("root/eng/dev", "root/eng/prod", "root/sci")


def draw(dice: random.Random, *, guests: bool = False) -> Cluster:
    """A few nodes, most of them full, and jobs that want more than is left.

    With ``guests`` some jobs are of the KAI family.
    """
    cluster = Cluster()
    names = [f"n{i}" for i in range(dice.randint(2, 3))]
    for name in names:
        _node(cluster, name, dice)
    free = {name: node.allocatable.cpu for name, node in cluster.inventory.nodes.items()}
    _hyper_nodes(cluster, names)
    queues = _queues(cluster, dice)
    for number in range(dice.choice([0, 2, 4, 5])):
        _running(cluster, f"r{number}", free, queues, dice, guests)
    for number in range(dice.randint(1, 3)):
        _waiting(cluster, f"w{number}", names, queues, dice, guests)
    if dice.random() < 0.3:
        cluster.inventory.budgets["db"] = DisruptionBudget(
            "db", "ns", {"matchLabels": {"app": "db"}}, disruptions_allowed=dice.randint(0, 2)
        )
    return cluster


def _node(cluster: Cluster, name: str, dice: random.Random) -> None:
    cluster.node(
        name,
        cpu=dice.choice([1, 2, 2, 4]),
        memory=dice.choice([4, 8, 16]),
        gpu=dice.choice([0, 0, 2, 4]),
        pods=dice.choice([110, 110, 110, 3]),
        labels={"zone": dice.choice("ab"), "kubernetes.io/hostname": name},
        taints=dice.choice([(), (), (), (), (TAINT,), (SOFT_TAINT,)]),
        unschedulable=dice.random() < 0.05,
    )


def _hyper_nodes(cluster: Cluster, names: list[str]) -> None:
    def members(kind: str, *members: str) -> list[dict[str, Any]]:
        return [{"type": kind, "selector": {"exactMatch": {"name": name}}} for name in members]

    half = len(names) // 2
    for name, tier, listed in (
        ("s0", 1, members("Node", *names[:half])),
        ("s1", 1, members("Node", *names[half:])),
        ("top", 2, members("HyperNode", "s0", "s1")),
    ):
        cluster.inventory.hypernodes[name] = HyperNode(name, tier, members=listed)


def _queues(cluster: Cluster, dice: random.Random) -> list[str]:
    """Two or three queues; those of one cluster in three hang below others."""
    names = ["q0", "q1", "q2"][: dice.choice([1, 1, 2, 3])]
    nested = dice.random() < 0.33
    if nested:
        cluster.queue("root").queue("team", parent="root", deserved=amount(6, 16, 4))
        cluster.inventory.queues["root"].children.append("team")
    for number, name in enumerate(names):
        above = ("team" if number else "root") if nested else ""
        cluster.queue(
            name,
            weight=dice.choice([1, 1, 2, 4]),
            priority=dice.choice([0, 0, 0, 5]),
            parent=above,
            reclaimable=dice.random() < 0.85,
            deserved=dice.choice([None, amount(2, 4), amount(4, 8, 2)]),
            guarantee=dice.choice([None, None, amount(1, 1)]),
            limit=dice.choice([None, None, amount(6, 12, 4), amount(3, 6, 1)]),
            state="Open" if dice.random() < 0.95 else "Closed",
            created=float(dice.randint(0, 1)),
            annotations={
                "volcano.sh/hierarchy": PATHS[number],
                "volcano.sh/hierarchy-weights": "1/2/4"[: 2 * PATHS[number].count("/") + 1],
            },
        )
        if above:
            cluster.inventory.queues[above].children.append(name)
    return names


def _family(dice: random.Random, guests: bool) -> str:
    return "kai" if guests and dice.random() < 0.4 else "volcano"


def _running(
    cluster: Cluster,
    name: str,
    free: dict[str, float],
    queues: list[str],
    dice: random.Random,
    guests: bool,
) -> None:
    count = dice.randint(1, 3)
    growing = dice.choice([0, 0, 2])
    minimum = dice.choice([1, 1, count, max(count - 1, 1)])
    cluster.job(
        name,
        tasks=0,
        min_member=count + 1 if growing else minimum,
        queue=dice.choice(queues),
        phase="Running",
        family=_family(dice, guests),
        priority=dice.choice([0, 0, 5, 10]),
        created=float(dice.randint(0, 3)),
        last_start=NOW - dice.choice([10, 1000]),
    )
    shape = _shape(dice)
    for number in range(count + growing):
        fitting = [node for node, left in free.items() if left >= shape["cpu"] * 1000]
        waits = number >= count or dice.random() < 0.1 or not fitting
        node = "" if waits else dice.choice(fitting)
        if node:
            free[node] -= shape["cpu"] * 1000
        if node and dice.random() < 0.02:
            node = GONE
        spared = {"volcano.sh/preemptable": "false"} if dice.random() < 0.07 else {}
        cluster.pod(
            f"{name}-t-{number}",
            f"ns/{name}",
            node=node,
            phase="Pending" if waits else "Running",
            priority=dice.choice([0, 5]),
            created=float(dice.randint(0, 1)),
            start_time=None if waits else NOW - dice.randint(1, 5),
            deleted=NOW if not waits and dice.random() < 0.12 else None,
            annotations={"volcano.sh/preemptable": "true", **spared},
            **shape,
        )


def _waiting(
    cluster: Cluster,
    name: str,
    nodes: list[str],
    queues: list[str],
    dice: random.Random,
    guests: bool,
) -> None:
    count = dice.randint(1, 3)
    roles = dice.choice([(), (), ("ps", "worker")])
    facts: dict[str, Any] = {"family": _family(dice, guests)}
    if facts["family"] == "volcano" and dice.random() < 0.25:
        facts["network_topology"] = NetworkTopology(dice.choice(["hard", "soft"]), 1)
    elif facts["family"] == "volcano" and dice.random() < 0.15:
        facts["sub_group_policies"] = [
            SubGroupPolicy("part", match_label_keys=("app",), size=2, min_sub_groups=1)
        ]
    if roles and dice.random() < 0.5:
        facts["annotations"] = {"volcano.sh/task-topology-affinity": "ps,worker"}
    cluster.job(
        name,
        tasks=0,
        min_member=dice.choice([count, count, 1, max(count - 1, 1)]),
        queue=dice.choice(queues),
        phase=dice.choice(["Inqueue", "Inqueue", "Inqueue", "Pending", "Running"]),
        priority=dice.choice([0, 5, 10, 10, 10]),
        created=float(dice.randint(0, 3)),
        min_task_member={role: dice.randint(0, 2) for role in roles},
        min_resources=dice.choice([None, None, amount(1, 1), amount(4, 4)]),
        **facts,
    )
    shape = _shape(dice)
    for number in range(count):
        if dice.random() < 0.2:
            shape = _shape(dice)
        elif roles:
            shape["cpu"] = dice.choice([0.5, 1, 2])
        cluster.pod(
            f"{name}-t-{number}",
            f"ns/{name}",
            role=dice.choice(roles) if roles else "",
            priority=dice.choice([0, 10]),
            created=float(dice.randint(0, 1)),
            nominated_node=dice.choice(nodes) if dice.random() < 0.1 else "",
            preemption_policy="Never" if dice.random() < 0.05 else "",
            gates=("example.com/wait",) if dice.random() < 0.03 else (),
            **shape,
        )


def _shape(dice: random.Random) -> dict[str, Any]:
    """What a pod asks for: of resources, and of nodes."""
    plain = dice.random() < 0.9
    return {
        "cpu": dice.choice([0.5, 1, 1, 2]) if plain else 0,
        "memory": dice.choice([0, 1, 2]) if plain else 0,
        "gpu": dice.choice([0, 0, 0, 1]) if plain else 0,
        "node_selector": {"zone": "a"} if dice.random() < 0.1 else {},
        "tolerations": (TOLERATION,) if dice.random() < 0.3 else (),
        "labels": {"app": dice.choice(["db", "web"])},
        "affinity": dice.choice([*AFFINITIES, *WISHES]) if dice.random() < 0.25 else {},
        "topology_spread": (
            [{**SPREAD, "whenUnsatisfiable": dice.choice(["DoNotSchedule", "ScheduleAnyway"])}]
            if dice.random() < 0.08
            else ()
        ),
        "host_ports": (("TCP", "0.0.0.0", 80),) if dice.random() < 0.06 else (),
    }


def draw_contested(dice: random.Random) -> Cluster:
    """Full nodes in two rooms and jobs that are alike, so that who is served first decides.

    Some jobs only hold tasks, some hold less than their minimum, some hold nothing.
    """
    cluster = Cluster()
    rooms = {"a": 0, "b": 0}
    queues = ["q0", "q1"][: dice.choice([1, 2])]
    for queue in queues:
        cluster.queue(queue, weight=dice.choice([1, 2]), deserved=amount(dice.randint(1, 4), 8))
    kinds = [
        *[("v", dice.randint(1, 4), 0, 0, "b", "") for _ in range(dice.randint(1, 2))],
        *[("c", dice.randint(1, 3), 3, 5, "a", "b") for _ in range(dice.randint(2, 4))],
        *[("t", 0, dice.randint(1, 2), 20, "a", "a") for _ in range(dice.randint(1, 2))],
    ]
    for number, (kind, running, waiting, priority, room, wanted) in enumerate(kinds):
        name = f"{kind}{number}"
        rooms[room] += running
        cluster.job(
            name,
            tasks=0,
            min_member=dice.choice([1, running]) if kind == "v" else running + 1,
            queue={"v": queues[0], "t": queues[-1]}.get(kind) or dice.choice(queues),
            phase="Running",
            priority=priority,
            created=float(dice.randint(0, 1)),
        )
        for index in range(running + waiting):
            held = index < running
            cluster.pod(
                f"{name}-t-{index}",
                f"ns/{name}",
                node=room if held else "",
                node_selector={} if held or dice.random() < 0.1 else {"room": wanted},
                annotations={"volcano.sh/preemptable": "true"},
            )
    for room, running in rooms.items():
        free = dice.choice([0, 0, 1, 2])
        cluster.node(room, cpu=max(running + free, 1), memory=64, labels={"room": room})
    return cluster


def draw_roomy(dice: random.Random) -> Cluster:
    """Nodes of different sizes, mostly idle, and jobs whose tasks of one role differ in size."""
    cluster = Cluster()
    for number in range(dice.randint(2, 3)):
        cluster.node(f"n{number}", cpu=dice.choice([1, 2, 3, 4]), gpu=dice.choice([0, 1, 2]))
    for queue in ("q0", "q1"):
        cluster.queue(queue, weight=dice.choice([1, 2]))
    for number in range(dice.randint(2, 5)):
        name, count = f"w{number}", dice.randint(1, 4)
        minimum = dice.choice([count, 1])
        cluster.job(name, tasks=0, min_member=minimum, queue=dice.choice(["q0", "q1"]))
        for index in range(count):
            cluster.pod(
                f"{name}-t-{index}",
                f"ns/{name}",
                cpu=dice.choice([0.5, 1, 2]),
                gpu=dice.choice([0, 0, 1]),
                role=dice.choice(["worker", "worker", "ps"]),
                host_ports=(("TCP", "0.0.0.0", 80),) if dice.random() < 0.1 else (),
            )
    return cluster
