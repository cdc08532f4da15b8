"""Shares of GPUs: KAI's binder reserves the device and binds the pod, asked by a BindRequest."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pumice import Bind, Node, Pod
from pumice.gpu import gpu_memory, read_gpu_request
from pumice_kubernetes.client import ApiError, Client
from pumice_kubernetes.resources import Served

NO_BINDER = (
    "a pod of its gang shares a GPU, which needs KAI's binder: "
    "the cluster serves no bindrequests.scheduling.run.ai"
)
_NODE_POOL = "kai.scheduler/node-pool"
_CONFLICT = 409


def with_group_ids(binds: Sequence[Bind]) -> list[Bind]:
    """The binds with ids of new GPU groups that are unique and may be labels of a pod.

    A session numbers them by node, as ``node/shared-1``; those that the binder knows stay.
    """
    ids: dict[str, str] = {}
    named = []
    for bind in binds:
        groups = [
            ids.setdefault(group, str(uuid.uuid4())) if "/" in group else group
            for group in bind.gpu_groups
        ]
        named.append(replace(bind, gpu_groups=tuple(groups)) if groups else bind)
    return named


async def request_bind(
    client: Client,
    served: Served,
    bind: Bind,
    pod: Pod,
    node: Node | None,
    earlier: Mapping[str, Any] | None,
) -> str:
    """Ask KAI's binder to bind a pod; why it cannot be asked, or nothing.

    ``earlier``: the BindRequest of the pod that is known. One that has failed is deleted, so that
    the next cycle can ask again.
    """
    try:
        await client.request("POST", served.path(pod.namespace), body_of(served, bind, pod, node))
    except ApiError as error:
        if error.status != _CONFLICT:
            raise
        if ((earlier or {}).get("status") or {}).get("phase") != "Failed":
            return "another BindRequest of this name is under way"
        assert earlier is not None
        uid = (earlier.get("metadata") or {}).get("uid", "")
        options = {"preconditions": {"uid": uid}}
        await client.request("DELETE", served.path(pod.namespace, pod.name), options)
        return "its earlier BindRequest had failed and is deleted first"
    return ""


def body_of(served: Served, bind: Bind, pod: Pod, node: Node | None) -> dict[str, Any]:
    """The BindRequest for a pod that gets shares of GPUs."""
    request = read_gpu_request(pod)
    count = len(bind.gpu_groups)
    memory = gpu_memory(node)[0] if node is not None else 0
    portion = request.portion if request.kind == "fraction" or not memory else _portion(pod, memory)
    labels = {"selected-node": bind.node}
    if _NODE_POOL in pod.labels:
        labels[_NODE_POOL] = pod.labels[_NODE_POOL]
    owner = {"apiVersion": "v1", "kind": "Pod", "name": pod.name, "uid": pod.uid}
    return {
        "apiVersion": served.api_version,
        "kind": "BindRequest",
        "metadata": {
            "name": pod.name,
            "namespace": pod.namespace,
            "labels": labels,
            "annotations": bind.annotations or {},
            "ownerReferences": [owner],
        },
        "spec": {
            "podName": pod.name,
            "selectedNode": bind.node,
            "receivedResourceType": "Fraction",
            "receivedGPU": {"count": count, "portion": f"{portion:.2f}"},
            "selectedGPUGroups": list(bind.gpu_groups),
        },
    }


def _portion(pod: Pod, memory_per_gpu: int) -> float:
    request = read_gpu_request(pod)
    return request.accepted_milli(memory_per_gpu) / request.devices / 1000
