"""Cheap necessary conditions: refuse a scenario without simulating it."""

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
from pumice.solver.plan import Plan

if TYPE_CHECKING:
    from pumice.session.session import Session


class PlanFilter(Protocol):
    def may_work(self, plan: Plan) -> bool:
        """False: no simulation of this scenario can succeed."""
        ...


class _Growing:
    """Looks at each victim of a growing scenario once."""

    def __init__(self) -> None:
        self._seen_groups = 0
        self._seen_recorded = False

    def fresh(self, plan: Plan) -> list[Task]:
        tasks: list[Task] = []
        if not self._seen_recorded:
            self._seen_recorded = True
            tasks += plan.recorded_tasks
        for group in plan.potential[self._seen_groups :]:
            tasks += group.tasks
        self._seen_groups = len(plan.potential)
        return tasks


class NodeAffinities:
    """Every task with a node selector finds a matching node among those that can be freed."""

    def __init__(self, nodes: NodeTable, bound: list[Task], feasible: Iterable[int]) -> None:
        self._nodes = nodes
        self._unmatched = bound
        self._growing = _Growing()
        self._look_at(feasible)

    def may_work(self, plan: Plan) -> bool:
        rows = {
            self._nodes.row_of[task.node]
            for task in self._growing.fresh(plan)
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


def _is_bound(task: Task) -> bool:
    return bool(task.pod.node_selector or _required_affinity(task))


def _required_affinity(task: Task) -> Any:
    affinity = task.pod.affinity.get("nodeAffinity") or {}
    return affinity.get("requiredDuringSchedulingIgnoredDuringExecution")


class IdleGpus:
    """The GPUs asked for fit, largest first, into the roomiest nodes once the victims are gone."""

    def __init__(self, nodes: NodeTable, needs: list[float], room: Room) -> None:
        """``needs`` are in falling order; ``room`` is what each node has without an eviction."""
        self._nodes = nodes
        self._needs = needs
        self._room = room
        self._grown: dict[int, float] = {}
        """By row: the room of the nodes that victims leave."""
        self._growing = _Growing()
        self._answer: bool | None = None
        self._least = -np.inf
        """The smallest of the roomiest nodes: up to it, more room makes no difference."""

    def may_work(self, plan: Plan) -> bool:
        room, grown = self._room.of, self._grown
        for task in self._growing.fresh(plan):
            row = self._nodes.row_of.get(task.node)
            if row is not None:
                known = grown.get(row)
                known = room.item(row) if known is None else known
                now = grown[row] = known + self._room.freed_by(task)
                if now > self._least:
                    self._answer = None
        if self._answer is None:
            self._answer = packs(self._needs, self._roomiest())
        return self._answer

    def _roomiest(self) -> list[float]:
        """The room of as many nodes as there are needs, in falling order."""
        count, grown, room = len(self._needs), self._grown, self._room.of
        top = sorted(grown.values(), reverse=True)[:count]
        unmoved = (row for row in self._room.falling if row not in grown)
        top += [room.item(row) for row in islice(unmoved, count)]
        top.sort(reverse=True)
        if len(top) >= count:
            del top[count:]
            self._least = top[-1]
        return top


class Room:
    """GPUs that each node has without an eviction, and what evictions add."""

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
        """The rows, the roomiest first."""
        rows: list[int] = np.argsort(-self.of, kind="stable").tolist()
        return rows


def packs(needs: list[float], room: list[float]) -> bool:
    """Whether needs (largest first) go greedily into room (largest first)."""
    taken = [0.0] * len(room)
    full = 0
    for need in needs:
        if need <= 0:
            return True
        for position in range(full, len(room)):
            free = room[position]
            if free < need:
                return False
            if free - taken[position] >= need:
                taken[position] += need
                break
            if position == full and taken[position] >= free:
                full += 1
        else:
            return False
    return True


class TopologyGpus:
    """Sub-groups that must stay in one domain find domains with enough GPUs in sum."""

    def __init__(self, nodes: NodeTable, job: Job, tasks: list[Task], room: Room) -> None:
        self._nodes = nodes
        self._room = room
        self._growing = _Growing()
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
                    domains[value] = domains.get(value, 0.0) + room.of.item(row)

    def may_work(self, plan: Plan) -> bool:
        for task in self._growing.fresh(plan):
            row = self._nodes.row_of.get(task.node)
            if row is None:
                continue
            labels: Mapping[str, str] = self._nodes.facts[row].labels
            for (_, level), domains in self._domains.items():
                if level in labels:
                    value = labels[level]
                    domains[value] = domains.get(value, 0.0) + self._room.freed_by(task)
        return all(
            packs(needs, sorted(self._domains[key].values(), reverse=True))
            for key, needs in self.needs.items()
        )


def _inner(root: SubGroupSet | None) -> list[SubGroupSet]:
    if root is None:
        return []
    return [root, *(found for inner in root.sets for found in _inner(inner))]


class PlanFilters:
    """Makes the filters for each step of a search. Made while nobody is evicted."""

    def __init__(self, session: Session, feasible: np.ndarray) -> None:
        nodes = self._nodes = session.nodes
        self._feasible = feasible
        self._room = Room(nodes)

    def make(self, part: Job) -> list[PlanFilter]:
        """The filters for a part of the claimant."""
        nodes, filters, tasks = self._nodes, list[PlanFilter](), list(part.tasks.values())
        bound = [task for task in tasks if _is_bound(task)]
        if bound:
            filters.append(NodeAffinities(nodes, bound, self._feasible.tolist()))
        topology = TopologyGpus(nodes, part, tasks, self._room)
        if topology.needs:
            filters.append(topology)
        needs = sorted(map(needed_gpus, tasks), reverse=True)
        if needs and needs[0] > 0:
            filters.append(IdleGpus(nodes, needs, self._room))
        return filters
