"""KAI's filters that do not change during a cycle: kinds of GPUs, health, labels and taints."""

from __future__ import annotations

from functools import partial

import numpy as np

from pumice import Code, NodeTable, SnapshotCache, Task
from pumice.gpu import gpu_memory
from pumice.kube import is_healthy
from pumice_builtin_plugins.gpu.nodes import (
    MIXED,
    SINGLE,
    is_legacy_mig,
    is_mig,
    mig_strategy,
    wants_gpus,
)
from pumice_builtin_plugins.kube.filter_statuses import STATUSES
from pumice_builtin_plugins.kube.static_filters import StaticFilters


def _status(text: str) -> int:
    return STATUSES.id(text, Code.UNRESOLVABLE, "kai_predicates")


LEGACY_POD = _status("pods that name MIG instances in annotations are no longer supported")
CLAIMS_ONLY = _status("node(s) provide GPUs through resource claims only")
NOT_MIG = _status("node(s) have no MIG instances")
LEGACY_NODE = _status("node(s) run pods that name MIG instances in annotations")
WHOLE_ONLY = _status("node(s) of MIG strategy single take whole GPUs only")
MIG_ONLY = _status("node(s) of MIG strategy mixed take MIG instances only")
UNKNOWN_MEMORY = _status("node(s) have no label with the memory of their GPUs")
UNHEALTHY = _status("node(s) are unschedulable, not ready or under pressure")
NOT_A_WORKER = _status("node(s) lack the worker label for this kind of pod")


class NodeKinds:
    """The first failing static filter of every node."""

    def __init__(
        self,
        table: NodeTable,
        cache: SnapshotCache,
        static: StaticFilters,
        workers: tuple[str, str] | None,
    ) -> None:
        self._table = table
        self._static = static
        self._workers = workers
        """Labels of nodes for pods with GPUs and for others; None: not restricted."""
        fact = partial(table.fact_column, lasting=True)
        self._mig = fact("kai.mig", is_mig)
        self._strategy = fact("kai.mig strategy", mig_strategy, np.int8)
        self._memory_known = fact("kai.gpu memory known", lambda node: gpu_memory(node)[1])
        self._healthy = fact("kai.healthy", is_healthy)
        self._legacy = cache.of_nodes(
            "kai.legacy mig",
            lambda row: any(is_legacy_mig(entry.task) for entry in table.held[row].values()),
            dtype=bool,
        )

    def statuses(self, task: Task) -> np.ndarray:
        """The status of every node."""
        count = len(self._table)
        if is_legacy_mig(task):
            return np.full(count, LEGACY_POD)
        needs_gpus = wants_gpus(task, self._table)
        result = self._by_gpus(task) if needs_gpus else np.zeros(count, np.int64)
        _reject(result, ~self._healthy, UNHEALTHY)
        result = np.where(result == 0, self._static.statuses(task.pod), result)
        if self._workers is not None:
            label = self._workers[0 if needs_gpus else 1]
            labelled = np.array([label in node.labels for node in self._table.facts], bool)
            _reject(result, ~labelled, NOT_A_WORKER)
        return result

    def _by_gpus(self, task: Task) -> np.ndarray:
        result, kind = np.zeros(len(self._table), np.int64), task.gpu.kind
        if kind != "none" or not task.gpu.claimed:
            _reject(result, self._table.claimable > 0, CLAIMS_ONLY)
        if kind == "mig":
            _reject(result, ~self._mig, NOT_MIG)
            _reject(result, self._mig & self._legacy, LEGACY_NODE)
        if kind not in ("none", "regular"):
            _reject(result, self._mig & (self._strategy == SINGLE), WHOLE_ONLY)
        if kind != "mig":
            _reject(result, self._mig & (self._strategy == MIXED), MIG_ONLY)
        if kind == "memory":
            _reject(result, ~self._memory_known, UNKNOWN_MEMORY)
        return result


def _reject(result: np.ndarray, where: np.ndarray, status: int) -> None:
    result[where & (result == 0)] = status
