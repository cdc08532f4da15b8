"""Fill nodes up with some resources and spread others; keep scarce resources for who needs them."""

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
"""Thousandths of a device times this are bytes, when the rate is in gigabytes for one device."""
Term = tuple[int, int, int, bool]
"""Dimension, request, weight, and whether fuller is better."""


class _Scarce(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    enable: bool = False
    resources: str = ""
    """Names of scarce resources, comma separated."""

    @property
    def names(self) -> list[str]:
        return [name for part in self.resources.split(",") if (name := part.strip())]


class Avoidance(_Scarce):
    """Keep tasks off nodes that have scarce resources."""

    weight: int = _DEFAULT_WEIGHT
    resourceWeight: dict[str, int] = Field(default_factory=dict)  # noqa: N815


class Companions(_Scarce):
    """Leave enough cpu and memory beside idle scarce resources."""

    resourceProportion: dict[str, float] = Field(default_factory=dict)  # noqa: N815


class ResourceStrategyFit(Plugin):
    """Score nodes by how full or how empty they would be, each resource in its own direction.

    Only what is used counts, not what is promised. A node that would be overfull scores 0.
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
        sra: Avoidance = Field(
            Avoidance(),
            description="Avoid nodes with scarce resources: enable, resources, weight, "
            "resourceWeight.",
        )
        proportional: Companions = Field(
            Companions(),
            description="Refuse tasks that leave too little beside idle scarce resources: enable, "
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
        self._terms: dict[tuple[bytes, Any], list[Term]] = {}
        self._overrides: dict[tuple[str, str], Override] = {}
        allocatable = self.session.nodes.allocatable
        self._has = allocatable > 0
        self._scarcity = self._scarcity_column()
        self._kept = self._kept_rates()

    def _scarcity_column(self) -> np.ndarray | None:
        """For each node what it scores for having little that is scarce; None: not asked for."""
        sra = self.options.sra
        weights = {name: sra.resourceWeight.get(name, 1) for name in sra.names}
        total = sum(weights.values())
        if not sra.enable or not total:
            return None
        held = np.zeros(len(self._has))
        for name, weight in weights.items():
            if name in self._position:
                held += weight * self._has[:, self._position[name]]
        column: np.ndarray = (1 - held / total) * _MAX_SCORE * sra.weight
        return column

    def _kept_rates(self) -> list[tuple[int, str, float, float]]:
        """Dimension, name, thousandths of a core and bytes to keep for each idle thousandth."""
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

    # -- the task

    def class_key(self, task: Task) -> tuple[str, str]:
        return task.annotations.get(TYPE, ""), task.annotations.get(WEIGHT, "")

    def _override(self, task: Task) -> Override:
        key = self.class_key(task)
        override = self._overrides.get(key)
        if override is None:
            try:
                override = Override.read(task.annotations)
            except ValueError as error:
                logger.warning("task {}: {}; the policy's strategy counts", task.key, error)
                override = Override()
            self._overrides[key] = override
        return override

    def _terms_of(self, task: Task) -> list[Term]:
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

    # -- filter

    @hookimpl(scope="row")
    def predicate_nodes(self, task: Task, nodes: NodeView) -> NodeVerdicts | None:
        if not self._kept or any(task.vector[kept[0]] > 0 for kept in self._kept):
            return None
        verdicts = NodeVerdicts.accept(len(nodes))
        left = nodes.idle[:, :2] - task.vector[:2]
        for dimension, name, cpu, memory in self._kept:
            scarce = nodes.idle[:, dimension]
            short = (left[:, 0] < scarce * cpu) | (left[:, 1] < scarce * memory)
            short &= nodes.take(self._has)[:, dimension]
            reason = f"would leave too little cpu or memory beside idle {name}"
            verdicts.reject(short, reason, Code.UNRESOLVABLE, self.name)
        return verdicts

    # -- score

    @hookimpl(scope="row")
    def node_order(self, task: Task, node: NodeHandle) -> float:
        scarcity = 0.0
        if self._scarcity is not None and self._has[node.row][task.vector > 0].all():
            scarcity = float(self._scarcity[node.row])
        terms = self._terms_of(task)
        used, capacity = node.table.used[node.row], node.table.allocatable[node.row]
        score, total = 0.0, 0
        for dimension, amount, weight, fuller in terms:
            total += weight
            room, held = capacity.item(dimension), used.item(dimension) + amount
            if held > room:
                return scarcity
            score += (held if fuller else room - held) * weight / room
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
        used, capacity = nodes.used, nodes.allocatable
        score, overfull = np.zeros(len(nodes)), np.zeros(len(nodes), bool)
        for dimension, amount, weight, fuller in terms:
            room, held = capacity[:, dimension], used[:, dimension] + amount
            overfull |= held > room
            part = (held if fuller else room - held) * weight
            score += np.divide(part, room, out=np.zeros(len(nodes)), where=room > 0)
        scaled = score / total * (_MAX_SCORE * self.options.weight)
        return scarcity + np.where(overfull, 0.0, scaled)
