"""What KAI reads of a pod: shares of GPUs, resource claims, GPU groups, bind requests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pumice.model.dimensions import Dimensions
from pumice.model.facts import Inventory, Pod, Raw
from pumice.model.gpu.request import AMD_GPU, GPU, read_gpu_request
from pumice.model.task import CPU_AND_MEMORY, Task, TaskStatus

_GROUP_LABEL = "runai-gpu-group"
_RESERVATION_APP = "kai-resource-reservation"


def read_kai_task(task: Task, dimensions: Dimensions, inventory: Inventory) -> None:
    """Set the task's GPU request, its node and its GPU groups."""
    pod = task.pod
    task.gpu = read_gpu_request(pod, claimed=claimed_gpus(pod, inventory))
    task.vector = _counted_request(task, dimensions)
    if task.gpu.shared:
        task.gpu_groups = _groups(pod)
    task.best_effort = is_tiny(task)
    if not task.gpu.shared:
        # A node with over-committed GPUs takes no task, not even one that asks for no GPU.
        task.compared = (*CPU_AND_MEMORY, dimensions.position[GPU])
    if task.status is TaskStatus.PENDING:
        task.node, task.gpu_groups = "", ()
        _read_bind_request(task, inventory.others.get("BindRequest", {}).get(pod.key) or {})


def _counted_request(task: Task, dimensions: Dimensions) -> np.ndarray:
    """The task's request as its node counts it."""
    gpu, amd = dimensions.position[GPU], dimensions.position.get(AMD_GPU)
    amd_gpus = amd is not None and task.vector[amd] > 0
    reserving = task.labels.get("app") == _RESERVATION_APP
    if not (task.gpu.shared or task.gpu.claimed or amd_gpus or reserving):
        return task.vector
    vector = task.vector.copy()
    if amd is not None:
        vector[gpu] += vector[amd]
        vector[amd] = 0
    # A share of a GPU is counted on its device, and so is the pod that reserves the device.
    if task.gpu.shared or reserving:
        vector[gpu] = 0
    vector[gpu] += task.gpu.claimed * 1000
    return vector


def _read_bind_request(task: Task, request: Raw) -> None:
    """Count a bind request that is under way, or may be tried again, as done."""
    spec, status = request.get("spec") or {}, request.get("status") or {}
    node = spec.get("selectedNode")
    if not node:
        return
    if status.get("phase") == "Failed":
        tries = spec.get("backoffLimit")
        if tries is None or int(status.get("failedAttempts") or 0) >= int(tries):
            return
    task.status, task.node = TaskStatus.BINDING, str(node)
    if task.gpu.shared:
        task.gpu_groups = tuple(spec.get("selectedGPUGroups") or ())


def is_tiny(task: Task) -> bool:
    """Whether the request is so small that it counts as none."""
    request = task.request
    return (
        request.cpu < 10
        and request.memory < 10 << 20
        and not task.gpu.any
        and all(amount < 10 for amount in request.scalars.values())
    )


def _groups(pod: Pod) -> tuple[str, ...]:
    if pod.gpu_groups:
        return pod.gpu_groups
    first = pod.labels.get(_GROUP_LABEL)
    if not first:
        return ()
    others = [
        value for key, value in sorted(pod.labels.items()) if key.startswith(f"{_GROUP_LABEL}/")
    ]
    return tuple(dict.fromkeys([first, *others]))


def claimed_gpus(pod: Pod, inventory: Inventory) -> int:
    """GPUs that the pod asks for through resource claims."""
    claims = inventory.others.get("ResourceClaim", {})
    total = 0
    for reference in pod.resource_claims:
        name = reference.get("resourceClaimName") or ""
        claim = claims.get(f"{pod.namespace}/{name}")
        if claim is not None:
            total += gpu_count(claim.get("spec", {}))
    return total


def gpu_count(claim_spec: Mapping[str, Any]) -> int:
    """GPUs that a claim asks for: an exact count, or one where all are asked."""
    total = 0
    for request in (claim_spec.get("devices") or {}).get("requests") or ():
        exact = request.get("exactly") or request
        if "gpu" not in str(exact.get("deviceClassName", "")).lower():
            continue
        if exact.get("allocationMode", "ExactCount") == "All":
            total += 1
        else:
            total += int(exact.get("count") or 1)
    return total
