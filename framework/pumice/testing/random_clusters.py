"""Small random clusters, drawn by a seeded generator or by hypothesis."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

from pumice.testing.cluster import NOW, Cluster, amount

Pick = Callable[[Sequence[Any]], Any]
"""Chooses one of several values; the first is the simplest, for shrinking."""

TAINT = {"key": "dedicated", "value": "batch", "effect": "NoSchedule"}
SOFT_TAINT = {"key": "slow", "value": "", "effect": "PreferNoSchedule"}
TOLERATION = {"key": "dedicated", "operator": "Exists"}
TERM = {"labelSelector": {"matchLabels": {"app": "db"}}, "topologyKey": "zone"}
PREFERRED = {
    "weight": 1,
    "preference": {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["b"]}]},
}
AFFINITIES = (
    {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [TERM]}},
    {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [TERM]}},
    {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [PREFERRED]}},
)


def draw_cluster(pick: Pick) -> Cluster:
    """A cluster of up to five nodes and eight jobs, with all kinds of constraints."""
    cluster = Cluster()
    names = [f"n{i}" for i in range(pick([1, 2, 3, 4, 5]))]
    for name in names:
        _draw_node(cluster, name, pick)
    queues = ["q", "r"][: pick([1, 2])]
    for number, queue in enumerate(queues):
        cluster.queue(queue, weight=number + 1, created=float(pick([0, 1])))
    for number in range(pick([1, 2, 3, 4, 5])):
        _draw_job(cluster, f"j{number}", names, queues, pick)
    for number in range(pick([0, 1, 2, 3])):
        _draw_running(cluster, f"old{number}", pick(names), pick(queues), pick)
    return cluster


def _draw_node(cluster: Cluster, name: str, pick: Pick) -> None:
    cluster.node(
        name,
        cpu=pick([4, 2, 1, 3]),
        memory=pick([8, 4, 2]),
        gpu=pick([0, 0, 2, 4]),
        pods=pick([110, 110, 2, 3]),
        labels={"zone": pick(["a", "b"]), "kubernetes.io/hostname": name},
        taints=pick([(), (), (), (TAINT,), (SOFT_TAINT,)]),
        unschedulable=pick([False] * 9 + [True]),
    )


def _draw_job(
    cluster: Cluster, name: str, nodes: Sequence[str], queues: Sequence[str], pick: Pick
) -> None:
    count = pick([1, 2, 3, 4])
    requirements = _draw_requirements(pick)
    roles = pick([(), (), ("ps", "worker")])
    min_roles = {role: pick([1, 0, 2]) for role in roles}
    cluster.job(
        name,
        tasks=0,
        min_member=pick([count, count, 1, 0, max(count - 1, 0)]),
        queue=pick(queues),
        phase=pick(["Inqueue", "Inqueue", "Pending", "", "Running"]),
        priority=pick([0, 5, 10]),
        created=float(pick([0, 1, 2])),
        min_task_member={role: least for role, least in min_roles.items() if least},
        min_resources=pick([None, None, amount(1, 1), amount(3, 2), amount(9, 9)]),
    )
    priority = cluster.inventory.groups[f"ns/{name}"].priority_class.removeprefix("p")
    for number in range(count):
        node = pick(["", "", "", pick(nodes)])
        facts = {**requirements, "priority": pick([int(priority or 0), 1])}
        if pick([False] * 3 + [True]):
            facts |= _draw_requirements(pick)
        if node:
            facts["phase"] = pick(["Running"] * 4 + ["Pending", "Succeeded"])
            facts["deleted"] = pick([None, None, NOW])
        else:
            facts["phase"] = pick(["Pending"] * 5 + ["Failed"])
            facts["nominated_node"] = pick(["", "", "", pick(nodes)])
            facts["gates"] = pick([()] * 9 + [("example.com/wait",)])
        cluster.pod(
            f"{name}-t-{number}",
            f"ns/{name}",
            node=node,
            role=pick(roles) if roles else "",
            created=float(pick([0, 1])),
            **facts,
        )


def _draw_running(cluster: Cluster, name: str, node: str, queue: str, pick: Pick) -> None:
    """Pods that are on a node already, some terminating, some without a job."""
    if pick([True, True, False]):
        cluster.job(name, tasks=0, min_member=pick([0, 1]), queue=queue, phase="Running")
    for number in range(pick([1, 2])):
        cluster.pod(
            f"{name}-t-{number}",
            f"ns/{name}",
            node=node,
            phase=pick(["Running", "Pending"]),
            deleted=pick([NOW, None]),
            **_draw_requirements(pick),
        )


def _draw_requirements(pick: Pick) -> dict[str, Any]:
    """The requests and constraints of a pod."""
    has_requests = pick([True] * 5 + [False])
    return {
        "cpu": pick([1, 2, 0.5]) if has_requests else 0,
        "memory": pick([1, 0, 2]) if has_requests else 0,
        "gpu": pick([0, 0, 0, 1]) if has_requests else 0,
        "node_selector": pick([{}, {}, {}, {"zone": "a"}]),
        "tolerations": pick([(), (TOLERATION,)]),
        "labels": pick([{}, {"app": "db"}]),
        "affinity": pick([{}] * 9 + list(AFFINITIES)),
        "host_ports": pick([()] * 7 + [(("TCP", "0.0.0.0", 80),)]),
    }


def seeded_cluster(seed: int) -> Cluster:
    """The same cluster for the same seed."""
    return draw_cluster(random.Random(seed).choice)
