"""Place the tasks of a job close together in the network."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import ClassVar

import numpy as np
from pydantic import Field

from pumice import (
    ROOT,
    Job,
    NetworkTopology,
    NodeView,
    Plugin,
    Resource,
    Scope,
    SubJob,
    Task,
    hookimpl,
    is_hard,
)
from pumice_builtin_plugins.kube.resource_weights import resource_weights
from pumice_builtin_plugins.kube.shortcut import POD_COUNTS
from pumice_builtin_plugins.network_topology_aware.gradient import gradient, widest_first
from pumice_builtin_plugins.network_topology_aware.hyper_nodes import (
    HyperNodeResources,
    SubJobTasks,
    break_ties,
)

_MAX_SCORE = 100
_EVICT = "evict"


class NetworkTopologyAware(Plugin):
    """Choose hypernodes for jobs with a network topology, and binpack hypernodes.

    A job goes to the lowest tier in which it fits, there to the fullest hypernode. Tasks without a
    topology go where the hypernodes above a node are fullest.
    """

    shortcuts = (POD_COUNTS,)

    class Options(Plugin.Options):
        """Weights of the resources; a resource without one does not count."""

        collected: ClassVar[dict[str, str]] = {"hypernode.binpack.resources.": "resource_weights"}

        weight: int = Field(1, description="Weight of the whole score.")
        cpu: int = Field(1, alias="hypernode.binpack.cpu", description="Weight of cpu.")
        memory: int = Field(1, alias="hypernode.binpack.memory", description="Weight of memory.")
        resources: str = Field(
            "",
            alias="hypernode.binpack.resources",
            description="Further resources, comma separated.",
        )
        resource_weights: dict[str, int] = Field(
            default_factory=dict,
            description="Weight of a further resource, as hypernode.binpack.resources.NAME.",
        )
        normal_pods: bool = Field(
            True,
            alias="hypernode.binpack.normal-pod.enable",
            description="Score nodes for tasks without a topology, too.",
        )
        fading: float = Field(
            0.8,
            ge=0,
            alias="hypernode.binpack.normal-pod.fading",
            description="Weight of a tier relative to the tier below, for such tasks.",
        )
        most_hyper_nodes: int = Field(
            8,
            alias="hypernode.gradient.evict.max-hypernodes",
            description="How many hypernodes are tried when victims are evicted.",
        )

    @hookimpl
    def on_session_open(self) -> None:
        session = self.session
        self._tree = tree = session.hyper_nodes
        options = self.options
        weights = resource_weights(
            options.cpu, options.memory, options.resources, options.resource_weights
        )
        self._resources = resources = HyperNodeResources(session, weights)
        self._scale = float(_MAX_SCORE * self.options.weight)
        self._lowest_tier, self._highest_tier = min(tree.tier.values()), tree.tier[ROOT]
        tiers = np.array([tree.tier[name] for name in resources.names])
        by_height = np.argsort(tiers, kind="stable")
        self._lowest = by_height[resources.members[by_height].argmax(axis=0)]
        """For each node: the hypernode of the lowest tier that contains it."""
        self._tiers = [
            (
                self.options.fading ** (tier - self._lowest_tier),
                *self._containing(by_height[tiers[by_height] == tier]),
            )
            for tier in range(self._lowest_tier, self._highest_tier + 1)
        ]
        self._nearness: dict[str, np.ndarray] = {}
        self._sub_job_tasks = SubJobTasks(session.nodes.row_of, cached=session.uses("pod_counts"))

    def class_key(self, task: Task) -> bool:
        return _has_topology(task)

    @hookimpl
    def hyper_node_gradient_for_job(
        self, job: Job, root: str, purpose: str
    ) -> Sequence[Sequence[str]]:
        return self._gradient(
            job.network_topology,
            root,
            job.allocated_hyper_node,
            purpose,
            lambda: job.min_resources or Resource(),
        )

    @hookimpl
    def hyper_node_gradient_for_sub_job(
        self, sub_job: SubJob, root: str, purpose: str
    ) -> Sequence[Sequence[str]]:
        return self._gradient(
            sub_job.network_topology,
            root,
            sub_job.allocated_hyper_node,
            purpose,
            lambda: self.session.nodes.dimensions.resource(self._sum(sub_job.pending)),
        )

    @hookimpl
    def hyper_node_order(
        self, sub_job: SubJob, hyper_nodes: Mapping[str, NodeView]
    ) -> Mapping[str, float]:
        tasks = sub_job.tasks
        indices = [self._resources.index[name] for name in hyper_nodes]
        scores = self._resources.binpack(self._sum(tasks.values()))[indices]
        placed = self._resources.members[indices] @ self._sub_job_tasks.by_node(sub_job)
        scores = break_ties(scores, placed, len(tasks)) * self._scale
        return dict(zip(hyper_nodes, scores.tolist(), strict=True))

    def _scope(self, task: Task) -> Scope:
        only_root = len(self._resources.names) == 1
        return "static" if only_root and not _has_topology(task) else "cluster"

    @hookimpl(scope=_scope)
    def batch_node_order(self, task: Task, nodes: NodeView) -> np.ndarray | None:
        if not _has_topology(task):
            return self._tier_scores(task, nodes) if self.options.normal_pods else None
        sub_job = task.sub_job
        if not task.job_hyper_node or sub_job is None:
            return None
        scores = self._near(task.job_hyper_node)[nodes.take(self._lowest)]
        placed = nodes.take(self._sub_job_tasks.by_node(sub_job))
        return break_ties(scores, placed, len(sub_job.tasks)) * self._scale

    @hookimpl
    def on_allocate(self, task: Task) -> None:
        self._resources.count(task, 1)
        self._sub_job_tasks.add(task)

    @hookimpl
    def on_deallocate(self, task: Task) -> None:
        self._resources.count(task, -1)
        self._sub_job_tasks.remove(task)

    # -- helpers

    def _containing(self, hyper_nodes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """For each node: which of the hypernodes contains it, and whether any does."""
        inside = self._resources.members[hyper_nodes]
        if not len(hyper_nodes):
            return np.zeros(inside.shape[1], np.intp), np.zeros(inside.shape[1], bool)
        return hyper_nodes[inside.argmax(axis=0)], inside.any(axis=0)

    def _gradient(
        self,
        topology: NetworkTopology | None,
        given: str,
        allocated: str,
        purpose: str,
        minimum: Callable[[], Resource],
    ) -> list[list[str]]:
        if topology is None or topology.highest_tier_allowed is None or not is_hard(topology):
            return [[given]]
        needed = self._resources.needed(minimum())
        fits = self._resources.fits_allocatable if purpose == _EVICT else self._resources.fits_idle
        groups = gradient(
            self._tree,
            given,
            topology.highest_tier_allowed,
            allocated,
            lambda name: fits(name, needed),
        )
        return widest_first(groups, self.options.most_hyper_nodes) if purpose == _EVICT else groups

    def _sum(self, tasks: Iterable[Task]) -> np.ndarray:
        total = np.zeros(len(self.session.nodes.dimensions), np.int64)
        for task in tasks:
            total += task.vector
        return total

    def _near(self, hyper_node: str) -> np.ndarray:
        """For each hypernode how near it is to the given one, 0 to 1."""
        nearness = self._nearness.get(hyper_node)
        if nearness is None:
            near = [self._nearness_of(name, hyper_node) for name in self._resources.names]
            nearness = self._nearness[hyper_node] = np.array(near)
        return nearness

    def _nearness_of(self, name: str, other: str) -> float:
        if name == other:
            return 1.0
        common = self._tree.lowest_common(other, name)
        if not common:
            return 0.0
        height = self._highest_tier - self._lowest_tier
        return (self._highest_tier - self._tree.tier[common]) / height if height else 1.0

    def _tier_scores(self, task: Task, nodes: NodeView) -> np.ndarray | None:
        """The mean, weighted by tier, of the binpack scores of the hypernodes above each node.

        As in Volcano, a tier without a hypernode above the node counts 1.
        """
        if len(self._resources.names) == 1:
            return None
        scores = self._resources.binpack(task.vector)
        total = np.zeros(len(nodes))
        for weight, containing, any_does in self._tiers:
            score = np.where(nodes.take(any_does), scores[nodes.take(containing)], 1.0)
            total += weight * score
        mean: np.ndarray = total / sum(weight for weight, _, _ in self._tiers)
        return mean * self._scale


def _has_topology(task: Task) -> bool:
    topology = task.sub_job.network_topology if task.sub_job is not None else None
    return topology is not None and bool(topology.mode)
