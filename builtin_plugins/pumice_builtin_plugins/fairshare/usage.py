"""Recent usage of queues, from an external source or from a history of earlier cycles.

A source is any object with a method ``usage(now)`` that returns, per queue, the part of the
cluster's capacity that it used, by resource: ``{"team-a": {"nvidia.com/gpu": 0.25}}``. Set it as
``scheduler.memory["fairshare.usage"]``; a scenario has such a table (``Inventory.queue_usage``).
Without either, and with a window set, :class:`UsageHistory` is the source.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Literal, NamedTuple, Protocol

from pumice_builtin_plugins.fairshare.quantities import NAMES, Quantities
from pumice_builtin_plugins.fairshare.queues import FairQueue, Fractions, exact

SOURCE = "fairshare.usage"
"""The key of the source in the scheduler's memory."""
NO_USAGE: Fractions = (Fraction(0), Fraction(0), Fraction(0))

UsageTable = Mapping[str, Mapping[str, float]]
WindowType = Literal["sliding", "tumbling"]


class UsageSource(Protocol):
    """A source of usage."""

    def usage(self, now: float) -> UsageTable: ...


def parse_usage(table: UsageTable) -> dict[str, Fractions]:
    """A table of usage as exact numbers; missing resources are 0."""
    usage: dict[str, Fractions] = {}
    for queue, parts in table.items():
        cpu, memory, gpus = (_part(queue, name, parts) for name in NAMES)
        usage[queue] = (cpu, memory, gpus)
    return usage


def _part(queue: str, name: str, parts: Mapping[str, float]) -> Fraction:
    value = parts.get(name, 0)
    try:
        part = exact(value)
    except ValueError:
        part = Fraction(-1)
    if part < 0:
        raise ValueError(
            f"usage of queue {queue}: {name} is {value!r}; it must be a part of the cluster "
            "such as 0.25"
        )
    return part


class Window(NamedTuple):
    """The window of time that counts, and the decay within it."""

    size: float
    """Seconds."""
    kind: WindowType = "sliding"
    half_life: float = 0.0
    """Seconds after which usage counts half; 0: no decay."""
    start: float = 0.0
    """For tumbling windows: the start of one of them."""
    resolution: float = 60.0
    """Seconds between two samples."""

    def begins(self, now: float) -> float:
        if self.kind == "sliding":
            return now - self.size
        return now - (now - self.start) % self.size

    def weight(self, age: float) -> float:
        return 0.5 ** (age / self.half_life) if self.half_life > 0 else 1.0


class _Sample(NamedTuple):
    time: float
    capacity: Quantities
    allocated: dict[str, Quantities]


class UsageHistory:
    """A source of usage made of samples of what queues held in earlier cycles."""

    def __init__(self, window: Window) -> None:
        self.window = window
        self._samples: deque[_Sample] = deque()

    def record(self, now: float, capacity: Quantities, tree: Mapping[str, FairQueue]) -> None:
        """Take a sample, unless the last one is too recent."""
        samples = self._samples
        if samples and now - samples[-1].time < self.window.resolution:
            return
        allocated = {
            name: (queue.allocated[0], queue.allocated[1], queue.allocated[2])
            for name, queue in tree.items()
            if any(queue.allocated)
        }
        samples.append(_Sample(now, capacity, allocated))
        oldest = self.window.begins(now)
        while samples and samples[0].time < oldest:
            samples.popleft()

    def usage(self, now: float) -> UsageTable:
        begins = self.window.begins(now)
        capacity = [0.0, 0.0, 0.0]
        allocated: dict[str, list[float]] = {}
        for sample in self._samples:
            if sample.time < begins:
                continue
            weight = self.window.weight(now - sample.time)
            for i in (0, 1, 2):
                capacity[i] += weight * sample.capacity[i]
            for queue, quantities in sample.allocated.items():
                sums = allocated.setdefault(queue, [0.0, 0.0, 0.0])
                for i in (0, 1, 2):
                    sums[i] += weight * quantities[i]
        return {
            queue: {name: sums[i] / capacity[i] for i, name in enumerate(NAMES) if capacity[i]}
            for queue, sums in allocated.items()
        }


def read_usage(
    table: UsageTable | None,
    memory: Mapping[str, Any],
    history: UsageHistory | None,
    now: float,
) -> dict[str, Fractions]:
    """The usage by queue: of the cluster's own table, else of a source, else of the history."""
    if table is None:
        source: UsageSource | None = memory.get(SOURCE, history)
        table = {} if source is None else source.usage(now)
    return parse_usage(table)
