"""The workload API of Kubernetes itself: pod groups of ``scheduling.k8s.io``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from msgspec import Raw, Struct

from pumice.manifests.metadata import ObjectDecoder
from pumice.manifests.own import GANG_LABEL, level_constraint, mark_of, queue_of
from pumice.manifests.pool import EMPTY, Pool
from pumice.manifests.wire import Count, Object
from pumice.model.facts import Inventory, Pod, PodGroup

NATIVE_API = "scheduling.k8s.io"
"""The API group of Kubernetes' own Workload and PodGroup."""
SCHEDULED = "PodGroupScheduled"
"""The condition of a native pod group that says whether its minimum is placed."""


class GangWire(Struct, rename="camel", gc=False):
    min_count: Count | None = None


class PolicyWire(Struct, gc=False):
    gang: GangWire | None = None


class TopologyWire(Struct, gc=False):
    key: str


class ConstraintsWire(Struct, gc=False):
    topology: list[TopologyWire] | None = None


class WorkloadRef(Struct, rename="camel", gc=False):
    workload_name: str | None = None


class TemplateRef(Struct, gc=False):
    workload: WorkloadRef | None = None


class GroupSpec(Struct, rename="camel", gc=False):
    pod_group_template_ref: TemplateRef | None = None
    scheduling_policy: PolicyWire | None = None
    scheduling_constraints: ConstraintsWire | None = None
    priority_class_name: str | None = None


class GroupStatus(Struct, gc=False):
    conditions: list[Object] | None = None


_GROUP = ObjectDecoder(GroupSpec, GroupStatus)


def read_group(raw: Raw, pool: Pool) -> PodGroup:
    """The facts of a native pod group, as far as it says them itself: see :func:`completed`.

    Without a gang policy, each of its pods may start alone.
    """
    meta, spec, status = _GROUP.parts(raw, pool)
    namespace = meta.namespace or "default"
    gang = spec.scheduling_policy.gang if spec.scheduling_policy else None
    reference = spec.pod_group_template_ref
    made_from = reference.workload if reference else None
    constraints = spec.scheduling_constraints
    topology = (constraints.topology if constraints else None) or ()
    conditions = status.conditions or ()
    group = PodGroup(
        uid=f"{namespace}/{meta.name}",
        name=meta.name,
        namespace=namespace,
        min_member=(gang.min_count if gang else None) or 1,
        priority_class=spec.priority_class_name or "",
        labels=meta.labels or EMPTY,
        annotations=meta.annotations or EMPTY,
        created=meta.created,
        phase="Running" if _is_scheduled(conditions) else "Pending",
        conditions=conditions,
        topology_constraint=level_constraint(topology[0].key) if topology else None,
        api_group=NATIVE_API,
        workload=(made_from.workload_name if made_from else None) or "",
    )
    group.queue = queue_of(group)
    return group


def _is_scheduled(conditions: Any) -> bool:
    return any(c.get("type") == SCHEDULED and c.get("status") == "True" for c in conditions)


@dataclass(slots=True)
class _Marks:
    labels: Mapping[str, str]
    annotations: Mapping[str, str]


def completed(
    group: PodGroup, workloads: Mapping[str, Any], first: Pod | None, default_queue: str
) -> PodGroup:
    """A native group with the queue and priority class that its Workload or first pod name.

    The API has no field for a queue, and one for a priority class only behind a feature gate.
    ``group`` itself where it says both.
    """
    queue, priority_class = group.queue, group.priority_class
    workload = workloads.get(f"{group.namespace}/{group.workload}") if group.workload else None
    if not queue and workload is not None:
        meta = workload.get("metadata") or {}
        queue = queue_of(_Marks(meta.get("labels") or EMPTY, meta.get("annotations") or EMPTY))
    if first is not None:
        queue = queue or queue_of(first)
        priority_class = priority_class or first.priority_class
    queue = queue or default_queue
    if (queue, priority_class) == (group.queue, group.priority_class):
        return group
    return replace(group, queue=queue, priority_class=priority_class)


def link_pods(inventory: Inventory, default_queue: str) -> None:
    """Complete native groups, and let pods without a group join the one that their gang names."""
    groups = inventory.groups
    native = {uid for uid, group in groups.items() if group.api_group == NATIVE_API}
    first: dict[str, Pod] = {}
    for pod in inventory.pods.values():
        if not pod.group:
            gang = mark_of(pod, GANG_LABEL)
            if gang and f"{pod.namespace}/{gang}" in groups:
                pod.group = f"{pod.namespace}/{gang}"
        if pod.group in native:
            known = first.setdefault(pod.group, pod)
            if (pod.created, pod.name) < (known.created, known.name):
                first[pod.group] = pod
    workloads = inventory.others.get("Workload", {})
    for uid in native:
        groups[uid] = completed(groups[uid], workloads, first.get(uid), default_queue)
