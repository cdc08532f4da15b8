"""Binpack: prefer the fullest nodes."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from pydantic import Field

from pumice import NodeHandle, NodeView, Plugin, Task, hookimpl
from pumice_builtin_plugins.kube.resource_weights import resource_weights

_MAX_SCORE = 100


class Binpack(Plugin):
    """Score a node by how full it would be, weighted by resource.

    As in Volcano only used resources count, not pipelined ones. A node where the task does not fit
    scores 0.
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

    @hookimpl
    def on_session_open(self) -> None:
        positions, options = self.session.nodes.dimensions.position, self.options
        weights = resource_weights(
            options.cpu, options.memory, options.resources, options.resource_weights
        )
        self._weight_of = {
            positions[name]: weight for name, weight in weights.items() if name in positions
        }
        self._scale = float(_MAX_SCORE * self.options.weight)
        self._terms: dict[bytes, tuple[list[tuple[int, int, int]], int]] = {}

    @hookimpl(scope="row")
    def node_order(self, task: Task, node: NodeHandle) -> float:
        terms, total = self._terms_of(task)
        if not self._scale or not total:
            return 0.0
        row, used, allocatable = node.row, node.table.used, node.table.allocatable
        score = 0.0
        for dimension, amount, weight in terms:
            size = allocatable.item(row, dimension)
            if not size or not weight:
                continue
            total_used = amount + used.item(row, dimension)
            if total_used > size:
                return 0.0
            score += total_used * weight / size
        return score / total * self._scale

    @hookimpl(scope="row")
    def batch_node_order(self, task: Task, nodes: NodeView) -> np.ndarray | None:
        terms, total = self._terms_of(task)
        if not self._scale or not total:
            return None
        used, allocatable = nodes.used, nodes.allocatable
        score = np.zeros(len(nodes))
        overfull = np.zeros(len(nodes), bool)
        for dimension, amount, weight in terms:
            if not weight:
                continue
            size, total_used = allocatable[:, dimension], used[:, dimension] + amount
            has = size > 0
            overfull |= has & (total_used > size)
            score += np.divide(total_used * weight, size, out=np.zeros(len(nodes)), where=has)
        return np.where(overfull, 0.0, score / total * self._scale)

    # -- helpers

    def _terms_of(self, task: Task) -> tuple[list[tuple[int, int, int]], int]:
        """(dimension, request, weight) of what the task requests, and the sum of the weights."""
        key = task.vector.tobytes()
        terms = self._terms.get(key)
        if terms is None:
            requested = [
                (dimension, amount, self._weight_of[dimension])
                for dimension, amount in enumerate(task.vector.tolist())
                if amount > 0 and dimension in self._weight_of
            ]
            terms = self._terms[key] = (requested, sum(weight for _, _, weight in requested))
        return terms
