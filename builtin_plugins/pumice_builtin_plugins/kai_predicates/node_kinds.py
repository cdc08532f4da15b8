"""Which kinds of nodes take a task, for reasons that do not change during a cycle."""

from __future__ import annotations

from functools import partial

import numpy as np

from pumice import Code, NodeTable, SnapshotCache, Task
from pumice.gpu import gpu_memory
from pumice_builtin_plugins.gpu.nodes import (
    MIXED,
    SINGLE,
    is_healthy,
    is_legacy_mig,
    is_mig,
    mig_strategy,
    wants_gpus,
)
from pumice_builtin_plugins.kube.filter_reasons import STATUSES
from pumice_builtin_plugins.kube.static_filters import StaticFilters


def _reason(text: str) -> int:
    return STATUSES.id(text, Code.UNRESOLVABLE, "kai_predicates")


LEGACY_POD = _reason("pods that name MIG instances in annotations are not placed any more")
CLAIMS_ONLY = _reason("node(s) give GPUs to resource claims only")
NOT_MIG = _reason("node(s) have no MIG instances")
LEGACY_NODE = _reason("node(s) run pods that name MIG instances in annotations")
WHOLE_ONLY = _reason("node(s) of MIG strategy single take whole GPUs only")
MIG_ONLY = _reason("node(s) of MIG strategy mixed take MIG instances only")
UNTOLD = _reason("node(s) do not tell the memory of their GPUs")
UNHEALTHY = _reason("node(s) are closed, not ready or under pressure")
OTHER_WORK = _reason("node(s) have no label of a worker for this kind of pod")


class NodeKinds:
    """The first objection of every node to a task."""

    def __init__(
        self,
        table: NodeTable,
        found: SnapshotCache,
        fixed: StaticFilters,
        workers: tuple[str, str] | None,
    ) -> None:
        self._table = table
        self._fixed = fixed
        self._workers = workers
        """Labels of nodes for pods with GPUs and for others; None: any node is for any pod."""
        fact = partial(table.fact_column, lasting=True)
        self._mig = fact("kai.mig", is_mig)
        self._strategy = fact("kai.mig strategy", mig_strategy, np.int8)
        self._told = fact("kai.gpu memory told", lambda node: gpu_memory(node)[1])
        self._healthy = fact("kai.healthy", is_healthy)
        self._legacy = found.of_nodes(
            "kai.legacy mig",
            lambda row: any(is_legacy_mig(entry.task) for entry in table.held[row].values()),
            dtype=bool,
        )

    def objections(self, task: Task) -> np.ndarray:
        """By row: the reason, 0 for none."""
        count = len(self._table)
        if is_legacy_mig(task):
            return np.full(count, LEGACY_POD)
        wants = wants_gpus(task, self._table)
        result = self._by_gpus(task) if wants else np.zeros(count, np.int64)
        _object(result, ~self._healthy, UNHEALTHY)
        fixed = self._fixed.statuses(task.pod)
        result = np.where(result == 0, fixed, result)
        if self._workers is not None:
            label = self._workers[0 if wants else 1]
            labelled = np.array([label in node.labels for node in self._table.facts], bool)
            _object(result, ~labelled, OTHER_WORK)
        return result

    def _by_gpus(self, task: Task) -> np.ndarray:
        result, kind = np.zeros(len(self._table), np.int64), task.gpu.kind
        if kind != "none" or not task.gpu.claimed:
            _object(result, self._table.claimable > 0, CLAIMS_ONLY)
        if kind == "mig":
            _object(result, ~self._mig, NOT_MIG)
            _object(result, self._mig & self._legacy, LEGACY_NODE)
        if kind not in ("none", "regular"):
            _object(result, self._mig & (self._strategy == SINGLE), WHOLE_ONLY)
        if kind != "mig":
            _object(result, self._mig & (self._strategy == MIXED), MIG_ONLY)
        if kind == "memory":
            _object(result, ~self._told, UNTOLD)
        return result


def _object(result: np.ndarray, where: np.ndarray, reason: int) -> None:
    result[where & (result == 0)] = reason
