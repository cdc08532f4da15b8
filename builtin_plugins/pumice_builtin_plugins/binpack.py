"""Fill nodes up before opening new ones."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from pydantic import Field, field_validator

from pumice import NodeHandle, NodeView, Plugin, Task, hookimpl

_MAX_SCORE = 100


class Binpack(Plugin):
    """Score a node by how full it would be, weighted by resource.

    Only what is used counts, not what is promised. A node that would be overfull scores 0.
    """

    class Options(Plugin.Options):
        """Weights of the resources; a resource without one does not count."""

        collected: ClassVar[dict[str, str]] = {"binpack.resources.": "resource_weights"}

        weight: int = Field(1, alias="binpack.weight", description="Weight of the whole score.")
        cpu: int = Field(1, alias="binpack.cpu", description="Weight of cpu.")
        memory: int = Field(1, alias="binpack.memory", description="Weight of memory.")
        resources: str = Field(
            "", alias="binpack.resources", description="Further resources, comma separated."
        )
        resource_weights: dict[str, int] = Field(
            default_factory=dict,
            description="Weight of a further resource, as binpack.resources.NAME.",
        )

        @field_validator("cpu", "memory")
        @classmethod
        def _at_least_one(cls, value: int) -> int:
            return 1 if value < 0 else value

    def _weights(self) -> dict[str, int]:
        options = self.options
        weights = {"cpu": options.cpu, "memory": options.memory}
        for name in filter(None, (part.strip() for part in options.resources.split(","))):
            given = options.resource_weights.get(name, 1)
            weights[name] = 1 if given < 0 else given
        return weights

    @hookimpl
    def on_session_open(self) -> None:
        positions = self.session.nodes.dimensions.position
        self._weight_of = {
            positions[name]: weight for name, weight in self._weights().items() if name in positions
        }
        self._scale = float(_MAX_SCORE * self.options.weight)
        self._terms: dict[bytes, tuple[list[tuple[int, int, int]], int]] = {}

    def _terms_of(self, task: Task) -> tuple[list[tuple[int, int, int]], int]:
        """(dimension, request, weight) of what the task asks for, and the sum of the weights."""
        key = task.vector.tobytes()
        terms = self._terms.get(key)
        if terms is None:
            asked = [
                (dimension, amount, self._weight_of[dimension])
                for dimension, amount in enumerate(task.vector.tolist())
                if amount > 0 and dimension in self._weight_of
            ]
            terms = self._terms[key] = (asked, sum(weight for _, _, weight in asked))
        return terms

    @hookimpl(scope="row")
    def node_order(self, task: Task, node: NodeHandle) -> float:
        terms, total = self._terms_of(task)
        if not self._scale or not total:
            return 0.0
        used, capacity = node.table.used[node.row], node.table.allocatable[node.row]
        score = 0.0
        for dimension, amount, weight in terms:
            room = capacity.item(dimension)
            if not room or not weight:
                continue
            held = amount + used.item(dimension)
            if held > room:
                return 0.0
            score += held * weight / room
        return score / total * self._scale

    @hookimpl(scope="row")
    def batch_node_order(self, task: Task, nodes: NodeView) -> np.ndarray | None:
        terms, total = self._terms_of(task)
        if not self._scale or not total:
            return None
        used, capacity = nodes.used, nodes.allocatable
        score = np.zeros(len(nodes))
        overfull = np.zeros(len(nodes), bool)
        for dimension, amount, weight in terms:
            if not weight:
                continue
            room, held = capacity[:, dimension], used[:, dimension] + amount
            has = room > 0
            overfull |= has & (held > room)
            score += np.divide(held * weight, room, out=np.zeros(len(nodes)), where=has)
        return np.where(overfull, 0.0, score / total * self._scale)
