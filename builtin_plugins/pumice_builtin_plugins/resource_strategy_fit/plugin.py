"""Binpack some resources and spread others; keep scarce resources for tasks that need them."""

from __future__ import annotations

from typing import Any

import numpy as np
from loguru import logger
from pydantic import BaseModel, ConfigDict, Field, field_validator

from pumice import Code, NodeHandle, NodeVerdicts, NodeView, Plugin, Task, hookimpl
from pumice_builtin_plugins.resource_strategy_fit.strategies import (
    MOST,
    TYPE,
    WEIGHT,
    Override,
    Strategy,
    check_names,
    strategy_of,
)

_MAX_SCORE = 100
_DEFAULT_WEIGHT = 10
_PER_UNIT = 10**6
"""A rate in gigabytes for one device, times this, is in bytes for a milli-device."""
ResourceTerm = tuple[int, int, int, bool]
"""Dimension, request, weight, and whether fuller is better (MostAllocated)."""


class _ScarceResources(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    enable: bool = False
    resources: str = ""
    """Names of scarce resources, comma separated."""

    @property
    def names(self) -> list[str]:
        return [name for part in self.resources.split(",") if (name := part.strip())]


class AvoidanceOptions(_ScarceResources):
    """Scarce resource avoidance: prefer nodes without scarce resources."""

    weight: int = _DEFAULT_WEIGHT
    resourceWeight: dict[str, int] = Field(default_factory=dict)  # noqa: N815


class ProportionalOptions(_ScarceResources):
    """Reserve cpu and memory for idle scarce resources."""

    resourceProportion: dict[str, float] = Field(default_factory=dict)  # noqa: N815


class ResourceStrategyFit(Plugin):
    """Score nodes by how full or how empty they would be, each resource in its own direction.

    As in Volcano only used resources count, not pipelined ones. A node where the task does not fit
    scores 0.
    """

    class Options(Plugin.Options):
        weight: int = Field(
            _DEFAULT_WEIGHT,
            alias="resourceStrategyFitWeight",
            description="Weight of the whole score.",
        )
        resources: dict[str, Strategy] = Field(
            default_factory=dict,
            validate_default=True,
            description="By resource: type (LeastAllocated or MostAllocated) and weight. A name "
            "may end in *. Without any, cpu and memory count as LeastAllocated.",
        )
        sra: AvoidanceOptions = Field(
            AvoidanceOptions(),
            description="Avoid nodes with scarce resources: enable, resources, weight, "
            "resourceWeight.",
        )
        proportional: ProportionalOptions = Field(
            ProportionalOptions(),
            description="Reject nodes left with too little for idle scarce resources: enable, "
            "resources, resourceProportion (NAME.cpu in cores, NAME.memory in GB, for each).",
        )

        @field_validator("weight")
        @classmethod
        def _not_negative(cls, value: int) -> int:
            return _DEFAULT_WEIGHT if value < 0 else value

        @field_validator("resources")
        @classmethod
        def _named(cls, value: dict[str, Strategy]) -> dict[str, Strategy]:
            check_names(value)
            return value or {"cpu": Strategy(), "memory": Strategy()}

    @hookimpl
    def on_session_open(self) -> None:
        self._position = self.session.nodes.dimensions.position
        self._names = self.session.nodes.dimensions.names
        self._terms: dict[tuple[bytes, Any], list[ResourceTerm]] = {}
        self._overrides: dict[tuple[str, str], Override] = {}
        self._has = self.session.nodes.allocatable > 0
        self._scarcity = self._scarcity_column()
        self._reserved = self._reserved_rates()

    def class_key(self, task: Task) -> tuple[str, str]:
        return task.annotations.get(TYPE, ""), task.annotations.get(WEIGHT, "")

    @hookimpl(scope="row")
    def predicate_nodes(self, task: Task, nodes: NodeView) -> NodeVerdicts | None:
        if not self._reserved or any(task.vector[position] > 0 for position, *_ in self._reserved):
            return None
        verdicts = NodeVerdicts.accept(len(nodes))
        left = nodes.idle[:, :2] - task.vector[:2]
        for dimension, name, cpu, memory in self._reserved:
            scarce = nodes.idle[:, dimension]
            short = (left[:, 0] < scarce * cpu) | (left[:, 1] < scarce * memory)
            short &= nodes.take(self._has)[:, dimension]
            reason = f"would leave too little cpu or memory for idle {name}"
            verdicts.reject(short, reason, Code.UNRESOLVABLE, self.name)
        return verdicts

    @hookimpl(scope="row")
    def node_order(self, task: Task, node: NodeHandle) -> float:
        scarcity = 0.0
        if self._scarcity is not None and self._has[node.row][task.vector > 0].all():
            scarcity = float(self._scarcity[node.row])
        terms = self._terms_of(task)
        used, allocatable = node.table.used[node.row], node.table.allocatable[node.row]
        score, total = 0.0, 0
        for dimension, amount, weight, fuller in terms:
            total += weight
            size, total_used = allocatable.item(dimension), used.item(dimension) + amount
            if total_used > size:
                return scarcity
            score += (total_used if fuller else size - total_used) * weight / size
        return scarcity + score / total * (_MAX_SCORE * self.options.weight) if total else scarcity

    @hookimpl(scope="row")
    def batch_node_order(self, task: Task, nodes: NodeView) -> np.ndarray | None:
        scarcity = np.zeros(len(nodes))
        if self._scarcity is not None:
            able = nodes.take(self._has)[:, task.vector > 0].all(axis=1)
            scarcity = np.where(able, nodes.take(self._scarcity), 0.0)
        terms = self._terms_of(task)
        total = sum(weight for _, _, weight, _ in terms)
        if not total:
            return scarcity
        used, allocatable = nodes.used, nodes.allocatable
        score, overfull = np.zeros(len(nodes)), np.zeros(len(nodes), bool)
        for dimension, amount, weight, fuller in terms:
            size, total_used = allocatable[:, dimension], used[:, dimension] + amount
            overfull |= total_used > size
            part = (total_used if fuller else size - total_used) * weight
            score += np.divide(part, size, out=np.zeros(len(nodes)), where=size > 0)
        scaled = score / total * (_MAX_SCORE * self.options.weight)
        return scarcity + np.where(overfull, 0.0, scaled)

    # -- helpers

    def _scarcity_column(self) -> np.ndarray | None:
        """By row: the score for having few scarce resources; None: the option is off."""
        sra = self.options.sra
        weights = {name: sra.resourceWeight.get(name, 1) for name in sra.names}
        total = sum(weights.values())
        if not sra.enable or not total:
            return None
        owned = np.zeros(len(self._has))
        for name, weight in weights.items():
            if name in self._position:
                owned += weight * self._has[:, self._position[name]]
        column: np.ndarray = (1 - owned / total) * _MAX_SCORE * sra.weight
        return column

    def _reserved_rates(self) -> list[tuple[int, str, float, float]]:
        """Dimension, name, milli-cores and bytes to reserve for each idle milli-unit of it."""
        proportional = self.options.proportional
        if not proportional.enable:
            return []
        rates = proportional.resourceProportion
        return [
            (
                self._position[name],
                name,
                rates.get(f"{name}.cpu", 1.0),
                rates.get(f"{name}.memory", 1.0) * _PER_UNIT,
            )
            for name in proportional.names
            if name in self._position
        ]

    def _override(self, task: Task) -> Override:
        key = self.class_key(task)
        override = self._overrides.get(key)
        if override is None:
            try:
                override = Override.read(task.annotations)
            except ValueError as error:
                logger.warning("task {}: {}; the policy's strategy applies", task.key, error)
                override = Override()
            self._overrides[key] = override
        return override

    def _terms_of(self, task: Task) -> list[ResourceTerm]:
        key = (task.vector.tobytes(), self.class_key(task))
        terms = self._terms.get(key)
        if terms is None:
            terms = self._terms[key] = []
            override = self._override(task)
            for dimension, amount in enumerate(task.vector.tolist()):
                name = self._names[dimension]
                strategy = override.applied(name, strategy_of(name, self.options.resources))
                if amount > 0 and strategy is not None:
                    terms.append((dimension, amount, strategy.weight, strategy.type == MOST))
        return terms
