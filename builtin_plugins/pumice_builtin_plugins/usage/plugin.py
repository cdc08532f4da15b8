"""Avoid nodes with a high measured load."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from math import fsum
from typing import Any

import numpy as np
from loguru import logger
from pydantic import BaseModel, ConfigDict, Field, field_validator

from pumice import (
    Code,
    Duration,
    NodeHandle,
    NodeVerdicts,
    NodeView,
    Plugin,
    Task,
    TaskStatus,
    hookimpl,
)
from pumice_builtin_plugins.usage.estimate import Amounts, Estimator, estimate

_PERIOD = "10m"
_VALID_FOR = 300.0
_MAX_SCORE = 100
_NOTHING = Amounts(0.0, 0.0)
_NOT_RUNNING = frozenset({TaskStatus.ALLOCATED, TaskStatus.BINDING, TaskStatus.BOUND})


class Thresholds(BaseModel):
    """Percent of a node in use above which it is rejected."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    cpu: float = Field(80, ge=0, le=100)
    mem: float = Field(80, ge=0, le=100)


class Usage(Plugin):
    """Filter and score nodes by their measured load, not by requests.

    Tasks that no measurement shows yet are estimated. A node without a recent measurement is
    neither rejected nor preferred.
    """

    class Options(Plugin.Options):
        weight: int = Field(5, alias="usage.weight", description="Weight of the whole score.")
        cpu: int = Field(1, alias="cpu.weight", description="Weight of the load of the cpu.")
        memory: int = Field(1, alias="memory.weight", description="Weight of memory in use.")
        thresholds: Thresholds = Field(
            Thresholds(), description="Percent of cpu and mem above which a node is rejected."
        )
        estimator: Estimator = Field(
            Estimator(), description="How the use of pods that are not measured yet is estimated."
        )
        interval: Duration = Field(
            30.0,
            alias="metrics.interval",
            description="How long a pod runs before measurements show it.",
        )

        @field_validator("weight", "cpu", "memory")
        @classmethod
        def _default_for_negative(cls, value: int, info: Any) -> int:
            default: int = cls.model_fields[info.field_name].default
            return default if value < 0 else value

    @hookimpl
    def on_session_open(self) -> None:
        table = self.session.nodes
        usage = self.session.cluster.inventory.node_usage
        measured = [_read(name, usage.get(name), self.session.now) for name in table.names]
        self._known = np.array([load is not None for load in measured], bool)
        self._load = np.array([load or _NOTHING for load in measured]).reshape(len(table), 2)
        self._percent: list[list[float]] = self._load.tolist()
        capacity, allocatable = table.capacity[:, :2], table.allocatable[:, :2]
        self._sizes: list[list[int]] = np.where(capacity > 0, capacity, allocatable).tolist()
        self._weights = (self.options.cpu, self.options.memory)
        self._estimates: list[dict[str, Amounts]] = [{} for _ in table.names]
        """Per row: the expected use of tasks that no measurement shows yet, by uid."""
        self._initial_estimates: dict[tuple[str, str], Amounts] = {}
        """By task and node: the same for all tasks that had a node when the cycle began."""
        for row, held in enumerate(table.held):
            for task in sorted((entry.task for entry in held.values()), key=lambda t: t.key):
                expected = self._estimate(task, row) if self._is_unmeasured(task) else _NOTHING
                self._initial_estimates[task.uid, table.names[row]] = expected
                self._add_estimate(task, row, expected)
        self._scores = np.array([self._score(row) for row in range(len(table))], float)

    @hookimpl(scope="static")
    def predicate_nodes(self, task: Task, nodes: NodeView) -> NodeVerdicts:
        verdicts = NodeVerdicts.accept(len(nodes))
        known, load = nodes.take(self._known), nodes.take(self._load)
        limits = self.options.thresholds
        for column, limit, name in ((0, limits.cpu, "cpu"), (1, limits.mem, "memory")):
            busy = known & (load[:, column] > limit)
            reason = f"{name} usage is above {limit:g} percent"
            verdicts.reject(busy, reason, Code.UNRESOLVABLE, self.name)
        return verdicts

    @hookimpl(scope="row")
    def node_order(self, task: Task, node: NodeHandle) -> float:
        return float(self._scores[node.row])

    @hookimpl(scope="row")
    def batch_node_order(self, task: Task, nodes: NodeView) -> np.ndarray:
        return nodes.take(self._scores)

    @hookimpl
    def on_allocate(self, task: Task) -> None:
        row = self.session.nodes.row_of[task.node]
        # A task whose eviction is undone has the estimate it had.
        expected = self._initial_estimates.get((task.uid, task.node))
        self._add_estimate(task, row, self._estimate(task, row) if expected is None else expected)
        self._scores[row] = self._score(row)

    @hookimpl
    def on_deallocate(self, task: Task) -> None:
        row = self.session.nodes.row_of[task.node]
        self._estimates[row].pop(task.uid, None)
        self._scores[row] = self._score(row)

    # -- helpers

    def _is_unmeasured(self, task: Task) -> bool:
        if task.status in _NOT_RUNNING:
            return True
        start = task.pod.start_time
        ran = self.options.interval if start is None else self.session.now - start
        return task.status is TaskStatus.RUNNING and ran < self.options.interval

    def _loads(self, row: int) -> tuple[float, float]:
        """The fractions of cpu and memory in use, estimates included."""
        estimates = self._estimates[row].values()
        extra = (fsum(e.cpu for e in estimates), fsum(e.memory for e in estimates))
        cpu, memory = (
            min(max(percent / 100 + (more / size if size else 0.0), 0.0), 1.0)
            for percent, more, size in zip(self._percent[row], extra, self._sizes[row], strict=True)
        )
        return cpu, memory

    def _mean(self, cpu: float, memory: float) -> float:
        of_cpu, of_memory = self._weights
        total = of_cpu + of_memory
        return (cpu * of_cpu + memory * of_memory) / total if total else 0.0

    def _estimate(self, task: Task, row: int) -> Amounts:
        estimator = self.options.estimator
        at_risk = self._mean(*self._loads(row)) >= estimator.risk_threshold
        return estimate(task.pod, estimator, best_effort=task.best_effort, at_risk=at_risk)

    def _add_estimate(self, task: Task, row: int, expected: Amounts) -> None:
        if expected != _NOTHING:
            self._estimates[row][task.uid] = expected

    def _score(self, row: int) -> float:
        if not self._known[row]:
            return 0.0
        cpu, memory = self._loads(row)
        scale: int = _MAX_SCORE * self.options.weight
        return self._mean(1 - cpu, 1 - memory) * scale


def _read(node: str, reported: Any, now: float) -> tuple[float, float] | None:
    """Percent of cpu and memory in use; None without a recent and readable measurement."""
    if reported is None:
        return None
    try:
        if now - _time(reported.get("measured"), now) > _VALID_FOR:
            return None
        return _percent(reported.get("cpu")), _percent(reported.get("memory"))
    except (AttributeError, TypeError, ValueError) as error:
        logger.warning(
            "usage: the measurement of node {} is ignored: {}; it should be like "
            '{{"cpu": {{"10m": 35.5}}, "memory": {{"10m": 60}}}}',
            node,
            error,
        )
        return None


def _percent(averages: Mapping[str, Any] | None) -> float:
    return float((averages or {}).get(_PERIOD, 0.0))


def _time(measured: Any, now: float) -> float:
    if not isinstance(measured, str):
        return now if measured is None else float(measured)
    time = datetime.fromisoformat(measured)
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
