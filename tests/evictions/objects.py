"""What the checks read of manifests: their own reading of nodes, queues, gangs and pods.

Nothing of the engine is used, so that a mistake of its readers or accounts shows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

Amounts = dict[str, float]
"""CPU in millicores, memory in bytes, GPUs and pods as numbers."""
Object = Mapping[str, Any]

CPU, MEMORY, GPU, PODS = "cpu", "memory", "nvidia.com/gpu", "pods"
DIMENSIONS = (CPU, MEMORY, GPU)
UNLIMITED = math.inf
SYSTEM_CLASSES = ("system-cluster-critical", "system-node-critical")
_SUFFIXES = {
    "m": 1e-3,
    "k": 1e3,
    "M": 1e6,
    "G": 1e9,
    "Ki": 2.0**10,
    "Mi": 2.0**20,
    "Gi": 2.0**30,
}
_DEFAULT_PRIORITY = {"volcano": 0, "kai": 50}
_NON_PREEMPTIBLE = 100
"""KAI: a gang of this priority or more is not preemptible unless its spec says so."""


def quantity(name: str, value: Any) -> float:
    """A Kubernetes quantity; CPU in millicores."""
    text = str(value)
    digits = text.rstrip("mkMGKi")
    number = float(digits) * _SUFFIXES.get(text[len(digits) :], 1.0)
    return round(number * 1000, 6) if name == CPU else number


def amounts(listed: Object | None) -> Amounts:
    """A resource list."""
    return {name: quantity(name, value) for name, value in (listed or {}).items()}


def seconds(text: str | None) -> float | None:
    """A duration like ``45s`` or ``2m``."""
    if not text:
        return None
    return float(text[:-1]) * {"s": 1, "m": 60, "h": 3600}[text[-1]]


def timestamp(text: str | None) -> float | None:
    """Epoch seconds of an RFC 3339 time."""
    return datetime.fromisoformat(text).timestamp() if text else None


def add(total: Amounts, more: Mapping[str, float], sign: int = 1) -> None:
    """Add ``sign`` times ``more`` to ``total``, in place."""
    for name, value in more.items():
        total[name] = total.get(name, 0.0) + sign * value


def exceeds(value: float, bound: float) -> bool:
    """Whether the value is greater, but for rounding."""
    return value > bound + 1e-6 * max(1.0, abs(bound)) if bound != UNLIMITED else False


@dataclass(slots=True, eq=False)
class Node:
    """A node."""

    name: str
    labels: Mapping[str, str]
    taints: Sequence[Object]
    unschedulable: bool
    allocatable: Amounts
    gpu_memory: float
    """MiB of each GPU; 0: not stated."""


@dataclass(slots=True, eq=False)
class Queue:
    """A queue of either family."""

    name: str
    family: str
    parent: str = ""
    weight: float = 1
    priority: int = 0
    created: float = 0
    reclaimable: bool = True
    open: bool = True
    guarantee: Amounts = field(default_factory=dict)
    limit: Amounts = field(default_factory=dict)
    """A dimension that is missing is not limited."""
    quota: Amounts = field(default_factory=dict)
    """KAI's quota, Volcano's deserved."""
    over_quota_weight: Amounts = field(default_factory=dict)
    preempt_min_runtime: float | None = None
    reclaim_min_runtime: float | None = None


@dataclass(slots=True, eq=False)
class Gang:
    """A pod group and its pods."""

    uid: str
    queue: str
    family: str
    minimum: int
    priority: int
    preemptible: bool = True
    last_start: float | None = None
    pods: list[Pod] = field(default_factory=list)

    def running(self) -> int:
        """How many pods are on a node and stay there."""
        return sum(1 for pod in self.pods if pod.node and not pod.terminating)


@dataclass(slots=True, eq=False)
class Pod:
    """A pod, and where it is."""

    key: str
    """``namespace/name``."""
    namespace: str
    request: Amounts
    """Whole GPUs only; a part of a GPU is in the fields below."""
    devices: int = 0
    """How many shared GPUs it asks for."""
    fraction: float = 0.0
    """The part of each of them; 0 where it asks for memory."""
    gpu_memory: float = 0.0
    """MiB of each of them."""
    labels: Mapping[str, str] = field(default_factory=dict)
    selector: Mapping[str, str] = field(default_factory=dict)
    node_affinity: Sequence[Object] = ()
    tolerations: Sequence[Object] = ()
    ports: tuple[int, ...] = ()
    attracted: Sequence[Object] = ()
    """Required pod affinity terms."""
    repelled: Sequence[Object] = ()
    """Required pod anti-affinity terms."""
    priority_class: str = ""
    priority: int | None = None
    preemptable: bool = True
    gang: Gang | None = None
    node: str = ""
    gpu_groups: tuple[str, ...] = ()
    terminating: bool = False

    def portion(self, node: Node | None) -> float:
        """The part of each shared GPU that the pod takes on the node."""
        if self.gpu_memory:
            per_gpu = (node.gpu_memory if node else 0) or 100
            return math.ceil(100 * self.gpu_memory / per_gpu - 1e-9) / 100
        return self.fraction

    def counted(self, node: Node | None) -> Amounts:
        """What the pod counts against its queue on the node."""
        if not self.devices:
            return self.request
        shared = round(self.portion(node) * 100) / 100 * self.devices
        return {**self.request, GPU: self.request.get(GPU, 0.0) + shared}


def _family(item: Object) -> str:
    return "kai" if "run.ai" in item["apiVersion"] else "volcano"


def read_node(item: Object) -> Node:
    """Read a node; KAI rounds the memory of a GPU down to hundreds of MiB."""
    meta, spec = item["metadata"], item.get("spec") or {}
    labels = meta.get("labels") or {}
    return Node(
        name=meta["name"],
        labels=labels,
        taints=spec.get("taints") or (),
        unschedulable=bool(spec.get("unschedulable")),
        allocatable=amounts(item["status"]["allocatable"]),
        gpu_memory=float(labels.get("nvidia.com/gpu.memory", 0)) // 100 * 100,
    )


def read_queue(item: Object) -> Queue:
    """Read a queue of either family."""
    meta, spec = item["metadata"], item.get("spec") or {}
    created = timestamp(meta.get("creationTimestamp")) or 0.0
    if _family(item) == "volcano":
        limit = {n: v for n, v in amounts(spec.get("capability")).items() if v or n == GPU}
        return Queue(
            meta["name"],
            "volcano",
            parent=spec.get("parent") or "",
            weight=spec.get("weight", 1),
            priority=spec.get("priority") or 0,
            created=created,
            reclaimable=spec.get("reclaimable") is not False,
            open=(item.get("status") or {}).get("state", "Open") == "Open",
            guarantee=amounts((spec.get("guarantee") or {}).get("resource")),
            limit=limit,
            quota=amounts(spec.get("deserved")),
        )
    resources = spec.get("resources") or {}
    return Queue(
        meta["name"],
        "kai",
        parent=spec.get("parentQueue") or "",
        priority=spec.get("priority", 100),
        created=created,
        quota=_kai_amounts(resources, "quota"),
        limit=_kai_amounts(resources, "limit"),
        over_quota_weight={
            name: (resources.get(short) or {}).get("overQuotaWeight", 0)
            for name, short, _ in _KAI_NAMES
        },
        preempt_min_runtime=seconds(spec.get("preemptMinRuntime")),
        reclaim_min_runtime=seconds(spec.get("reclaimMinRuntime")),
    )


_KAI_NAMES = ((CPU, "cpu", 1.0), (MEMORY, "memory", 1e6), (GPU, "gpu", 1.0))


def _kai_amounts(resources: Object, which: str) -> Amounts:
    found = {}
    for name, short, unit in _KAI_NAMES:
        value = (resources.get(short) or {}).get(which, 0)
        found[name] = UNLIMITED if value == -1 else value * unit
    return found


def read_gang(item: Object, priorities: Mapping[str, int]) -> Gang:
    """Read a pod group of either family."""
    meta, spec, family = item["metadata"], item["spec"], _family(item)
    priority = priorities.get(spec.get("priorityClassName") or "", _DEFAULT_PRIORITY[family])
    least = spec.get("minMember") or 0
    preemptible = True
    if family == "kai":
        stated = spec.get("preemptibility")
        preemptible = stated == "preemptible" if stated else priority < _NON_PREEMPTIBLE
        least = max(least, 1)
    annotations = meta.get("annotations") or {}
    return Gang(
        uid=f"{meta['namespace']}/{meta['name']}",
        queue=spec["queue"],
        family=family,
        minimum=least,
        priority=priority,
        preemptible=preemptible,
        last_start=timestamp(annotations.get("kai.scheduler/last-start-timestamp")),
    )


def read_pod(item: Object) -> Pod:
    """Read a pod."""
    meta, spec = item["metadata"], item["spec"]
    annotations, labels = meta.get("annotations") or {}, meta.get("labels") or {}
    request: Amounts = {PODS: 1.0}
    ports: list[int] = []
    for container in spec.get("containers") or ():
        add(request, amounts((container.get("resources") or {}).get("requests")))
        ports += [port["hostPort"] for port in container.get("ports") or () if "hostPort" in port]
    affinity = spec.get("affinity") or {}
    preemptable = annotations.get("volcano.sh/preemptable", labels.get("volcano.sh/preemptable"))
    pod = Pod(
        key=f"{meta['namespace']}/{meta['name']}",
        namespace=meta["namespace"],
        request=request,
        labels=labels,
        selector=spec.get("nodeSelector") or {},
        node_affinity=_required(affinity.get("nodeAffinity")).get("nodeSelectorTerms") or (),
        tolerations=spec.get("tolerations") or (),
        ports=tuple(ports),
        attracted=_terms(affinity.get("podAffinity")),
        repelled=_terms(affinity.get("podAntiAffinity")),
        priority_class=spec.get("priorityClassName") or "",
        priority=spec.get("priority"),
        preemptable=preemptable is None or preemptable == "true",
        node=spec.get("nodeName") or "",
    )
    if "gpu-fraction" in annotations or "gpu-memory" in annotations:
        pod.devices = int(annotations.get("gpu-fraction-num-devices", 1))
        pod.fraction = float(annotations.get("gpu-fraction", 0))
        pod.gpu_memory = 0.0 if pod.fraction else float(annotations["gpu-memory"])
        pod.gpu_groups = tuple(
            labels[name] for name in sorted(labels) if name.startswith("runai-gpu-group")
        )[: pod.devices]
    return pod


_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def _required(part: Object | None) -> Any:
    return (part or {}).get(_REQUIRED) or {}


def _terms(part: Object | None) -> Sequence[Object]:
    return (part or {}).get(_REQUIRED) or ()


def group_of(item: Object) -> str:
    """The name of the pod group that a pod's annotations state."""
    annotations = item["metadata"].get("annotations") or {}
    return annotations.get("pod-group-name") or annotations.get("scheduling.k8s.io/group-name", "")


def of_kind(items: Iterable[Object], kind: str) -> list[Object]:
    """The objects of a kind."""
    return [item for item in items if item["kind"] == kind]
