"""Restrict queues to groups of nodes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from loguru import logger
from pydantic import Field

from pumice import (
    ALLOCATED_STATUSES,
    Code,
    Node,
    NodeVerdicts,
    NodeView,
    Plugin,
    Queue,
    Scope,
    Task,
    hookimpl,
    queue_path,
)
from pumice.kube import amount

GROUP = "volcano.sh/nodegroup-name"
LIMITS = "volcano.sh/nodegroup-resource-limits"
_ROOT = "root"
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_REQUIRED_SCORE, _PREFERRED_SCORE, _AVOIDED_SCORE = 100.0, 50.0, -1.0


@dataclass(slots=True, frozen=True)
class GroupAffinity:
    """Affinity and anti-affinity of a queue to node groups, required and preferred."""

    required: tuple[str, ...] = ()
    preferred: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()
    avoided: tuple[str, ...] = ()

    @classmethod
    def of(cls, affinity: Mapping[str, Any]) -> GroupAffinity:
        near = affinity.get("nodeGroupAffinity") or {}
        away = affinity.get("nodeGroupAntiAffinity") or {}
        return cls(
            tuple(near.get(_REQUIRED) or ()),
            tuple(near.get(_PREFERRED) or ()),
            tuple(away.get(_REQUIRED) or ()),
            tuple(away.get(_PREFERRED) or ()),
        )

    def allows(self, group: str) -> bool:
        """Whether the queue may use a group.

        As in Volcano, a group that no list names is rejected, one to be avoided is not.
        """
        if group in self.avoided:
            return True
        named = group in self.required or group in self.preferred
        return named and group not in self.forbidden

    def score(self, group: str, *, by_position: bool) -> float:
        if group in self.avoided:
            return _AVOIDED_SCORE
        score = _REQUIRED_SCORE if group in self.required else 0.0
        if group in self.preferred:
            count = len(self.preferred)
            rank = self.preferred.index(group) if by_position else 0
            score += _PREFERRED_SCORE * (count - rank) / count
        return score


@dataclass(slots=True)
class _QueueGroups:
    """Affinity and limits of one queue."""

    affinity: GroupAffinity | None = None
    limits: Mapping[str, Mapping[int, int]] = field(default_factory=dict)
    """Group → dimension → most that the queue may have allocated in the group."""
    malformed: bool = False
    """Whether the annotation with the limits is malformed."""


class NodeGroup(Plugin):
    """Place a queue's tasks on the groups of nodes that its affinity names.

    Nodes are grouped by the label ``volcano.sh/nodegroup-name``. The queue's annotation
    ``volcano.sh/nodegroup-resource-limits`` limits what it may have allocated in each group.
    """

    reads = frozenset({"queue"})

    class Options(Plugin.Options):
        """Which queues may use which nodes."""

        strict: bool = Field(
            True,
            description="Nodes without a group are for no queue at all.",
        )
        preferred_order: bool = Field(
            False,
            alias="enablePreferredOrder",
            description="Preferred groups score by their position in the list.",
        )
        hierarchy: bool = Field(
            False, description="A queue without affinity inherits that of its nearest ancestor."
        )

    @hookimpl
    def on_session_open(self) -> None:
        session = self.session
        self._queues = {name: self._read(queue) for name, queue in session.queues.items()}
        self._allocated: dict[tuple[str, str], np.ndarray] = {}
        """By queue and group."""
        for job in session.jobs.values():
            for task in job.having(*ALLOCATED_STATUSES):
                self._count(task, 1)

    def _scope(self, task: Task) -> Scope:
        queue = self._queues.get(task.queue)
        return "cluster" if queue is not None and queue.limits else "static"

    @hookimpl(scope=_scope)
    def predicate_nodes(self, task: Task, nodes: NodeView) -> NodeVerdicts | None:
        queue = self._queues.get(task.queue)
        if queue is None:
            return None
        verdicts = NodeVerdicts.accept(len(nodes))

        def reject(where: np.ndarray, reason: str) -> None:
            verdicts.reject(where, reason, Code.UNRESOLVABLE, self.name)

        everywhere = np.ones(len(nodes), bool)
        if queue.malformed:
            reject(everywhere, f"queue {task.queue} has malformed node group limits")
            return verdicts
        groups = nodes.fact(("nodegroup", "name"), _group_of, object)
        grouped = groups != ""
        affinity = queue.affinity
        if affinity is None:
            reject(grouped, f"queue {task.queue} has no affinity to any node group")
            if self.options.strict:
                reject(~grouped, "the node is in no node group")
            return verdicts
        reject(~grouped, "the node is in no node group")
        for group in dict.fromkeys(groups[grouped].tolist()):
            if not affinity.allows(group):
                reject(groups == group, f"node group {group} is not for queue {task.queue}")
            elif self._exceeds(task, group, queue.limits.get(group)):
                reject(
                    groups == group,
                    f"queue {task.queue} is at its limit in node group {group}",
                )
        return verdicts

    @hookimpl(scope="static")
    def batch_node_order(self, task: Task, nodes: NodeView) -> np.ndarray | None:
        queue = self._queues.get(task.queue)
        if queue is None or queue.affinity is None:
            return None
        affinity, by_position = queue.affinity, self.options.preferred_order
        groups = nodes.fact(("nodegroup", "name"), _group_of, object)
        scores = {
            group: affinity.score(group, by_position=by_position)
            for group in dict.fromkeys(groups.tolist())
            if group
        }
        return np.array([scores.get(group, 0.0) for group in groups.tolist()])

    @hookimpl
    def on_allocate(self, task: Task) -> None:
        self._count(task, 1)

    @hookimpl
    def on_deallocate(self, task: Task) -> None:
        self._count(task, -1)

    # -- helpers

    def _read(self, queue: Queue) -> _QueueGroups:
        groups = _QueueGroups(self._affinity_of(queue))
        text = queue.annotations.get(LIMITS, "")
        if text:
            try:
                groups.limits = _read_limits(text, self.session.nodes.dimensions.position)
            except ValueError as error:
                logger.warning(
                    "queue {}: {}: {}; none of its tasks is placed", queue.name, LIMITS, error
                )
                groups.malformed = True
        return groups

    def _affinity_of(self, queue: Queue) -> GroupAffinity | None:
        path = [queue]
        if self.options.hierarchy:
            path = queue_path(self.session.queues, queue.name, root=_ROOT)
        for member in reversed(path):
            if member.affinity:
                return GroupAffinity.of(member.affinity)
        return None

    def _exceeds(self, task: Task, group: str, limits: Mapping[int, int] | None) -> bool:
        if not limits:
            return False
        allocated = self._allocated.get((task.queue, group))
        total = task.vector if allocated is None else allocated + task.vector
        return any(total[position] > most for position, most in limits.items())

    def _count(self, task: Task, sign: int) -> None:
        node = self.session.nodes.get(task.node)
        group = "" if node is None else _group_of(node.facts)
        if not group:
            return
        key = (task.queue, group)
        allocated = self._allocated.get(key)
        if allocated is None:
            allocated = self._allocated[key] = np.zeros(len(task.vector), np.int64)
        allocated += sign * task.vector


def _group_of(node: Node) -> str:
    return node.labels.get(GROUP, "")


def _read_limits(text: str, position: Mapping[str, int]) -> dict[str, dict[int, int]]:
    """Group → dimension → limit; resources that the cluster does not have are left out.

    :raises ValueError: it is not JSON of that shape, or a quantity is malformed.
    """
    data = json.loads(text)
    if not isinstance(data, dict) or not all(isinstance(part, dict) for part in data.values()):
        raise ValueError('should be like {"group": {"cpu": "8"}}')
    return {
        group: {
            position[name]: most
            for name, value in part.items()
            for most in [amount(name, value)]
            if name in position
        }
        for group, part in data.items()
    }
