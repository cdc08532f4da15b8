"""Clusters as operators have them: several node shapes, a tree of queues, gangs, nearly full.

The same shape and seed give the same cluster.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from pumice.model.facts import Inventory, Node, Pod, PodGroup, PriorityClass, Queue
from pumice.model.resources import Resource
from tests.bench._clusters import GI, GPU

Queues = Literal["proportion", "capacity", "hierarchy", "departments"]

NODE_SHAPES = {
    "cpu-32": (32, 128, 0),
    "cpu-64": (64, 512, 0),
    "gpu-4": (48, 384, 4),
    "gpu-8": (96, 1024, 8),
    "gpu-8-wide": (160, 1536, 8),
}
"""CPUs, Gi of memory, GPUs."""
TAINT = {"key": "dedicated", "value": "batch", "effect": "NoSchedule"}
TOLERATION = {"key": "dedicated", "operator": "Exists"}
GANGS = (1, 1, 1, 1, 2, 2, 2, 4, 4, 4, 8, 8, 16, 32, 64)
PRIORITIES = {
    "volcano": {"low": 10, "middle": 100, "high": 1000},
    "kai": {"low": 40, "train": 50, "build": 100, "inference": 125},
}
NAMESPACE = "bench"
_BORN = 1_700_000_000.0
_TRIES = 12
"""How many nodes are looked at for a running task; then it is left out."""
_REFUSALS = 20
"""After so many gangs in a row that fit nowhere the cluster is full."""


@dataclass(frozen=True)
class MixedShape:
    """What a mixed cluster is drawn from."""

    family: Literal["volcano", "kai"]
    nodes: int
    seed: int
    queues: Queues = "proportion"
    leaves: int = 0
    """How many queues have jobs; 0: from 4 to 20, by chance."""
    jobs: int = 0
    """How many jobs wait; 0: by the number of nodes."""
    grain: int = 8
    """Most GPUs of a running task; its CPUs shrink with it, so that there are more victims."""
    fill: float = 0.95
    """The part of the cluster that is in use."""

    @property
    def name(self) -> str:
        return f"{self.family[0]}-{self.nodes}-{self.queues}-{self.seed}"


def mixed_cluster(shape: MixedShape) -> Inventory:
    """The cluster of a shape."""
    return _Drawing(shape).inventory


class _Drawing:
    def __init__(self, shape: MixedShape) -> None:
        self.shape = shape
        self.dice = random.Random(f"{shape.family} {shape.nodes} {shape.queues} {shape.seed}")
        self.inventory = Inventory()
        values = PRIORITIES[shape.family]
        self.inventory.priority_classes = {
            name: PriorityClass(name, value) for name, value in values.items()
        }
        self.free: dict[str, Resource] = {}
        self._nodes()
        self.pools: dict[bool, list[str]] = {False: [], True: []}
        for name, free in self.free.items():
            self.pools[GPU in free.scalars].append(name)
        self.total = Resource(0, 0, {GPU: 0})
        for node in self.inventory.nodes.values():
            self.total.add(node.allocatable)
        leaves = shape.leaves or self.dice.randint(4, 20)
        self.leaves = (self._departments if shape.family == "kai" else self._queues)(leaves)
        self._running()
        wanted = shape.jobs or _pending_jobs(shape)
        for number in range(wanted):
            self._waiting(f"job-{number:05}")

    def _nodes(self) -> None:
        names = list(NODE_SHAPES)
        chosen = [*self.dice.sample(names[:2], 1), *self.dice.sample(names[2:], 1)]
        rest = [name for name in names if name not in chosen]
        chosen += self.dice.sample(rest, self.dice.randint(1, 3))
        for number in range(self.shape.nodes):
            # The first nodes have one shape each, so that none is missing in a small cluster.
            kind = chosen[number] if number < len(chosen) else self.dice.choice(chosen)
            cpu, memory, gpus = NODE_SHAPES[kind]
            name, pods = f"node-{number:05}", self.dice.choice([64, 110, 110, 250])
            room = Resource(cpu * 1000, memory * GI, {"pods": pods})
            labels = {
                "kubernetes.io/hostname": name, "zone": self.dice.choice("abc"), "shape": kind,
            }  # fmt: skip
            if gpus:
                room.set(GPU, gpus * 1000)
                labels["nvidia.com/gpu.count"] = str(gpus)
                labels["nvidia.com/gpu.memory"] = "81920"
            taints = (TAINT,) if self.dice.random() < 0.1 else ()
            self.inventory.nodes[name] = Node(name, room, room, pods, labels, taints=taints)
            self.free[name] = room.clone()

    def _queues(self, leaves: int) -> list[str]:
        """Volcano's: flat, or a tree of two levels below the root."""
        kind, parents = self.shape.queues, [""]
        if kind == "hierarchy":
            self._queue("root")
            parents = [f"team-{number}" for number in range(self.dice.randint(2, 3))]
            for name in parents:
                deserved = self._part(1 / len(parents))
                self._queue(name, parent="root", weight=self.dice.randint(1, 8), deserved=deserved)
        names = [f"queue-{number:02}" for number in range(leaves)]
        for name in names:
            part = self.dice.uniform(0.5, 1.5) / leaves
            limited = self.dice.random() < 0.2
            self._queue(
                name,
                parent=self.dice.choice(parents),
                weight=self.dice.randint(1, 8),
                priority=self.dice.choice([0, 0, 0, 2, 5]),
                reclaimable=self.dice.random() < 0.9,
                deserved=None if kind == "proportion" else self._part(part),
                limit=self._part(min(3 * part, 1)) if limited else None,
            )
        return names

    def _departments(self, leaves: int) -> list[str]:
        """KAI's: departments with quota, limit and over-quota weight, and queues in them."""
        departments = [f"department-{number}" for number in range(self.dice.randint(2, 4))]
        gpus = self.total.get(GPU) / 1000
        for name in departments:
            self._kai_queue(name, gpus / len(departments))
        names = [f"queue-{number:02}" for number in range(leaves)]
        for name in names:
            quota = self.dice.choice([0, 0.5, 1, 1, 1.5]) * gpus / leaves
            self._kai_queue(name, quota, parent=self.dice.choice(departments))
        return names

    def _kai_queue(self, name: str, gpus: float, parent: str = "") -> None:
        limited = self.dice.random() < 0.3
        limit = math.ceil(gpus * self.dice.uniform(1.5, 3)) + 4 if limited else math.inf
        self._queue(
            name,
            family="kai",
            parent=parent,
            priority=self.dice.choice([100, 100, 100, 200]),
            deserved=Resource(math.inf, math.inf, {GPU: int(gpus) * 1000}),
            limit=Resource(math.inf, math.inf, {GPU: limit * 1000}),
            over_quota_weight=Resource(1, 1, {GPU: self.dice.randint(0, 3)}),
        )

    def _queue(self, name: str, **facts: Any) -> None:
        created = _BORN + len(self.inventory.queues)
        self.inventory.queues[name] = Queue(name, created=created, **facts)
        if facts.get("parent"):
            self.inventory.queues[facts["parent"]].children.append(name)

    def _part(self, part: float) -> Resource:
        """Such a part of the cluster, in whole CPUs, Gi and GPUs."""
        return Resource(
            int(self.total.cpu * part) // 1000 * 1000,
            int(self.total.memory * part) // GI * GI,
            {GPU: int(self.total.get(GPU) * part) // 1000 * 1000},
        )

    def _running(self) -> None:
        """Gangs until this part of the GPUs, then of the CPUs is in use, or nothing fits."""
        number = 0
        for resource in (GPU, "cpu"):
            total, refused = self.total.get(resource), 0
            used = total - sum(free.get(resource) for free in self.free.values())
            goal = self.shape.fill * total
            while used < goal and refused < _REFUSALS:
                request = self._request(resource == GPU, self.shape.grain)
                facts = self._constraints()
                size = self.dice.choice(GANGS)
                places = [self._place(request, facts) for _ in range(size)]
                places = [node for node in places if node]
                refused = 0 if places else refused + 1
                if places:
                    self._gang(f"run-{number:05}", request, facts, places)
                    used, number = used + len(places) * request.get(resource), number + 1

    def _place(self, request: Resource, facts: dict[str, Any]) -> str:
        # Tasks without GPUs leave most nodes with GPUs alone, as pools of nodes do.
        with_gpu = GPU in request.scalars or self.dice.random() < 0.2
        names = self.pools[with_gpu]
        for name in self.dice.sample(names, min(_TRIES, len(names))):
            node, free = self.inventory.nodes[name], self.free[name]
            zone = facts.get("node_selector", {}).get("zone", node.labels["zone"])
            if node.labels["zone"] != zone or (node.taints and "tolerations" not in facts):
                continue
            if request.less_equal(free):
                free.sub(request)
                return name
        return ""

    def _waiting(self, name: str) -> None:
        size = self.dice.choice(GANGS)
        request = self._request(self.dice.random() < 0.6, 8)
        self._gang(name, request, self._constraints(), [""] * size)

    def _request(self, with_gpu: bool, grain: int) -> Resource:
        memory = self.dice.choice([1, 4, 16, 32])
        if with_gpu:
            gpus = self.dice.choice([count for count in (1, 1, 1, 2, 2, 4, 8) if count <= grain])
            cpus = gpus * self.dice.choice([2, 4, 6])
            return Resource(cpus * 1000, memory * GI, {"pods": 1, GPU: gpus * 1000})
        cpus = self.dice.choice([500, 1000, 2000, 4000, 8000, 16_000]) * grain // 8
        return Resource(cpus, memory * GI // 4, {"pods": 1})

    def _constraints(self) -> dict[str, Any]:
        facts: dict[str, Any] = {}
        if self.dice.random() < 0.08:
            facts["node_selector"] = {"zone": self.dice.choice("abc")}
        if self.dice.random() < 0.15:
            facts["tolerations"] = (TOLERATION,)
        return facts

    def _gang(
        self, name: str, request: Resource, facts: dict[str, Any], places: Sequence[str]
    ) -> None:
        """A job with a pod for each place; an empty place means that it waits."""
        family, uid, size = self.shape.family, f"{NAMESPACE}/{name}", len(places)
        priorities = list(PRIORITIES[family])
        priority = self.dice.choice([priorities[0], *priorities])
        least = max(size // 2, 1) if self.dice.random() < 0.35 else size
        created = _BORN + 1000 + len(self.inventory.pods)
        group = PodGroup(
            uid, name, NAMESPACE, family, self.dice.choice(self.leaves), least,
            priority_class=priority, created=created,
        )  # fmt: skip
        if family == "kai":
            group = replace(group, last_start=created if places[0] else None)
        else:
            phase = "Running" if places[0] else self.dice.choice(["Inqueue", "Inqueue", "Pending"])
            group = replace(group, phase=phase, min_resources=request.scaled(least))
            spared = "false" if self.dice.random() < 0.1 else "true"
            facts = {**facts, "labels": {"volcano.sh/preemptable": spared}}
        self.inventory.groups[uid] = group
        for index, node in enumerate(places):
            pod = f"{name}-{index}"
            self.inventory.pods[pod] = Pod(
                pod, pod, NAMESPACE, request, group=uid, created=created + index,
                phase="Running" if node else "Pending", node_name=node,
                priority=PRIORITIES[family][priority], priority_class=priority, **facts,
            )  # fmt: skip


def _pending_jobs(shape: MixedShape) -> int:
    if shape.family == "kai":
        # A search of the solver may last as long as a whole cycle of Volcano's actions.
        return 4 + shape.nodes % 5 if shape.nodes < 100 else 4
    return min(6 + shape.nodes // 4, 60)
