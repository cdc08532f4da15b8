"""Pods as manifests."""

from pumice.manifests import read_objects
from pumice.model.facts import Inventory, Pod
from pumice.model.resources import Resource

GPU = "nvidia.com/gpu"
VOLCANO = {"scheduling.k8s.io/group-name": "g"}
KAI = {"pod-group-name": "g"}


def read(*objects: dict) -> Inventory:
    return read_objects((f"objects[{i}]", item) for i, item in enumerate(objects))


def pod(
    name: str = "p", *, status: dict | None = None, metadata: dict | None = None, **spec
) -> dict:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "ns", **(metadata or {})},
        "spec": spec,
        "status": status or {},
    }


def container(name: str = "c", restart: str | None = None, **requests: object) -> dict:
    names = {"gpu": GPU}
    listed = {names.get(key, key): value for key, value in requests.items()}
    extra = {"restartPolicy": restart} if restart else {}
    return {"name": name, "resources": {"requests": listed}, **extra}


def only(*objects: dict) -> Pod:
    inventory = read(*objects)
    assert not inventory.problems, inventory.problems[0]
    (fact,) = inventory.pods.values()
    return fact


def request(annotations: dict | None = None, **spec) -> Resource:
    return only(pod(metadata={"annotations": annotations or {}}, **spec)).request


def asks(cpu: float = 0, memory: float = 0, **scalars: float) -> Resource:
    names = {"gpu": GPU}
    named = {names.get(key, key): value for key, value in scalars.items()}
    return Resource(cpu, memory, {**named, "pods": 1})
