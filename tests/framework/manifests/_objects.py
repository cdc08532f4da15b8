"""Queues and pod groups of both families as manifests."""

import math

from pumice.manifests import read_objects
from pumice.model.facts import Inventory

GPU = "nvidia.com/gpu"
INF = math.inf


def read(*objects: dict, **options) -> Inventory:
    return read_objects(((f"objects[{i}]", item) for i, item in enumerate(objects)), **options)


def clean(*objects: dict) -> Inventory:
    inventory = read(*objects)
    assert not inventory.problems, inventory.problems[0]
    return inventory


def thing(version: str, kind: str, name: str, spec: dict, **rest) -> dict:
    metadata = {"name": name, **rest.pop("metadata", {})}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec, **rest}


def volcano_queue(name: str, *, status: dict | None = None, metadata: dict | None = None, **spec):
    version = "scheduling.volcano.sh/v1beta1"
    return thing(version, "Queue", name, spec, metadata=metadata or {}, status=status or {})


def kai_queue(name: str, **spec) -> dict:
    return thing("scheduling.run.ai/v2", "Queue", name, spec)


def volcano_group(name: str, *, status: dict | None = None, metadata: dict | None = None, **spec):
    version, metadata = "scheduling.volcano.sh/v1beta1", {"namespace": "ns", **(metadata or {})}
    return thing(version, "PodGroup", name, spec, metadata=metadata, status=status or {})


def kai_group(name: str, *, status: dict | None = None, metadata: dict | None = None, **spec):
    version, metadata = "scheduling.run.ai/v2alpha2", {"namespace": "ns", **(metadata or {})}
    return thing(version, "PodGroup", name, spec, metadata=metadata, status=status or {})


def reported(inventory: Inventory) -> dict[str, str]:
    return {problem.object: problem.message for problem in inventory.problems}
