"""Writes pods as manifests that are read as the same facts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec
from msgspec import Raw

from pumice import Container, Pod, Resource
from pumice.kube import PODS, quantity_of
from pumice.manifests import KAI_GROUP, VOLCANO_GROUP, Family, Pool, family_of, read_pod

Object = dict[str, Any]


def compact(**parts: Any) -> Object:
    """The parts that are not empty."""
    return {name: part for name, part in parts.items() if part or part is False or part == 0}


def timestamp(seconds: float | None) -> str | None:
    """An RFC 3339 time; None where there is none."""
    if not seconds:
        return None
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")


def metadata(fact: Any, **more: Any) -> Object:
    return compact(
        name=fact.name,
        namespace=getattr(fact, "namespace", None),
        labels=dict(getattr(fact, "labels", {})),
        annotations=dict(getattr(fact, "annotations", {})),
        creationTimestamp=timestamp(getattr(fact, "created", None)),
        **more,
    )


def quantities(resource: Resource) -> dict[str, str]:
    """A resource list; unlimited amounts are left out."""
    return {
        name: quantity_of(name, amount) for name, amount in resource.items() if amount != math.inf
    }


def write_pod(pod: Pod, family: Family | None = None) -> Object:
    """The manifest of a pod; reading it gives the same facts, the request included.

    ``family`` is that of the pod's group; None: the group is not known.
    """
    family = family or family_of(pod.annotations)
    manifest = _manifest(pod, family)
    read = read_pod(Raw(msgspec.json.encode(manifest)), Pool(), family)
    # What no container requests was given as the request of the whole pod.
    missing = pod.request.minus(read.request)
    if any(amount < 0 for _, amount in missing.items()):
        manifest["spec"].pop("initContainers", None)
        manifest["spec"]["containers"] = [_whole(pod.request)]
    elif any(amount > 0 for _, amount in missing.items()):
        manifest["spec"]["overhead"] = quantities(missing)
    return manifest


def _whole(request: Resource) -> Object:
    rest = request.clone()
    rest.set(PODS, rest.get(PODS) - 1)
    return {"name": "all", "resources": {"requests": quantities(rest)}}


def _manifest(pod: Pod, family: Family) -> Object:
    key = KAI_GROUP if family == "kai" else VOLCANO_GROUP
    meta = metadata(pod, uid=pod.uid, deletionTimestamp=timestamp(pod.deleted))
    if pod.group:
        annotations = meta.setdefault("annotations", {})
        annotations.setdefault(key, pod.group.partition("/")[2])
    if pod.owner:
        meta["ownerReferences"] = [{"uid": pod.owner, "controller": True}]
    spec = compact(
        containers=_containers(pod.containers),
        initContainers=_containers(pod.init_containers),
        nodeName=pod.node_name,
        schedulerName=pod.scheduler_name,
        priority=pod.priority,
        priorityClassName=pod.priority_class,
        preemptionPolicy=pod.preemption_policy,
        schedulingGates=[{"name": name} for name in pod.gates],
        nodeSelector=dict(pod.node_selector),
        affinity=pod.affinity,
        tolerations=list(pod.tolerations),
        topologySpreadConstraints=list(pod.topology_spread),
        volumes=[{"name": f"volume-{i}", **volume} for i, volume in enumerate(pod.volumes)],
        resourceClaims=list(pod.resource_claims),
    )
    status = compact(
        phase=pod.phase,
        nominatedNodeName=pod.nominated_node,
        startTime=timestamp(pod.start_time),
        conditions=list(pod.conditions),
        qosClass=pod.qos,
    )
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec, "status": status}


def _containers(containers: Sequence[Container]) -> list[Object]:
    return [
        compact(
            name=container.name,
            image=container.image,
            resources=compact(
                requests=quantities(container.requests), limits=quantities(container.limits)
            ),
            ports=list(container.ports),
            restartPolicy="Always" if container.restart_always else None,
            **_plain(container.env),
        )
        for container in containers
    ]


def _plain(env: Mapping[str, Any]) -> Object:
    return {name: list(entries) for name, entries in env.items()}
