"""Objects as manifests, and reading them."""

from pumice.manifests import read_objects
from pumice.model.facts import Inventory

GPU = "nvidia.com/gpu"


def read(*objects: object, into: Inventory | None = None) -> Inventory:
    items = ((f"objects[{i}]", item) for i, item in enumerate(objects))
    return read_objects(items, into=into)


def thing(version: str, kind: str, name: str, namespace: str = "", **rest) -> dict:
    metadata = {"name": name, "namespace": namespace} if namespace else {"name": name}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **rest}


VOLCANO = "scheduling.volcano.sh/v1beta1"


def hyper_node(selector: dict, **spec: object) -> dict:
    """The hypernode ``h`` of tier 1 with the nodes that the selector matches."""
    members = [{"type": "Node", "selector": selector}]
    spec = {"tier": 1, "members": members, **spec}
    return thing("topology.volcano.sh/v1alpha1", "HyperNode", "h", spec=spec)
