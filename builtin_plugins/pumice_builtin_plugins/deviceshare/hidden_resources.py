"""Hides resources that a plugin accounts for itself from the session."""

from __future__ import annotations

from collections.abc import Collection

from pumice import Cluster, Resource


def hide_resources(cluster: Cluster, names: Collection[str]) -> None:
    """Set these resources to 0 for all nodes, tasks and jobs; the facts stay as they are.

    To be called before any plugin opens the session, so that all see the same amounts.
    """
    position = cluster.dimensions.position
    positions = [position[name] for name in names if name in position]
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
