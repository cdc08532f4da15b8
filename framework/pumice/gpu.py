"""GPUs for plugins and actions: requests, shared devices, and how many a node has."""

from __future__ import annotations

from pumice.model.families.kai.tasks import gpu_count
from pumice.model.gpu.request import (
    AMD_GPU,
    GPU,
    GpuRequest,
    mig_gpus,
    mig_memory,
    read_gpu_request,
)
from pumice.model.gpu.shares import WHOLE_GPU, GpuShares, gpu_memory, labelled_gpu_count
from pumice.session.nodes.gpu_devices import fits_idle, ranked_devices
from pumice.solver.gpu_counts import fits_empty_cluster, idle_gpus, releasing_gpus

__all__ = [
    "AMD_GPU",
    "GPU",
    "WHOLE_GPU",
    "GpuRequest",
    "GpuShares",
    "fits_empty_cluster",
    "fits_idle",
    "gpu_count",
    "gpu_memory",
    "idle_gpus",
    "labelled_gpu_count",
    "mig_gpus",
    "mig_memory",
    "ranked_devices",
    "read_gpu_request",
    "releasing_gpus",
]
