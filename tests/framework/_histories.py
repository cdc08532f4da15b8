"""Clusters of both families whose objects change at random between cycles."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from pumice.model.facts import (
    HyperNode,
    Inventory,
    NetworkTopology,
    Node,
    PriorityClass,
    Queue,
    SubGroup,
    SubGroupPolicy,
)
from pumice.testing.cluster import NOW, amount
from pumice.testing.random_clusters import TAINT
from tests.framework._worlds import seeded_world
from tests.plugins._fair import FairWorld, ask

FABRIC = "example.com/fabric"


def volcano(seed: int) -> Inventory:
    """A random cluster with some rare features."""
    dice = random.Random(seed)
    inventory = seeded_world(seed).inventory
    names = sorted(inventory.nodes)
    if dice.random() < 0.3:
        for number, name in enumerate(names):
            inventory.hypernodes[f"rack-{number % 2}"] = rack(number % 2)
            node = inventory.nodes[name]
            labels = {**node.labels, "rack": str(number % 2)}
            inventory.nodes[name] = replace(node, labels=labels)
    for uid, group in inventory.groups.items():
        changes: dict[str, Any] = {}
        if dice.random() < 0.2:
            changes["network_topology"] = NetworkTopology(dice.choice(["hard", "soft"]), 1)
        if dice.random() < 0.2:
            policy = SubGroupPolicy("part", match_label_keys=("app",), size=1, min_sub_groups=1)
            changes["sub_group_policies"] = (policy,)
        if dice.random() < 0.1:
            changes["annotations"] = {"volcano.sh/preemptable": "true"}
        inventory.groups[uid] = replace(group, **changes)
    for uid, pod in inventory.pods.items():
        name = dice.choice(["", "", "", "volcano", "other-scheduler"])
        inventory.pods[uid] = replace(pod, scheduler_name=name)
    return inventory


def rack(number: int) -> HyperNode:
    selector = {"labelMatch": {"matchLabels": {"rack": str(number)}}}
    return HyperNode(f"rack-{number}", 1, members=[{"type": "Node", "selector": selector}])


def kai(seed: int) -> Inventory:
    """Queues in a tree, whole and shared GPUs, claims, pending bind requests, pod sets."""
    dice = random.Random(seed)
    world = FairWorld()
    names = [f"n{i}" for i in range(dice.randint(1, 5))]
    for name in names:
        world.node(name, gpu=dice.choice([2, 4, 8]), gpu_memory=dice.choice([None, 16_000]))
    world.queue("top", quota=6, limit=dice.choice([6, 20]))
    for name in ("a", "b", "c")[: dice.randint(1, 3)]:
        world.queue(name, quota=dice.choice([0, 2, 4]), parent="top")
    queues = [name for name in world.inventory.queues if name != "top"]
    for number in range(dice.randint(1, 7)):
        world.job(
            f"j{number}",
            dice.choice(queues),
            *[_kai_pod(dice, names) for _ in range(dice.randint(1, 3))],
            min_member=dice.choice([None, 1]),
            **_kai_group(dice),
        )
    others = world.inventory.others
    others["ResourceClaim"] = {"ns/claim": claim(2)}
    if dice.random() < 0.3:
        devices = [{"name": "gpu-0"}, {"name": "gpu-1"}]
        spec = {"driver": "gpu.example.com", "nodeName": names[0], "devices": devices}
        others["ResourceSlice"] = {"slice": {"spec": spec}}
    return world.inventory


def claim(count: int) -> dict[str, Any]:
    request = {"name": "r", "exactly": {"deviceClassName": "gpu.example.com", "count": count}}
    labels = {"kai.scheduler/queue": "a"}
    return {"metadata": {"labels": labels}, "spec": {"devices": {"requests": [request]}}}


def _kai_pod(dice: random.Random, nodes: list[str]) -> dict[str, Any]:
    pod = ask(gpu=dice.choice([0, 1, 1, 2]), scheduler_name=dice.choice(["", "", "else"]))
    node = dice.choice([*nodes, "", "", ""])
    if dice.random() < 0.4:
        pod |= {"gpu": 0, dice.choice(["fraction", "gpu_memory"]): dice.choice([0.5, 0.3])}
        if "gpu_memory" in pod:
            pod["gpu_memory"] = dice.choice([4000, 8000])
        if node:
            pod["labels"] = {"runai-gpu-group": dice.choice(["0", "1", "x"])}
    if node:
        pod |= {"on": node, "deleted": dice.choice([None, None, NOW])}
    elif dice.random() < 0.1:
        pod["resource_claims"] = ({"resourceClaimName": "claim"},)
    if dice.random() < 0.2:
        pod["labels"] = {**pod.get("labels", {}), "kai.scheduler/subgroup-name": "left"}
    return pod


def _kai_group(dice: random.Random) -> dict[str, Any]:
    facts: dict[str, Any] = {"phase": dice.choice(["", "Running"])}
    if dice.random() < 0.2:
        facts |= {"last_start": NOW - dice.choice([5, 500]), "stale_since": NOW - 100}
    if dice.random() < 0.2:
        inner = (SubGroup("left", 1, "all"), SubGroup("right", 1, "all"))
        facts["sub_groups"] = (SubGroup("all"), *inner)
    if dice.random() < 0.3:
        facts["preemptibility"] = dice.choice(["preemptible", "non-preemptible"])
    return facts


def mixed(seed: int) -> Inventory:
    """Both families on the same nodes."""
    one, other = kai(seed), volcano(seed + 1)
    return replace(
        one,
        pods=one.pods | other.pods,
        groups={f"{uid}": group for uid, group in (other.groups | one.groups).items()},
        nodes=one.nodes | other.nodes,
        queues=one.queues | other.queues,
        priority_classes=other.priority_classes,
        hypernodes=other.hypernodes,
    )


FAMILIES: dict[str, Callable[[int], Inventory]] = {"volcano": volcano, "kai": kai, "mixed": mixed}


@dataclass
class Life:
    """Changes an inventory at random; the same seed changes equal inventories alike."""

    seed: int
    dice: random.Random = field(init=False)
    made: int = 0
    left: dict[str, Node] = field(default_factory=dict)
    """Nodes that have left and may come back."""

    def __post_init__(self) -> None:
        self.dice = random.Random(self.seed)

    def goes_on(self, inventory: Inventory, *, rate: float = 0.2) -> Inventory:
        """The inventory of the next cycle; the facts of the last one are not changed."""
        result = replace(
            inventory,
            pods=dict(inventory.pods),
            nodes=dict(inventory.nodes),
            groups=dict(inventory.groups),
            queues=dict(inventory.queues),
            priority_classes=dict(inventory.priority_classes),
            hypernodes=dict(inventory.hypernodes),
            others={kind: dict(objects) for kind, objects in inventory.others.items()},
        )
        for change, objects in (
            (self._change_pod, result.pods),
            (self._change_group, result.groups),
            (self._change_node, result.nodes),
            (self._change_queue, result.queues),
        ):
            for name in sorted(objects):
                if self.dice.random() < rate:
                    change(result, name)
        if self.dice.random() < rate:
            self._rare(result)
        for uid, pod in inventory.pods.items():
            if pod.node_name and pod.node_name not in result.nodes:
                result.pods.pop(uid, None)  # the pods of a deleted node are deleted, too
        binds = result.others.get("BindRequest", {})
        for key, bind in list(binds.items()):
            if bind["spec"]["selectedNode"] not in result.nodes:
                del binds[key]
        return result

    def moves_nodes(self, inventory: Inventory) -> Inventory:
        """Nodes leave while pods run on them, come back, and new ones come between the others."""
        nodes = dict(inventory.nodes)
        for name in sorted(nodes):
            if self.dice.random() < 0.15 and len(nodes) > 1:
                self.left[name] = nodes.pop(name)
        for name in sorted(self.left):
            if self.dice.random() < 0.3:
                nodes[name] = self.left.pop(name)
        if self.dice.random() < 0.4:
            self.made += 1
            name = f"{self._pick('a', 'm', 'z')}{self.made}"
            nodes[name] = replace(nodes[self._pick(*sorted(nodes))], name=name)
        order = list(nodes)
        self.dice.shuffle(order)
        return replace(inventory, nodes={name: nodes[name] for name in order})

    def _pick(self, *values: Any) -> Any:
        return self.dice.choice(values)

    def _change_pod(self, inventory: Inventory, uid: str) -> None:
        pods = inventory.pods
        pod = pods[uid]
        match self._pick("gone", "done", "label", "going", "twin", "move", "group", "prio", "ask"):
            case "gone":
                del pods[uid]
            case "done":
                pods[uid] = replace(
                    pod, phase=self._pick("Succeeded", "Failed"), status_override=""
                )
            case "label":
                pods[uid] = replace(pod, labels={**pod.labels, "app": self._pick("db", "web")})
            case "going" if pod.node_name:
                pods[uid] = replace(pod, deleted=NOW)
            case "twin":
                self.made += 1
                name = f"{uid.split('+')[0]}+{self.made}"
                pods[name] = replace(
                    pod, uid=name, name=name, node_name="", phase="Pending", status_override=""
                )
            case "move":
                node = self._pick("", *sorted(inventory.nodes))
                phase = "Running" if node else "Pending"
                pods[uid] = replace(pod, node_name=node, phase=phase)
            case "group":
                group = self._pick("", "ns/none", *sorted(inventory.groups))
                pods[uid] = replace(pod, group=group)
            case "prio":
                pods[uid] = replace(
                    pod, priority=self._pick(1, 5, 50), gates=self._pick((), ("g",))
                )
            case "ask":
                pods[uid] = replace(pod, request=amount(self._pick(0, 1, 2), 1, pods=1))

    def _change_group(self, inventory: Inventory, uid: str) -> None:
        groups = inventory.groups
        group = groups[uid]
        match self._pick("gone", "status", "queue", "min", "label", "class", "again"):
            case "gone":
                del groups[uid]
            case "status":
                phase = self._pick("", "Pending", "Inqueue", "Running")
                groups[uid] = replace(group, phase=phase, stale_since=self._pick(None, NOW - 70))
            case "queue":
                groups[uid] = replace(group, queue=self._pick("none", *sorted(inventory.queues)))
            case "min":
                groups[uid] = replace(group, min_member=self._pick(0, 1, 2))
            case "label":
                annotations = {"volcano.sh/preemptable": self._pick("true", "false")}
                groups[uid] = replace(group, annotations=annotations)
            case "class":
                name = self._pick("", *sorted(inventory.priority_classes))
                groups[uid] = replace(group, priority_class=name)
            case "again":
                groups[uid] = groups.pop(uid)

    def _change_node(self, inventory: Inventory, name: str) -> None:
        nodes = inventory.nodes
        node = nodes[name]
        match self._pick("label", "close", "taint", "grow", "again", "gpus"):
            case "label":
                labels = {**node.labels, "zone": self._pick("a", "b"), "rack": self._pick("0", "1")}
                nodes[name] = replace(node, labels=labels)
            case "close":
                nodes[name] = replace(node, unschedulable=not node.unschedulable)
            case "taint":
                nodes[name] = replace(node, taints=self._pick((), (TAINT,)))
            case "grow":
                room = node.allocatable.plus(amount(1, 1))
                nodes[name] = replace(node, allocatable=room, capacity=room)
            case "again":
                nodes[name] = replace(nodes.pop(name))
            case "gpus":
                labels = {**node.labels, "nvidia.com/gpu.memory": self._pick("16000", "24000")}
                nodes[name] = replace(node, labels=labels)

    def _change_queue(self, inventory: Inventory, name: str) -> None:
        queue = inventory.queues[name]
        match self._pick("weight", "state", "gone"):
            case "weight":
                inventory.queues[name] = replace(queue, weight=self._pick(1, 2, 3))
            case "state":
                inventory.queues[name] = replace(queue, state=self._pick("Open", "Closed"))
            case "gone" if not queue.children and self.dice.random() < 0.2:
                del inventory.queues[name]

    def _rare(self, inventory: Inventory) -> None:
        """Changes that force a large refresh or a rebuild."""
        match self._pick(
            "node", "empty", "fabric", "class", "queue", "claim", "bind", "rack", "aim"
        ):
            case "node":
                self.made += 1
                name = f"m{self.made}"
                inventory.nodes[name] = replace(next(iter(inventory.nodes.values())), name=name)
            case "empty" if len(inventory.nodes) > 1:
                del inventory.nodes[self._pick(*sorted(inventory.nodes))]
            case "fabric":
                for uid, pod in list(inventory.pods.items())[:1]:
                    scalars = {"pods": 1, self._pick(FABRIC, "pods"): 1000}
                    request = replace_request(pod.request, scalars)
                    inventory.pods[uid] = replace(pod, request=request)
            case "class":
                value = self._pick(1, 100, 150)
                named = self._pick("p5", "p10", "default")
                inventory.priority_classes[named] = PriorityClass(named, value, named == "default")
            case "queue":
                family = next(iter(inventory.queues.values())).family if inventory.queues else "kai"
                name = self._pick("q", "r", "a", "none")
                inventory.queues[name] = Queue(name, family=family)
            case "claim" if "ResourceClaim" in inventory.others:
                inventory.others["ResourceClaim"]["ns/claim"] = claim(self._pick(1, 2))
            case "bind" if inventory.pods:
                pod = inventory.pods[self._pick(*sorted(inventory.pods))]
                spec = {"selectedNode": self._pick(*sorted(inventory.nodes))}
                inventory.others.setdefault("BindRequest", {})[pod.key] = {"spec": spec}
            case "rack" if inventory.hypernodes:
                inventory.hypernodes["rack-1"] = rack(self._pick(0, 1))
            case "aim" if inventory.groups and inventory.hypernodes:
                uid = self._pick(*sorted(inventory.groups))
                group = replace(inventory.groups[uid], nominated_hyper_node="rack-0")
                inventory.groups[uid] = group


def replace_request(request: Any, scalars: dict[str, float]) -> Any:
    changed = request.clone()
    changed.scalars = scalars
    return changed
