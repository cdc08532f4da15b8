"""Resources that a plugin accounts for itself, taken out of the books of a cycle."""

from __future__ import annotations

from collections.abc import Collection

from pumice import Cluster, Resource


def uncount(cluster: Cluster, names: Collection[str]) -> None:
    """Let nobody have or ask for these resources in this cycle; the facts stay as they are.

    To be called before any plugin has opened its session, so that all see the same books.
    """
    positions = [p for n in names if (p := cluster.dimensions.position.get(n)) is not None]
    if not positions:
        return
    nodes = cluster.nodes
    for column in (
        nodes.allocatable,
        nodes.capacity,
        nodes.idle,
        nodes.used,
        nodes.releasing,
        nodes.pipelined,
        nodes.future_idle,
    ):
        column[:, positions] = 0
    cluster.total[positions] = 0
    for task in cluster.tasks.values():
        task.vector[positions] = 0
        task.request = _without(task.request, names)
    for job in cluster.jobs.values():
        job.allocated[positions] = 0
        job.total_request[positions] = 0
        if job.min_resources is not None:
            job.min_resources = _without(job.min_resources, names)


def _without(resource: Resource, names: Collection[str]) -> Resource:
    if resource.scalars.keys().isdisjoint(names):
        return resource
    rest = {name: value for name, value in resource.scalars.items() if name not in names}
    return Resource(resource.cpu, resource.memory, rest)
