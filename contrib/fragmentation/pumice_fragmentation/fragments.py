"""The fragmentation measure: how much of a node's free GPUs the usual pods cannot use."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

_COVERED = 0.95
"""The part of the pods that the typical ones make up."""


class PodShape(NamedTuple):
    """What counts of a pod; pods of the same shape are alike."""

    cpu: int
    """Milli-CPUs."""
    milli: int
    """Thousandths of each of its GPUs."""
    devices: int
    """How many GPUs."""
    models: str
    """The GPU models that it accepts, separated by ``|``; empty: any."""


class TypicalPod(NamedTuple):
    """A usual shape of pods."""

    shape: PodShape
    """What it requests."""
    part: float
    """How often it occurs, as a part of all typical pods."""


def typical_pods(shapes: Iterable[PodShape]) -> tuple[TypicalPod, ...]:
    """The most frequent shapes, until they make up 95 % of the pods."""
    counts = Counter(shapes)
    wanted = _COVERED * counts.total()
    taken: list[tuple[PodShape, int]] = []
    covered = 0
    for shape, count in sorted(counts.items(), key=lambda item: (item[1], item[0]), reverse=True):
        if covered >= wanted:
            break
        taken.append((shape, count))
        covered += count
    return tuple(TypicalPod(shape, count / covered) for shape, count in taken)


class Fragmentation:
    """Fragments of a node, by what is free on it.

    Of a node's CPU only counts which typical pods it suffices for, so few states differ, and each
    is computed once.
    """

    def __init__(self, typical: Sequence[TypicalPod]) -> None:
        self._typical = typical
        self._cpus = sorted({pod.shape.cpu for pod in typical})
        self._allowed: dict[str, list[bool]] = {}
        self._known: dict[tuple[str, int, tuple[int, ...]], float] = {}

    def cpu_level(self, cpu: int) -> int:
        """How many of the typical amounts of CPU fit into so many milli-CPUs."""
        return bisect_right(self._cpus, cpu)

    def of(self, model: str, cpu_level: int, free: tuple[int, ...]) -> float:
        """Thousandths of GPUs that a typical pod, drawn by chance, could not use on a node.

        ``free`` has the free thousandths of its devices in ascending order.
        """
        key = (model, cpu_level, free)
        value = self._known.get(key)
        if value is None:
            value = self._known[key] = self._compute(model, cpu_level, free)
        return value

    def _compute(self, model: str, cpu_level: int, free: tuple[int, ...]) -> float:
        total = sum(free)
        if not total:
            return 0.0
        allowed = self._allowed.get(model)
        if allowed is None:
            allowed = [
                not pod.shape.models or model in pod.shape.models.split("|")
                for pod in self._typical
            ]
            self._allowed[model] = allowed
        enough_cpu = self._cpus[cpu_level - 1] if cpu_level else -1
        # One sum for each reason, as the authors add them: whether two nodes tie depends on it.
        neither = no_device = no_cpu = without_gpu = without_gpu_or_cpu = no_access = 0.0
        for (shape, part), may in zip(self._typical, allowed, strict=True):
            cpu_fits = shape.cpu <= enough_cpu
            if not shape.devices:
                if cpu_fits:
                    without_gpu += part * total
                else:
                    without_gpu_or_cpu += part * total
            elif not may:
                no_access += part * total
            else:
                small = bisect_right(free, shape.milli - 1)
                devices_fit = len(free) - small >= shape.devices
                if devices_fit and cpu_fits:
                    no_device += part * sum(free[:small])
                elif devices_fit:
                    no_cpu += part * total
                elif cpu_fits:
                    no_device += part * total
                else:
                    neither += part * total
        return neither + no_device + no_cpu + without_gpu + without_gpu_or_cpu + no_access
