"""Queues keep to the groups of nodes that they are given."""

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
class Rules:
    """The groups that a queue must use, would rather use, must avoid and would rather avoid."""

    required: tuple[str, ...] = ()
    preferred: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()
    avoided: tuple[str, ...] = ()

    @classmethod
    def of(cls, affinity: Mapping[str, Any]) -> Rules:
        towards = affinity.get("nodeGroupAffinity") or {}
        away = affinity.get("nodeGroupAntiAffinity") or {}
        return cls(
            tuple(towards.get(_REQUIRED) or ()),
            tuple(towards.get(_PREFERRED) or ()),
            tuple(away.get(_REQUIRED) or ()),
            tuple(away.get(_PREFERRED) or ()),
        )

    def allows(self, group: str) -> bool:
        """A group that no list names is refused; one that is merely avoided is not."""
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
class _Member:
    """What the plugin knows of one queue."""

    rules: Rules | None = None
    limits: Mapping[str, Mapping[int, int]] = field(default_factory=dict)
    """Group → position of a resource → most of it that the queue may hold in the group."""
    unreadable: bool = False


class NodeGroup(Plugin):
    """Keep a queue's tasks on the groups of nodes that its affinity names.

    Nodes are grouped by the label ``volcano.sh/nodegroup-name``. The queue's annotation
    ``volcano.sh/nodegroup-resource-limits`` bounds what it may hold in each group.
    """

    reads = frozenset({"queue"})

    class Options(Plugin.Options):
        """Who may use what is not named."""

        strict: bool = Field(
            True, description="Nodes of no group are for nobody, not for queues without affinity."
        )
        preferred_order: bool = Field(
            False,
            alias="enablePreferredOrder",
            description="Preferred groups score by their place in the list.",
        )
        hierarchy: bool = Field(
            False, description="A queue without affinity has that of its nearest ancestor."
        )

    @hookimpl
    def on_session_open(self) -> None:
        session = self.session
        self._members = {name: self._describe(queue) for name, queue in session.queues.items()}
        self._held: dict[tuple[str, str], np.ndarray] = {}
        for job in session.jobs.values():
            for task in job.having(*ALLOCATED_STATUSES):
                self._count(task, 1)

    def _describe(self, queue: Queue) -> _Member:
        member = _Member(self._rules_of(queue))
        text = queue.annotations.get(LIMITS, "")
        if text:
            try:
                member.limits = _read_limits(text, self.session.nodes.dimensions.position)
            except ValueError as error:
                logger.warning(
                    "queue {}: {}: {}; nothing of it is placed", queue.name, LIMITS, error
                )
                member.unreadable = True
        return member

    def _rules_of(self, queue: Queue) -> Rules | None:
        path = [queue]
        if self.options.hierarchy:
            path = queue_path(self.session.queues, queue.name, root=_ROOT)
        for member in reversed(path):
            if member.affinity:
                return Rules.of(member.affinity)
        return None

    def _reach(self, task: Task) -> Scope:
        member = self._members.get(task.queue)
        return "cluster" if member is not None and member.limits else "static"

    @hookimpl(scope=_reach)
    def predicate_nodes(self, task: Task, nodes: NodeView) -> NodeVerdicts | None:
        member = self._members.get(task.queue)
        if member is None:
            return None
        verdicts = NodeVerdicts.accept(len(nodes))

        def refuse(where: np.ndarray, reason: str) -> None:
            verdicts.reject(where, reason, Code.UNRESOLVABLE, self.name)

        everywhere = np.ones(len(nodes), bool)
        if member.unreadable:
            refuse(everywhere, f"queue {task.queue} has unreadable node group limits")
            return verdicts
        groups = nodes.fact(("nodegroup", "name"), _group_of, object)
        grouped = groups != ""
        rules = member.rules
        if rules is None:
            refuse(grouped, f"queue {task.queue} has no affinity to any node group")
            if self.options.strict:
                refuse(~grouped, "the node is in no node group")
            return verdicts
        refuse(~grouped, "the node is in no node group")
        for group in dict.fromkeys(groups[grouped].tolist()):
            if not rules.allows(group):
                refuse(groups == group, f"node group {group} is not for queue {task.queue}")
            elif self._exceeds(task, group, member.limits.get(group)):
                refuse(groups == group, f"queue {task.queue} has its limit of node group {group}")
        return verdicts

    def _exceeds(self, task: Task, group: str, limits: Mapping[int, int] | None) -> bool:
        if not limits:
            return False
        held = self._held.get((task.queue, group))
        total = task.vector if held is None else held + task.vector
        return any(total[position] > most for position, most in limits.items())

    @hookimpl(scope="static")
    def batch_node_order(self, task: Task, nodes: NodeView) -> np.ndarray | None:
        member = self._members.get(task.queue)
        if member is None or member.rules is None:
            return None
        rules, by_position = member.rules, self.options.preferred_order
        groups = nodes.fact(("nodegroup", "name"), _group_of, object)
        scores = {
            group: rules.score(group, by_position=by_position)
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

    def _count(self, task: Task, sign: int) -> None:
        node = self.session.nodes.get(task.node)
        group = "" if node is None else _group_of(node.facts)
        if not group:
            return
        key = (task.queue, group)
        held = self._held.get(key)
        if held is None:
            held = self._held[key] = np.zeros(len(task.vector), np.int64)
        held += sign * task.vector


def _group_of(node: Node) -> str:
    return node.labels.get(GROUP, "")


def _read_limits(text: str, position: Mapping[str, int]) -> dict[str, dict[int, int]]:
    """Group → position → most; resources that nobody in the cluster has need no limit.

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
