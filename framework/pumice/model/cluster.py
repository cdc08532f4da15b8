"""The cluster of one cycle: tasks, jobs and the node table, built from an inventory."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from operator import attrgetter

import numpy as np

from pumice.model.build import ModelBuilder, Vectors
from pumice.model.dimensions import Dimensions
from pumice.model.facts import Inventory, Queue
from pumice.model.families.kai.nodes import count_kai_gpus, has_kai_jobs
from pumice.model.gpu.request import GPU
from pumice.model.incremental.snapshot_cache import SnapshotCache
from pumice.model.job import Job, sum_requests
from pumice.model.nodes import NodeTable
from pumice.model.task import Task
from pumice.model.topology import HyperNodeTree

by_name = attrgetter("namespace", "name")
"""The order of pods and tasks."""


@dataclass(slots=True, eq=False)
class Cluster:
    """Everything a session decides about: one cycle's own view of the facts."""

    inventory: Inventory
    """The facts that it was made from; in a test, where they are collected."""
    now: float
    """Epoch seconds of the cycle."""
    dimensions: Dimensions
    """The resources of the cluster, in the order of the vectors."""
    nodes: NodeTable
    """The node table."""
    tasks: dict[str, Task]
    """Every task by uid, those of no job included."""
    jobs: dict[str, Job]
    """The jobs by uid."""
    queues: dict[str, Queue]
    """The queues by name."""
    hyper_nodes: HyperNodeTree
    """The tree of hypernodes."""
    total: np.ndarray
    """What all nodes have, by dimension."""
    snapshot_cache: SnapshotCache
    """What plugins compute of the cluster before the cycle changes it, cached between cycles."""
    job_journal: list[Job] = field(default_factory=list)
    """Jobs in the order in which their tasks changed status."""


def build_cluster(
    inventory: Inventory, *, now: float, scheduler_names: Collection[str] = ()
) -> Cluster:
    """Make a cycle's own, mutable view of the facts.

    Pods of other schedulers than those named count on their nodes and belong to no job.
    """
    kai = has_kai_jobs(inventory)
    dimensions = Dimensions({*scalars_of(inventory), GPU} if kai else scalars_of(inventory))
    nodes = NodeTable(inventory.nodes.values(), dimensions)
    if kai:
        count_kai_gpus(nodes, inventory)
    builder = ModelBuilder(
        inventory,
        now=now,
        scheduler_names=scheduler_names,
        vectors=Vectors(dimensions),
        dimensions=dimensions,
        kai=kai,
        tree=grow_tree(inventory, nodes),
    )
    jobs = builder.jobs
    for uid, group in sorted(inventory.groups.items()):
        if builder.makes_job(group):
            jobs[uid] = builder.job(group)
    tasks: dict[str, Task] = {}
    on_nodes: list[tuple[int, Task]] = []
    row_of = nodes.row_of
    for pod in sorted(inventory.pods.values(), key=by_name):
        owner = builder.owner(pod)
        task = tasks[pod.uid] = builder.task(pod)
        if owner is not None:
            builder.join(task, owner)
        row = row_of.get(task.node)
        if row is not None and builder.is_on_node(task):
            on_nodes.append((row, task))
    nodes.fill(on_nodes)
    sum_requests(jobs.values())
    for job in jobs.values():
        builder.finish(job)
    return assemble(builder, nodes, tasks, SnapshotCache(nodes, jobs, tasks))


def assemble(
    builder: ModelBuilder, nodes: NodeTable, tasks: dict[str, Task], snapshot_cache: SnapshotCache
) -> Cluster:
    """The cluster of parts that are complete."""
    inventory = builder.inventory
    return Cluster(
        inventory=inventory,
        now=builder.now,
        dimensions=nodes.dimensions,
        nodes=nodes,
        tasks=tasks,
        jobs=builder.jobs,
        queues=dict(sorted(inventory.queues.items())),
        hyper_nodes=builder.tree,
        total=nodes.allocatable.sum(axis=0),
        snapshot_cache=snapshot_cache,
        job_journal=builder.job_journal,
    )


def scalars_of(inventory: Inventory) -> set[str]:
    """The names of all resources, beside cpu and memory, that a node has or a pod asks for."""
    names = {name for node in inventory.nodes.values() for name in node.allocatable.scalars}
    # Most pods share their request with others.
    requests = {id(pod.request): pod.request for pod in inventory.pods.values()}
    names.update(name for request in requests.values() for name in request.scalars)
    return names


def grow_tree(inventory: Inventory, nodes: NodeTable) -> HyperNodeTree:
    return HyperNodeTree(inventory.hypernodes.values(), nodes.facts)
