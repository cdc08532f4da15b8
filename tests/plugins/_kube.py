"""Clusters of Kubernetes manifests, and sessions of one plugin on them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from pumice.config import Policy, policy_from_dict
from pumice.manifests import read_objects
from pumice.model.cluster import build_cluster
from pumice.model.task import Task
from pumice.session.session import Session
from pumice.session.statement import Statement
from pumice.verdicts import Code

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
HOST = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"


def node(
    name: str,
    labels: Mapping[str, str] | None = None,
    *,
    cpu: Any = 4,
    memory: Any = "8Gi",
    pods: int = 110,
    gpu: int = 0,
    taints: list[dict[str, str]] | None = None,
    unschedulable: bool = False,
    images: list[dict[str, Any]] | None = None,
) -> dict[str, Any]:
    allocatable = {"cpu": cpu, "memory": memory, "pods": pods}
    if gpu:
        allocatable["nvidia.com/gpu"] = gpu
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {HOST: name, **(labels or {})}},
        "spec": {"taints": taints or [], "unschedulable": unschedulable},
        "status": {"allocatable": allocatable, "images": images or []},
    }


def pod(
    name: str,
    labels: Mapping[str, str] | None = None,
    *,
    on: str = "",
    namespace: str = "ns",
    requests: Mapping[str, Any] | None = None,
    deleted: bool = False,
    container: Mapping[str, Any] | None = None,
    **spec: Any,
) -> dict[str, Any]:
    """A pod of the job ``g``; ``on`` a node it runs."""
    first = {"name": "c", "resources": {"requests": requests or {}}, **(container or {})}
    metadata: dict[str, Any] = {
        "name": name,
        "namespace": namespace,
        "uid": name,
        "labels": labels or {},
        "annotations": {"scheduling.k8s.io/group-name": "g"},
    }
    if deleted:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {"containers": [first], **({"nodeName": on} if on else {}), **spec},
        "status": {"phase": "Running" if on else "Pending"},
    }


def thing(kind: str, name: str, namespace: str = "", group: str = "v1", **rest: Any) -> Any:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    metadata.update(rest.pop("metadata", {}))
    return {"apiVersion": group, "kind": kind, "metadata": metadata, **rest}


@cache
def _policy(plugin: str, options: tuple[tuple[str, Any], ...]) -> Policy:
    return policy_from_dict(
        {
            "actions": ["allocate"],
            "tiers": [{"plugins": [plugin]}],
            "plugin": {plugin: dict(options)},
        }
    )


class Kube:
    """A session of one plugin with short questions to it."""

    def __init__(
        self,
        *objects: Any,
        plugin: str = "predicates",
        options: Mapping[str, Any] | None = None,
        others: Mapping[str, Any] | None = None,
    ) -> None:
        group = "scheduling.volcano.sh/v1beta1"
        base = [
            thing("Queue", "default", group=group, spec={"weight": 1}),
            *[
                thing("PodGroup", "g", ns, group=group, status={"phase": "Inqueue"})
                for ns in ("ns", "other")
            ],
        ]
        items = [(f"objects[{i}]", item) for i, item in enumerate((*base, *objects))]
        inventory = read_objects(items)
        assert not inventory.problems, [str(problem) for problem in inventory.problems]
        inventory.others.update(others or {})
        policy = _policy(plugin, tuple(sorted((options or {}).items())))
        self.session = Session(build_cluster(inventory, now=1e9), policy, verify=True)
        self.plugin: Any = self.session.plugins[plugin]

    def task(self, name: str) -> Task:
        return self.session.cluster.tasks[name]

    def row(self, name: str) -> int:
        return self.session.nodes.row_of[name]

    def verdicts(self, name: str) -> dict[str, tuple[Code, tuple[str, ...]] | None]:
        """Per node None, or the code and the reasons; ``*`` when no node was asked at all."""
        task = self.task(name)
        error = self.session.queries.prepare(task)
        if error is not None:
            return {"*": (error.code, error.reasons)}
        verdicts = self.session.queries.verdicts(task)
        by_node = {}
        for row, node_name in enumerate(self.session.nodes.names):
            error = verdicts.error(row)
            by_node[node_name] = None if error is None else (error.code, error.reasons)
        return by_node

    def fitting(self, name: str) -> set[str]:
        return {node_name for node_name, error in self.verdicts(name).items() if error is None}

    def reason(self, name: str, node_name: str) -> str:
        """The only reason of a node."""
        error = self.verdicts(name)[node_name]
        assert error is not None
        (reason,) = error[1]
        return reason

    def scores(self, name: str, *nodes: str) -> dict[str, float]:
        """The scores of these nodes, or of all, seen together."""
        names = nodes or tuple(self.session.nodes.names)
        task = self.task(name)
        self.session.queries.prepare(task)
        rows = None
        if nodes:
            rows = self.session.nodes.all_rows[sorted(map(self.row, nodes))]
            names = tuple(sorted(nodes))
        return dict(zip(names, self.session.queries.scores(task, rows).tolist(), strict=True))

    def place(self, name: str, node_name: str, *, pipeline: bool = False) -> Statement:
        statement = self.session.statement()
        put = statement.pipeline if pipeline else statement.allocate
        assert put(self.task(name), self.row(node_name)) is None
        return statement

    def evict(self, name: str) -> Statement:
        statement = self.session.statement()
        statement.evict(self.task(name), "test")
        return statement
