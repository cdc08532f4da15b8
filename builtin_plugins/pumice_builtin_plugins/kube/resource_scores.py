"""Scores by how full a node would be with the task: least, most and balanced allocation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import sqrt
from typing import NamedTuple

import numpy as np

from pumice import NodeTable, NodeTask, SnapshotCache, Task
from pumice_builtin_plugins.kube.assumed_request import assumed_request

_GPU = "nvidia.com/gpu"


class ScoredRequest(NamedTuple):
    """What a task adds to a node, as these scores count it."""

    assumed_cpu: int
    assumed_memory: int
    """With defaults for containers without a request."""
    cpu: int
    memory: int
    gpu: int

    @property
    def any(self) -> bool:
        return bool(self.cpu or self.memory or self.gpu)


_NO_REQUEST = [0] * len(ScoredRequest._fields)


class ResourceScores:
    """The requests on each node, updated as tasks come and go, and the scores made of them.

    Each score has a form for one node and one for columns, which agree to the last bit.
    """

    def __init__(
        self, table: NodeTable, cache: SnapshotCache, *, least: int, most: int, balanced: int
    ) -> None:
        """``least``, ``most``, ``balanced``: the weights of the scores."""
        self._least, self._most, self._balanced = least, most, balanced
        self._gpu = table.dimensions.position.get(_GPU, -1)
        none = np.zeros(len(table), np.int64)
        self._sizes = (
            table.allocatable[:, 0].copy(),
            table.allocatable[:, 1].copy(),
            table.allocatable[:, self._gpu].copy() if self._gpu >= 0 else none,
        )
        self._requests: dict[tuple[int, ...], ScoredRequest] = {}
        sums = cache.of_nodes("nodeorder", lambda row: self._sum_of(table.held[row]), width=5)
        self._assumed = tuple(sums[:, i].copy() for i in (0, 1))
        self._used = tuple(sums[:, i].copy() for i in (2, 3, 4))
        self.score = self._make_score()
        # Reading a number through a memoryview takes a third of the time of the array.
        self._views = [column.data for column in (*self._assumed, *self._used)]

    def _sum_of(self, held: Mapping[str, NodeTask]) -> list[int]:
        """The requests of all tasks on a node."""
        if not held:
            return _NO_REQUEST
        request = self.request
        return list(map(sum, zip(*[request(entry.task) for entry in held.values()], strict=True)))

    def request(self, task: Task) -> ScoredRequest:
        pod = task.pod
        # Equal pods share their containers, request and vector, so identity is enough of a key.
        key = (id(pod.containers), id(pod.init_containers), id(pod.request), id(task.vector))
        request = self._requests.get(key)
        if request is None:
            amounts = task.vector.tolist()
            gpu = amounts[self._gpu] if self._gpu >= 0 else 0
            request = ScoredRequest(*assumed_request(pod), amounts[0], amounts[1], gpu)
            self._requests[key] = request
        return request

    def add(self, request: ScoredRequest, row: int, sign: int) -> None:
        """Add a task's request to a node (1), or subtract it (-1)."""
        for column, amount in zip(self._views, request, strict=True):
            if amount:
                column[row] += sign * amount

    # -- one node

    def _make_score(self) -> Callable[[ScoredRequest, int], int]:
        """The weighted sum of the three scores for one node.

        A closure over local names: it is called at least once for every placed task.
        """
        least, most, balanced = self._least, self._most, self._balanced
        size_cpus, size_memories, size_gpus = (column.data for column in self._sizes)
        used_cpus, used_memories, used_gpus = (column.data for column in self._used)
        assumed_cpus, assumed_memories = (column.data for column in self._assumed)

        def score(request: ScoredRequest, row: int) -> int:
            assumed_cpu, assumed_memory, cpu, memory, gpu = request
            size_cpu, size_memory = size_cpus[row], size_memories[row]
            total = 0
            if least or most:
                resources = 2 if size_cpu and size_memory else 1
                assumed_cpu += assumed_cpus[row]
                assumed_memory += assumed_memories[row]
                if least:
                    free = 0
                    if assumed_cpu < size_cpu:
                        free = (size_cpu - assumed_cpu) * 100 // size_cpu
                    if assumed_memory < size_memory:
                        free += (size_memory - assumed_memory) * 100 // size_memory
                    total = least * (free // resources)
                if most:
                    taken = 0
                    if size_cpu:
                        taken = 100 if assumed_cpu > size_cpu else assumed_cpu * 100 // size_cpu
                    if size_memory:
                        part = assumed_memory * 100 // size_memory
                        taken += 100 if assumed_memory > size_memory else part
                    total += most * (taken // resources)
            if balanced and (cpu or memory or gpu):
                used_cpu, used_memory = used_cpus[row], used_memories[row]
                size_gpu = size_gpus[row] if gpu else 0
                if not size_cpu or not size_memory:
                    sizes = (size_cpu, size_memory, size_gpu)
                    used_gpu = used_gpus[row]
                    before = deviation((used_cpu, used_memory, used_gpu), sizes)
                    after = deviation((used_cpu + cpu, used_memory + memory, used_gpu + gpu), sizes)
                elif size_gpu:
                    used_gpu = used_gpus[row]
                    before = _of_three(
                        used_cpu / size_cpu, used_memory / size_memory, used_gpu / size_gpu
                    )
                    after = _of_three(
                        (used_cpu + cpu) / size_cpu,
                        (used_memory + memory) / size_memory,
                        (used_gpu + gpu) / size_gpu,
                    )
                else:
                    before = _of_two(used_cpu / size_cpu, used_memory / size_memory)
                    with_cpu, with_memory = used_cpu + cpu, used_memory + memory
                    after = _of_two(with_cpu / size_cpu, with_memory / size_memory)
                gain = int((1 - after) * 100) - int((1 - before) * 100)
                total += balanced * (50 + (50 + gain) // 2)
            return total

        return score

    # -- many nodes

    def scores(self, request: ScoredRequest, rows: np.ndarray | slice) -> np.ndarray:
        """The weighted sum of the three scores for each of the rows."""
        size_cpu, size_memory = self._sizes[0][rows], self._sizes[1][rows]
        total = np.zeros(len(size_cpu), np.int64)
        if self._least or self._most:
            resources = np.maximum((size_cpu > 0).astype(np.int64) + (size_memory > 0), 1)
            pairs = (
                (self._assumed[0][rows] + request.assumed_cpu, size_cpu),
                (self._assumed[1][rows] + request.assumed_memory, size_memory),
            )
            if self._least:
                free = sum(_free(used, size) for used, size in pairs)
                total += self._least * (free // resources)
            if self._most:
                taken = sum(_taken(used, size) for used, size in pairs)
                total += self._most * (taken // resources)
        if self._balanced and request.any:
            added = (request.cpu, request.memory, request.gpu)[: 3 if request.gpu else 2]
            used = [column[rows] for column in self._used]
            sizes = [size_cpu, size_memory, self._sizes[2][rows]]
            before = deviations(used[: len(added)], sizes)
            after = deviations([u + a for u, a in zip(used, added, strict=False)], sizes)
            gain = _percent(1 - after) - _percent(1 - before)
            total += self._balanced * (50 + (50 + gain) // 2)
        return total


def _free(used: np.ndarray, size: np.ndarray) -> np.ndarray:
    return np.where(used < size, (size - used) * 100 // np.maximum(size, 1), 0)


def _taken(used: np.ndarray, size: np.ndarray) -> np.ndarray:
    taken: np.ndarray = np.minimum(used, size) * 100 // np.maximum(size, 1)
    return taken


def _percent(fraction: np.ndarray) -> np.ndarray:
    return (fraction * 100).astype(np.int64)


def deviation(used: tuple[int, ...], sizes: tuple[int, ...]) -> float:
    """Standard deviation of the used fractions of the resources that the node has."""
    fractions = [u / size for u, size in zip(used, sizes, strict=True) if size]
    if len(fractions) < 2:
        return 0.0
    return _of_two(*fractions) if len(fractions) == 2 else _of_three(*fractions)


def _of_two(first: float, second: float) -> float:
    """Standard deviation; an overcommitted resource counts as full."""
    if first > 1.0:
        first = 1.0
    if second > 1.0:
        second = 1.0
    return (first - second) / 2 if first > second else (second - first) / 2


def _of_three(first: float, second: float, third: float) -> float:
    if first > 1.0:
        first = 1.0
    if second > 1.0:
        second = 1.0
    if third > 1.0:
        third = 1.0
    mean = (first + second + third) / 3
    first, second, third = first - mean, second - mean, third - mean
    return sqrt((first * first + second * second + third * third) / 3)


def deviations(used: list[np.ndarray], sizes: list[np.ndarray]) -> np.ndarray:
    """The same as :func:`deviation` for columns of two or three resources."""
    has = [size > 0 for _, size in zip(used, sizes, strict=False)]
    parts = [np.minimum(u / np.maximum(size, 1), 1.0) for u, size in zip(used, sizes, strict=False)]
    result: np.ndarray = np.where(has[0] & has[1], np.abs(parts[0] - parts[1]) / 2, 0.0)
    if len(used) > 2:
        for one in (0, 1):
            only_two = has[2] & has[one] & ~has[1 - one]
            result[only_two] = (np.abs(parts[one] - parts[2]) / 2)[only_two]
        three = has[0] & has[1] & has[2]
        mean = (parts[0] + parts[1] + parts[2]) / 3
        first, second, third = ((part - mean) * (part - mean) for part in parts)
        result[three] = np.sqrt((first + second + third) / 3)[three]
    return result
