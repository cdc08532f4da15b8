"""What the engine is meant to reach, row by row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tests.bench._case import Size
from tests.bench._peers import UNIT as PEER_UNIT


@dataclass(frozen=True)
class Target:
    """Bounds of a row; those that are None are not asked for."""

    ratio: float | None = None
    """At least so many times less CPU than the peer."""
    seconds: float | None = None
    """At most so many CPU seconds, where the unit is that of the peers' machine."""
    times: float | None = None
    """At most so many times what the row is compared with."""
    mib: float | None = None
    """At most so much memory."""

    def met(self, row: Mapping[str, Any]) -> bool:
        return (
            (self.ratio is None or (row["ratio"] or 0.0) >= self.ratio)
            and (self.seconds is None or row["cpu"] <= self.seconds * row["unit"] / PEER_UNIT)
            and (self.times is None or row["times"] <= self.times)
            and (self.mib is None or row["mib"] <= self.mib)
        )

    def __str__(self) -> str:
        texts = [
            ("{:g} x less", self.ratio),
            ("{:g} s", self.seconds),
            ("{:g} x", self.times),
            ("{:g} MiB", self.mib),
        ]
        return ", ".join(text.format(bound) for text, bound in texts if bound is not None)


_VOLCANO = "volcano"
_KAI = "kai"
_NODES_CHANGED = "second cycle with nodes changed"

TARGETS: dict[Size, Target] = {
    (_VOLCANO, "allocate", 1000, 1000, 10, 0): Target(ratio=50),
    (_VOLCANO, "allocate", 1000, 10_000, 1, 0): Target(ratio=50),
    (_VOLCANO, "allocate", 5000, 1000, 10, 0): Target(ratio=50),
    (_VOLCANO, "allocate", 10_000, 1000, 10, 0): Target(ratio=50),
    (_VOLCANO, "reclaim", 1000, 500, 1, 0): Target(ratio=2),
    (_VOLCANO, "preempt", 1000, 500, 1, 0): Target(ratio=2),
    (_KAI, "allocate", 1000, 1000, 8, 0): Target(ratio=30),
    (_KAI, "allocate", 1000, 8000, 1, 0): Target(ratio=30),
    (_KAI, "allocate", 1000, 1000, 8, 1): Target(ratio=30),
    (_KAI, "allocate", 1000, 8000, 1, 1): Target(ratio=30),
    (_KAI, "allocate", 5000, 1000, 8, 0): Target(ratio=150),
    (_KAI, "reclaim", 1000, 500, 1, 1): Target(ratio=10),
    (_KAI, "reclaim", 1000, 500, 8, 1): Target(ratio=10),
    (_KAI, "preempt", 1000, 500, 1, 1): Target(ratio=10),
    (_KAI, "preempt", 500, 250, 8, 1): Target(ratio=10),
    (_KAI, "consolidation", 200, 50, 1, 8): Target(ratio=10),
    (_KAI, "failing reclaim", 1000, 1, 1001, 8): Target(seconds=2),
    (_VOLCANO, "open", 10_000, 1000, 10, 0): Target(seconds=1),
    (_KAI, "open", 10_000, 1250, 8, 0): Target(seconds=1),
    (_VOLCANO, "second cycle", 10_000, 1000, 10, 0): Target(seconds=0.2, times=0.2),
    (_KAI, "second cycle", 10_000, 1250, 8, 0): Target(seconds=0.2, times=0.2),
    (_VOLCANO, "second cycle with nodes changed", 10_000, 1000, 10, 0): Target(
        seconds=0.2, times=0.2
    ),
    (_KAI, "second cycle with nodes changed", 10_000, 1250, 8, 0): Target(seconds=0.2, times=0.2),
    (_VOLCANO, "load", 5000, 5000, 10, 0): Target(seconds=1.5, mib=250),
    (_VOLCANO, "render", 1000, 1800, 10, 0): Target(times=1),
    (_VOLCANO, "explain", 5000, 5000, 10, 0): Target(seconds=4),
    (_VOLCANO, "explain, one job waits", 5000, 5000, 10, 0): Target(seconds=4),
    (_VOLCANO, "job ledger", 1000, 1000, 10, 0): Target(times=1.3),
    (_VOLCANO, "job ledger", 1000, 500, 1, 0): Target(times=1.3),
    (_KAI, "job ledger", 500, 250, 1, 1): Target(times=1.3),
    (_VOLCANO, "ledger", 1000, 1000, 10, 0): Target(times=1.3),
    (_KAI, "ledger", 1000, 1000, 8, 0): Target(times=1.3),
    (_VOLCANO, "reclaim with promises", 1000, 500, 1, 0): Target(times=1.5),
    (_VOLCANO, "preempt with promises", 1000, 500, 1, 0): Target(times=1.5),
    (_KAI, "reclaim with promises", 500, 250, 1, 1): Target(times=1.5),
    (_KAI, "preempt with promises", 500, 250, 1, 1): Target(times=1.5),
    (_VOLCANO, "click on the page", 5000, 20, 1, 0): Target(seconds=0.2),
}


def target_of(size: Size) -> Target | None:
    return TARGETS.get(size)
