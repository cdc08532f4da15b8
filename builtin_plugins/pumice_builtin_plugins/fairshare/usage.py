"""What queues have used lately: told by a source outside, or by a history that is kept here.

A source is anything with a method ``usage(now)`` that gives, for each queue, the part of the
cluster's capacity that it used, by resource: ``{"team-a": {"nvidia.com/gpu": 0.25}}``. Whoever
runs the scheduler puts it into ``scheduler.memory["fairshare.usage"]``; a scenario writes such
a table under ``extra.queue_usage`` (``Inventory.queue_usage``). Where there is neither and a window
is set, :class:`UsageHistory` is the source.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Literal, NamedTuple, Protocol

from pumice_builtin_plugins.fairshare.amounts import NAMES, Amount
from pumice_builtin_plugins.fairshare.queues import FairQueue, Shares, exact

SOURCE = "fairshare.usage"
"""Where the scheduler's memory has the source."""
NONE: Shares = (Fraction(0), Fraction(0), Fraction(0))

UsageTable = Mapping[str, Mapping[str, float]]
WindowType = Literal["sliding", "tumbling"]


class UsageSource(Protocol):
    """Tells what queues have used."""

    def usage(self, now: float) -> UsageTable: ...


def read_usage(table: UsageTable) -> dict[str, Shares]:
    """A table of usage as exact numbers; what it leaves out is 0."""
    usage: dict[str, Shares] = {}
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
    """Which time counts, and how much."""

    size: float
    """Seconds."""
    kind: WindowType = "sliding"
    half_life: float = 0.0
    """Seconds after which usage counts half; 0: it counts fully as long as it is in the window."""
    start: float = 0.0
    """For tumbling windows: a time at which one began."""
    resolution: float = 60.0
    """Seconds from one sample to the next."""

    def begins(self, now: float) -> float:
        if self.kind == "sliding":
            return now - self.size
        return now - (now - self.start) % self.size

    def weight(self, age: float) -> float:
        return 0.5 ** (age / self.half_life) if self.half_life > 0 else 1.0


class _Sample(NamedTuple):
    time: float
    capacity: Amount
    held: dict[str, Amount]


class UsageHistory:
    """Samples of what queues held, kept from cycle to cycle: a source of its own."""

    def __init__(self, window: Window) -> None:
        self.window = window
        self._samples: deque[_Sample] = deque()

    def record(self, now: float, capacity: Amount, tree: Mapping[str, FairQueue]) -> None:
        """Take a sample, unless the last one is too young."""
        samples = self._samples
        if samples and now - samples[-1].time < self.window.resolution:
            return
        held = {
            name: (queue.allocated[0], queue.allocated[1], queue.allocated[2])
            for name, queue in tree.items()
            if any(queue.allocated)
        }
        samples.append(_Sample(now, capacity, held))
        oldest = self.window.begins(now)
        while samples and samples[0].time < oldest:
            samples.popleft()

    def usage(self, now: float) -> UsageTable:
        begins = self.window.begins(now)
        capacity = [0.0, 0.0, 0.0]
        held: dict[str, list[float]] = {}
        for sample in self._samples:
            if sample.time < begins:
                continue
            weight = self.window.weight(now - sample.time)
            for i in (0, 1, 2):
                capacity[i] += weight * sample.capacity[i]
            for queue, amount in sample.held.items():
                sums = held.setdefault(queue, [0.0, 0.0, 0.0])
                for i in (0, 1, 2):
                    sums[i] += weight * amount[i]
        return {
            queue: {name: sums[i] / capacity[i] for i, name in enumerate(NAMES) if capacity[i]}
            for queue, sums in held.items()
        }


def find_usage(
    table: UsageTable | None,
    memory: Mapping[str, Any],
    history: UsageHistory | None,
    now: float,
) -> dict[str, Shares]:
    """What is known of usage: the table of the cluster, a source, or the own history."""
    if table is None:
        source: UsageSource | None = memory.get(SOURCE, history)
        table = {} if source is None else source.usage(now)
    return read_usage(table)
