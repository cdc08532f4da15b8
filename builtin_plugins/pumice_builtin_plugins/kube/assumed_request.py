"""The request that a pod is assumed to have when nodes are scored by how full they are."""

from __future__ import annotations

from collections.abc import Iterable

from pumice import Container, Pod

DEFAULT_CPU = 100
DEFAULT_MEMORY = 200 * 1024 * 1024
"""kube-scheduler's defaults for a container without a request."""


def assumed_request(pod: Pod) -> tuple[int, int]:
    """CPU and memory of a pod, with the defaults for containers without a request."""
    containers = pod.containers
    cpu, memory = int(pod.request.cpu), int(pod.request.memory)
    if len(containers) == 1 and not pod.init_containers:
        requests = containers[0].requests
        if requests.cpu and requests.memory:
            return cpu, memory
    # Overhead is in the request and not in the containers: only the difference is added.
    init_cpus = [(int(c.requests.cpu), c.restart_always) for c in pod.init_containers]
    init_memories = [(int(c.requests.memory), c.restart_always) for c in pod.init_containers]
    cpus, memories = _column(containers, "cpu"), _column(containers, "memory")
    return (
        cpu + _total(cpus, init_cpus, DEFAULT_CPU) - _total(cpus, init_cpus, 0),
        memory
        + _total(memories, init_memories, DEFAULT_MEMORY)
        - _total(memories, init_memories, 0),
    )


def _column(containers: Iterable[Container], name: str) -> list[int]:
    return [int(getattr(container.requests, name)) for container in containers]


def _total(main: list[int], init: list[tuple[int, bool]], default: int) -> int:
    """All containers and sidecars together, or the most that one init container needs."""
    total = sum(amount or default for amount in main)
    sidecars = start = 0
    for amount, is_sidecar in init:
        amount = amount or default
        if is_sidecar:
            sidecars += amount
            total += amount
            start = max(start, sidecars)
        else:
            start = max(start, sidecars + amount)
    return max(total, start)
