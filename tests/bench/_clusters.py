"""Clusters and policies to measure on, and the list of all cases."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pumice.model.facts import Inventory, Node, Pod, PodGroup, Queue
from pumice.model.resources import Resource

GI = 1 << 30
GPU = "nvidia.com/gpu"


@dataclass(frozen=True)
class Case:
    """One row of the table: a cluster, a policy, and the action whose time counts."""

    family: str
    kind: str
    nodes: int
    jobs: int
    tasks: int
    """Tasks of each job."""
    policy: Mapping[str, Any]
    cluster: Callable[[Case], Inventory]
    action: str = "allocate"
    gpu: int = 0
    """GPUs that each task asks for."""

    @property
    def name(self) -> str:
        size = f"{self.nodes} nodes, {self.jobs} x {self.tasks} tasks"
        return f"{self.family} {self.kind}, {size}" + (f", {self.gpu} gpu" if self.gpu else "")


def empty_nodes(count: int) -> Inventory:
    """Nodes of 32 cpu, 128Gi, 8 GPUs and 110 pods."""
    inventory = Inventory()
    for number in range(count):
        room = Resource(32_000, 128 * GI, {GPU: 8000, "pods": 110})
        name = f"node-{number:05}"
        inventory.nodes[name] = Node(name, room, room, 110, labels={"kubernetes.io/hostname": name})
    return inventory


def add_gang(inventory: Inventory, number: int, queue: str, tasks: int, request: Resource) -> None:
    """A pending job that runs with all its tasks or not at all."""
    name, created = f"job-{number:05}", 1_800_000_000.0 + number
    inventory.groups[f"bench/{name}"] = PodGroup(
        f"bench/{name}",
        name,
        "bench",
        queue=queue,
        min_member=tasks,
        phase="Inqueue",
        created=created,
    )
    for index in range(tasks):
        pod = f"{name}-task-{index}"
        inventory.pods[pod] = Pod(
            pod, pod, "bench", request.clone(), group=f"bench/{name}", created=created
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


def volcano(*plugins: str) -> dict[str, Any]:
    return {
        "actions": ["allocate"],
        "tiers": [
            {"plugins": ["priority", "gang", "conformance"]},
            {"plugins": list(plugins)},
        ],
        "scheduler": {"on_plugin_error": "raise"},
    }


PLAIN = volcano("predicates", "nodeorder", "binpack")
SHARES = volcano("drf", "predicates", "proportion", "nodeorder", "binpack")

CASES = [
    *(
        Case("volcano", "allocate", nodes, 1000, 10, PLAIN, pending_gangs)
        for nodes in (1000, 5000, 10_000)
    ),
    *(
        Case("volcano", "allocate with shares", nodes, 1000, 10, SHARES, pending_gangs)
        for nodes in (1000, 5000, 10_000)
    ),
    Case("volcano", "allocate with shares", 1000, 10_000, 1, SHARES, pending_gangs),
]
"""A case is added by adding it here."""
