"""Keep the tasks of a job close together in the network."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import ClassVar

import numpy as np
from pydantic import Field, field_validator

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
from pumice_builtin_plugins.kube.shortcut import POD_COUNTS
from pumice_builtin_plugins.network_topology_aware.gradient import gradient, widest_first
from pumice_builtin_plugins.network_topology_aware.load import HyperLoad, Whereabouts, break_ties

_MAX_SCORE = 100
_EVICT = "evict"


class NetworkTopologyAware(Plugin):
    """Choose hypernodes for jobs with a network topology, and fill hypernodes up.

    A job goes to the lowest tier that holds it, there to the fullest hypernode. Tasks without a
    topology go where the hypernodes around a node are fullest.
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
            description="What a tier counts, compared with the tier below, for such tasks.",
        )
        most_hyper_nodes: int = Field(
            8,
            alias="hypernode.gradient.evict.max-hypernodes",
            description="How many hypernodes are looked at when room is made by eviction.",
        )

        @field_validator("cpu", "memory")
        @classmethod
        def _at_least_nothing(cls, value: int) -> int:
            return 1 if value < 0 else value

        def weights(self) -> dict[str, int]:
            weights = {"cpu": self.cpu, "memory": self.memory}
            for name in filter(None, (part.strip() for part in self.resources.split(","))):
                given = self.resource_weights.get(name, 1)
                weights[name] = 1 if given < 0 else given
            return weights

    @hookimpl
    def on_session_open(self) -> None:
        session = self.session
        self._tree = tree = session.hyper_nodes
        self._load = load = HyperLoad(session, self.options.weights())
        self._scale = float(_MAX_SCORE * self.options.weight)
        self._lowest_tier, self._highest_tier = min(tree.tier.values()), tree.tier[ROOT]
        tiers = np.array([tree.tier[name] for name in load.names])
        by_height = np.argsort(tiers, kind="stable")
        self._lowest = by_height[load.members[by_height].argmax(axis=0)]
        """For each node: the hypernode of the lowest tier that contains it."""
        self._around = [
            (
                self.options.fading ** (tier - self._lowest_tier),
                *self._containing(by_height[tiers[by_height] == tier]),
            )
            for tier in range(self._lowest_tier, self._highest_tier + 1)
        ]
        self._nearness: dict[str, np.ndarray] = {}
        self._whereabouts = Whereabouts(session.nodes.row_of, remembers=session.uses("pod_counts"))

    def _containing(self, hyper_nodes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """For each node: which of the hypernodes contains it, and whether any does."""
        inside = self._load.members[hyper_nodes]
        if not len(hyper_nodes):
            return np.zeros(inside.shape[1], np.intp), np.zeros(inside.shape[1], bool)
        return hyper_nodes[inside.argmax(axis=0)], inside.any(axis=0)

    # -- where to look

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
        needed = self._load.needed(minimum())
        room = self._load.could_hold if purpose == _EVICT else self._load.has_idle
        groups = gradient(
            self._tree,
            given,
            topology.highest_tier_allowed,
            allocated,
            lambda name: room(name, needed),
        )
        return widest_first(groups, self.options.most_hyper_nodes) if purpose == _EVICT else groups

    def _sum(self, tasks: Iterable[Task]) -> np.ndarray:
        total = np.zeros(len(self.session.nodes.dimensions), np.int64)
        for task in tasks:
            total += task.vector
        return total

    # -- scores

    @hookimpl
    def hyper_node_order(
        self, sub_job: SubJob, hyper_nodes: Mapping[str, NodeView]
    ) -> Mapping[str, float]:
        tasks = sub_job.tasks
        indices = [self._load.index[name] for name in hyper_nodes]
        scores = self._load.fullness(self._sum(tasks.values()))[indices]
        held = self._load.members[indices] @ self._whereabouts.of(sub_job)
        scores = break_ties(scores, held, len(tasks)) * self._scale
        return dict(zip(hyper_nodes, scores.tolist(), strict=True))

    def class_key(self, task: Task) -> bool:
        return _has_topology(task)

    def _reach(self, task: Task) -> Scope:
        alone = len(self._load.names) == 1
        return "static" if alone and not _has_topology(task) else "cluster"

    @hookimpl(scope=_reach)
    def batch_node_order(self, task: Task, nodes: NodeView) -> np.ndarray | None:
        if not _has_topology(task):
            return self._fullness_around(task, nodes) if self.options.normal_pods else None
        sub_job = task.sub_job
        if not task.job_hyper_node or sub_job is None:
            return None
        scores = self._near(task.job_hyper_node)[nodes.take(self._lowest)]
        held = nodes.take(self._whereabouts.of(sub_job))
        return break_ties(scores, held, len(sub_job.tasks)) * self._scale

    def _near(self, hyper_node: str) -> np.ndarray:
        """For each hypernode how near it is to the given one, from 0 to 1."""
        found = self._nearness.get(hyper_node)
        if found is None:
            near = [self._nearness_of(name, hyper_node) for name in self._load.names]
            found = self._nearness[hyper_node] = np.array(near)
        return found

    def _nearness_of(self, name: str, other: str) -> float:
        if name == other:
            return 1.0
        common = self._tree.lowest_common(other, name)
        if not common:
            return 0.0
        height = self._highest_tier - self._lowest_tier
        return (self._highest_tier - self._tree.tier[common]) / height if height else 1.0

    def _fullness_around(self, task: Task, nodes: NodeView) -> np.ndarray | None:
        """The mean, weighted by tier, of how full the hypernodes around each node would be."""
        if len(self._load.names) == 1:
            return None
        fullness = self._load.fullness(task.vector)
        total = np.zeros(len(nodes))
        for weight, containing, any_does in self._around:
            score = np.where(nodes.take(any_does), fullness[nodes.take(containing)], 1.0)
            total += weight * score
        mean: np.ndarray = total / sum(weight for weight, _, _ in self._around)
        return mean * self._scale

    # -- what happens

    @hookimpl
    def on_allocate(self, task: Task) -> None:
        self._load.count(task, 1)
        self._whereabouts.placed(task)

    @hookimpl
    def on_deallocate(self, task: Task) -> None:
        self._load.count(task, -1)
        self._whereabouts.taken_back(task)


def _has_topology(task: Task) -> bool:
    topology = task.sub_job.network_topology if task.sub_job is not None else None
    return topology is not None and bool(topology.mode)
