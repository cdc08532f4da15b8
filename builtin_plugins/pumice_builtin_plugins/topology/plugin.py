"""Place the tasks of a sub-group close together in a topology of node labels."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from pumice import Job, NodeView, Plugin, Refusal, Scope, SubJob, Task, hookimpl
from pumice.gang import SubGroupSet, active_tasks
from pumice_builtin_plugins.topology.domains import Domain, GroupRequest, Topology, measure

_SCORE = 10_000


class TopologyPlugin(Plugin):
    """Place a sub-group inside one domain of its required level, as deep as it prefers.

    Domains are tried from the deepest level up, the tightest that fits first. As in KAI, inside a
    set of nodes the emptier domains of the preferred level score higher all the same.
    """

    @hookimpl
    def on_session_open(self) -> None:
        objects = self.session.cluster.inventory.others.get("Topology", {})
        self._topologies = {
            name: Topology(raw, self.session.nodes) for name, raw in sorted(objects.items())
        }
        self._by_label: dict[str, Topology] = {}
        """By node label: the topology with this level alone."""
        self._scores: dict[str, np.ndarray] = {}
        """Per sub-group name: the score of each node; NaN: the node is not allowed."""

    def class_key(self, task: Task) -> Hashable:
        """Whether the task has a topology constraint; others are not scored."""
        return _is_constrained(task)

    @hookimpl
    def pre_job_allocation(self, job: Job) -> None:
        self._scores.clear()

    @hookimpl
    def subset_nodes(
        self,
        job: Job,
        sub_group: SubGroupSet | SubJob,
        pod_sets: Mapping[str, SubJob],
        tasks: Sequence[Task],
        nodes: np.ndarray,
    ) -> Sequence[np.ndarray] | None:
        constraint = sub_group.topology_constraint
        if not constraint:
            return None
        # A pod group of Kubernetes' own API names a node label instead of a topology.
        name = constraint.get("topology") or constraint.get("nodeLabel")
        if not name or not tasks:
            return None
        topology = self._topology(constraint)
        if topology is None:
            return self._refuse(job, f"topology {name} does not exist")
        try:
            required, preferred = self._depths(topology, constraint)
        except ValueError as error:
            return self._refuse(job, f"topology {name}: {error}")
        request = GroupRequest(self.session.nodes, tasks)
        if request.mixed_portions:
            return self._refuse(job, "tasks of one sub-group request different parts of a GPU")
        inside = [row for row in nodes.tolist() if row in topology.path_of]
        if not inside:
            return self._refuse(job, f"no node is part of topology {name}")
        deepest = preferred or required
        start = topology.common(inside, deepest)
        measure(start, self.session.nodes, request)
        if not start.fits(request.count):
            return self._refuse(job, f"topology {name} has no room in {start.id}")
        if preferred:
            self._score(sub_group.name, start, preferred)
        domains = self._fitting(topology, start, deepest, required, pod_sets, request)
        if not domains:
            return self._refuse(
                job, f"no domain of {constraint.get('requiredTopologyLevel')} has enough room"
            )
        allowed = set(inside)
        sets = [np.array([r for r in d.rows if r in allowed], dtype=np.intp) for d in domains]
        return [rows for rows in sets if len(rows)]

    def _scope(self, task: Task) -> Scope:
        return "cluster" if _is_constrained(task) else "static"

    @hookimpl(scope=_scope)
    def batch_node_order(self, task: Task, nodes: NodeView) -> np.ndarray | None:
        if not self._scores or task.sub_job is None or not _is_constrained(task):
            return None
        scores = self._scores.get(task.sub_job.name)
        group = task.sub_job.parent
        while scores is None and group is not None:
            scores = self._scores.get(group.name)
            group = group.parent
        return None if scores is None else nodes.take(scores)

    # -- helpers

    def _topology(self, constraint: Mapping[str, Any]) -> Topology | None:
        label = constraint.get("nodeLabel")
        if not label:
            return self._topologies.get(constraint["topology"])
        if label not in self._by_label:
            raw = {"spec": {"levels": [{"nodeLabel": label}]}}
            self._by_label[label] = Topology(raw, self.session.nodes)
        return self._by_label[label]

    @staticmethod
    def _refuse(job: Job, why: str) -> list[np.ndarray]:
        job.refusals.append(Refusal("TopologyDoesNotFit", why))
        return []

    @staticmethod
    def _depths(topology: Topology, constraint: Mapping[str, Any]) -> tuple[int, int]:
        """Depths of the required and the preferred level; 0 for one that is not given."""
        depths = []
        for key in ("requiredTopologyLevel", "preferredTopologyLevel"):
            level = constraint.get(key)
            try:
                depths.append(topology.depth(level) if level else 0)
            except ValueError:
                raise ValueError(f"it has no level {level}") from None
        required, preferred = depths
        if not required and not preferred:
            raise ValueError("neither a required nor a preferred level is named")
        if preferred and required > preferred:
            raise ValueError("the required level is finer than the preferred one")
        return required, preferred

    def _fitting(
        self,
        topology: Topology,
        start: Domain,
        deepest: int,
        required: int,
        pod_sets: Mapping[str, SubJob],
        request: GroupRequest,
    ) -> list[Domain]:
        """Domains that fit, the deepest level first, the tightest first within a level."""
        active = self._active_domains(topology, required, pod_sets)
        fitting = []
        for depth in range(deepest, required - 1, -1):
            for domain in start.subtree():
                if domain.depth != depth or not domain.fits(request.count):
                    continue
                if active is not None and not self._below(topology, domain, required, active):
                    continue
                fitting.append(domain)
        return fitting

    def _active_domains(
        self, topology: Topology, required: int, pod_sets: Mapping[str, SubJob]
    ) -> set[str] | None:
        """Domains of the required level that have active tasks of the job; None: no restriction."""
        if not required:
            return None
        row_of = self.session.nodes.row_of
        rows = [
            row_of[task.node]
            for pod_set in pod_sets.values()
            for task in active_tasks(pod_set)
            if task.node in row_of
        ]
        paths = [topology.path_of[row] for row in rows if row in topology.path_of]
        return {path[required].id for path in paths} or None

    @staticmethod
    def _below(topology: Topology, domain: Domain, required: int, active: set[str]) -> bool:
        return topology.path_of[domain.rows[0]][required].id in active

    def _score(self, name: str, start: Domain, preferred: int) -> None:
        domains = [d for d in start.subtree() if d.depth == preferred]
        scores = np.full(len(self.session.nodes), np.nan)
        for number, domain in enumerate(domains, 1):
            scores[domain.rows] = 10 * number // len(domains) * _SCORE
        self._scores[name] = scores


def _is_constrained(task: Task) -> bool:
    """Whether the task's sub-group or one above it has a topology constraint."""
    if task.sub_job is None:
        return False
    if task.sub_job.topology_constraint:
        return True
    group = task.sub_job.parent
    while group is not None:
        if group.topology_constraint:
            return True
        group = group.parent
    return False
