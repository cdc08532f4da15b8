"""What a pod asks of GPUs: whole devices, parts of them, MIG instances, claims."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from pumice.model.dimensions import Dimensions
from pumice.model.facts import Pod

GPU = "nvidia.com/gpu"
"""The resource name of whole NVIDIA GPUs."""
AMD_GPU = "amd.com/gpu"
"""The resource name of whole AMD GPUs."""
_MIG = re.compile(r"^nvidia\.com/mig-(\d+)g\.(\d+)gb$")

GpuKind = Literal["none", "regular", "fraction", "memory", "mig"]


@dataclass(slots=True, frozen=True)
class GpuRequest:
    """What one pod asks of GPUs. ``portion`` and ``memory`` (MiB) are per device."""

    kind: GpuKind = "none"
    """Whole devices, a fraction, memory, MIG instances, or nothing."""
    devices: int = 0
    """How many devices."""
    portion: float = 0.0
    """The part of each device, 1.0 for whole ones."""
    memory: int = 0
    """MiB of each device."""
    mig: Mapping[str, int] = field(default_factory=dict, hash=False)
    """MIG resource name → number of instances."""
    claimed: int = 0
    """Devices asked for through resource claims."""
    shared: bool = field(init=False, repr=False, compare=False)
    """Whether the pod takes a part of a device."""
    any: bool = field(init=False, repr=False, compare=False)
    """Whether the pod asks for a GPU at all."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "shared", self.kind in ("fraction", "memory"))
        object.__setattr__(self, "any", self.kind != "none" or self.claimed > 0)

    @property
    def milli(self) -> int:
        """Whole and fractional GPUs in thousandths, claims and MIG left aside."""
        return round(self.portion * 100) * self.devices * 10

    @property
    def mig_milli(self) -> int:
        """What the MIG instances weigh: a ``2g`` instance counts as two GPUs."""
        return sum(mig_gpus(name) * count * 1000 for name, count in self.mig.items())

    @property
    def quota_milli(self) -> int:
        """What the request counts against a quota."""
        return self.milli + self.claimed * 1000 + self.mig_milli

    def device_memory(self, memory_per_gpu: int) -> int:
        """MiB that the pod takes of each of its devices."""
        return self.memory if self.kind == "memory" else int(self.portion * memory_per_gpu)

    def accepted_milli(self, memory_per_gpu: int) -> int:
        """What the pod counts, in thousandths of a GPU, once it is on a node."""
        if self.kind == "memory":
            portion = math.ceil(100 * self.memory / memory_per_gpu)
            return portion * self.devices * 10 + self.claimed * 1000
        return self.quota_milli


NO_GPU = GpuRequest()


def mig_gpus(resource: str) -> int:
    """The GPUs that one MIG instance counts as; 0 for names of another form."""
    match = _MIG.match(resource)
    return int(match.group(1)) if match else 0


def mig_memory(resource: str) -> int:
    """The gigabytes in a MIG resource's name."""
    match = _MIG.match(resource)
    return int(match.group(2)) if match else 0


def read_gpu_request(pod: Pod, *, claimed: int = 0) -> GpuRequest:
    """The GPU request of a KAI pod: its annotations win over whole devices."""
    scalars = pod.request.scalars
    mig = {
        name: int(amount) // 1000 for name, amount in scalars.items() if "/mig-" in name and amount
    }
    if mig:
        return GpuRequest("mig", mig=mig, claimed=claimed)
    annotations = pod.annotations
    devices = max(as_int(annotations.get("gpu-fraction-num-devices")), 1)
    fraction = _float(annotations.get("gpu-fraction"))
    if 0 < fraction <= 1:
        return GpuRequest("fraction", devices, fraction, claimed=claimed)
    memory = as_int(annotations.get("gpu-memory"))
    if memory > 0:
        return GpuRequest("memory", devices, memory=memory, claimed=claimed)
    whole = int(scalars.get(GPU, 0) + scalars.get(AMD_GPU, 0)) // 1000
    if whole:
        return GpuRequest("regular", whole, 1.0, claimed=claimed)
    return GpuRequest(claimed=claimed) if claimed else NO_GPU


def count_whole_gpus(
    pod: Pod, vector: np.ndarray, dimensions: Dimensions
) -> tuple[GpuRequest, np.ndarray]:
    """GPU request and counted request of a pod that takes whole GPUs only, of whatever vendor."""
    gpu, amd = dimensions.position[GPU], dimensions.position.get(AMD_GPU)
    if amd is not None and vector[amd]:
        vector = vector.copy()
        vector[gpu] += vector[amd]
        vector[amd] = 0
    request = read_gpu_request(pod)
    if request.shared:
        whole = int(vector[gpu]) // 1000
        request = GpuRequest("regular", whole, 1.0) if whole else NO_GPU
    return request, vector


def as_int(text: str | None) -> int:
    try:
        return int(text or 0)
    except ValueError:
        return 0


def _float(text: str | None) -> float:
    try:
        return float(text or 0)
    except ValueError:
        return 0.0
