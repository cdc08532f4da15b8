"""Cheap necessary conditions: drop a plan without simulating it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from pumice.kube.node_affinity import matches_node
from pumice.model.families.kai.pod_sets import SubGroupSet
from pumice.model.job import Job
from pumice.model.nodes import NodeTable
from pumice.model.task import Task
from pumice.solver.gpu_counts import freed_gpus, idle_gpus, needed_gpus, releasing_gpus
from pumice.solver.plan import NewVictims, Plan

if TYPE_CHECKING:
    from pumice.session.session import Session


class PlanFilter(Protocol):
    def may_work(self, plan: Plan) -> bool:
        """False: no simulation of this plan can succeed."""
        ...


class NodeAffinities:
    """Every task with a node selector or affinity has a matching node among the candidates."""

    def __init__(self, nodes: NodeTable, selective: list[Task], feasible: Iterable[int]) -> None:
        self._nodes = nodes
        self._unmatched = selective
        self._new = NewVictims()
        self._look_at(feasible)

    def may_work(self, plan: Plan) -> bool:
        rows = {
            self._nodes.row_of[task.node]
            for task in self._new.of(plan)
            if task.node in self._nodes.row_of
        }
        self._look_at(rows)
        return not self._unmatched

    def _look_at(self, rows: Iterable[int]) -> None:
        self._unmatched = [
            task
            for task in self._unmatched
            if not any(matches_node(task.pod, self._nodes.facts[row]) for row in rows)
        ]


def _is_selective(task: Task) -> bool:
    return bool(task.pod.node_selector or _required_affinity(task))


def _required_affinity(task: Task) -> Any:
    affinity = task.pod.affinity.get("nodeAffinity") or {}
    return affinity.get("requiredDuringSchedulingIgnoredDuringExecution")


class IdleGpus:
    """The requested GPUs fit, largest first, the nodes with most GPUs free after the evictions."""

    def __init__(self, nodes: NodeTable, needs: list[float], free: FreeGpus) -> None:
        """``needs`` are in falling order; ``free`` is what is free without an eviction."""
        self._nodes = nodes
        self._needs = needs
        self._free = free
        self._freed: dict[int, float] = {}
        """By row: the free GPUs of the nodes that victims are evicted from."""
        self._new = NewVictims()
        self._answer: bool | None = None
        self._least = -np.inf
        """The smallest of the nodes that count: up to it, more free GPUs make no difference."""

    def may_work(self, plan: Plan) -> bool:
        free, freed = self._free.of, self._freed
        for task in self._new.of(plan):
            row = self._nodes.row_of.get(task.node)
            if row is not None:
                known = freed.get(row)
                known = free.item(row) if known is None else known
                now = freed[row] = known + self._free.freed_by(task)
                if now > self._least:
                    self._answer = None
        if self._answer is None:
            self._answer = packs(self._needs, self._largest())
        return self._answer

    def _largest(self) -> list[float]:
        """The free GPUs of as many nodes as there are needs, in falling order."""
        count, freed, free = len(self._needs), self._freed, self._free.of
        top = sorted(freed.values(), reverse=True)[:count]
        unchanged = (row for row in self._free.falling if row not in freed)
        top += [free.item(row) for row in islice(unchanged, count)]
        top.sort(reverse=True)
        if len(top) >= count:
            del top[count:]
            self._least = top[-1]
        return top


class FreeGpus:
    """GPUs that are free on each node without an eviction, and what evictions add."""

    def __init__(self, nodes: NodeTable) -> None:
        self._nodes = nodes
        self.of = idle_gpus(nodes) + releasing_gpus(nodes)
        """By row."""
        self._freed: dict[str, float] = {}

    def freed_by(self, task: Task) -> float:
        freed = self._freed.get(task.uid)
        if freed is None:
            freed = self._freed[task.uid] = freed_gpus(self._nodes, task)
        return freed

    @cached_property
    def falling(self) -> list[int]:
        """The rows, those with most GPUs free first."""
        rows: list[int] = np.argsort(-self.of, kind="stable").tolist()
        return rows


def packs(needs: list[float], free: list[float]) -> bool:
    """Whether needs (largest first) pack greedily into free amounts (largest first)."""
    taken = [0.0] * len(free)
    full = 0
    for need in needs:
        if need <= 0:
            return True
        for position in range(full, len(free)):
            amount = free[position]
            if amount < need:
                return False
            if amount - taken[position] >= need:
                taken[position] += need
                break
            if position == full and taken[position] >= amount:
                full += 1
        else:
            return False
    return True


class TopologyGpus:
    """Sub-groups with a required topology level fit domains with enough free GPUs in sum."""

    def __init__(self, nodes: NodeTable, job: Job, tasks: list[Task], free: FreeGpus) -> None:
        self._nodes = nodes
        self._free = free
        self._new = NewVictims()
        needs: dict[tuple[str, str], list[float]] = {}
        for group in _inner(job.sub_group_root):
            constraint = group.topology_constraint or {}
            level = constraint.get("requiredTopologyLevel")
            if level:
                names = {pod_set.name for pod_set in group.leaves()}
                own = [t for t in tasks if t.sub_job is not None and t.sub_job.name in names]
                key = (str(constraint.get("topology", "")), str(level))
                needs.setdefault(key, []).append(sum(map(needed_gpus, own)))
        self.needs = {key: sorted(values, reverse=True) for key, values in needs.items()}
        self._domains: dict[tuple[str, str], dict[str, float]] = {}
        for key in needs:
            domains = self._domains[key] = {}
            for row, node in enumerate(self._nodes.facts):
                value = node.labels.get(key[1])
                if value is not None:
                    domains[value] = domains.get(value, 0.0) + free.of.item(row)

    def may_work(self, plan: Plan) -> bool:
        for task in self._new.of(plan):
            row = self._nodes.row_of.get(task.node)
            if row is None:
                continue
            labels: Mapping[str, str] = self._nodes.facts[row].labels
            for (_, level), domains in self._domains.items():
                if level in labels:
                    value = labels[level]
                    domains[value] = domains.get(value, 0.0) + self._free.freed_by(task)
        return all(
            packs(needs, sorted(self._domains[key].values(), reverse=True))
            for key, needs in self.needs.items()
        )


def _inner(root: SubGroupSet | None) -> list[SubGroupSet]:
    if root is None:
        return []
    return [root, *(found for inner in root.sets for found in _inner(inner))]


class PlanFilters:
    """Makes the filters for each step of a search. Made before any eviction."""

    def __init__(self, session: Session, feasible: np.ndarray) -> None:
        nodes = self._nodes = session.nodes
        self._feasible = feasible
        self._free = FreeGpus(nodes)

    def make(self, part: Job) -> list[PlanFilter]:
        """The filters for a part of the claimant."""
        nodes, filters, tasks = self._nodes, list[PlanFilter](), list(part.tasks.values())
        selective = [task for task in tasks if _is_selective(task)]
        if selective:
            filters.append(NodeAffinities(nodes, selective, self._feasible.tolist()))
        topology = TopologyGpus(nodes, part, tasks, self._free)
        if topology.needs:
            filters.append(topology)
        needs = sorted(map(needed_gpus, tasks), reverse=True)
        if needs and needs[0] > 0:
            filters.append(IdleGpus(nodes, needs, self._free))
        return filters
