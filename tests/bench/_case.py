"""What a case is: a cluster, a policy, how it is measured, and what must come out."""

from __future__ import annotations

import cProfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Any, Protocol

from pumice.model.facts import Inventory
from pumice.plugin import Plugin

SHORT = 2.0
"""A run below so many seconds is repeated."""
SHORT_RUNS = 3
RELATIVE_RUNS = 7
"""A run that is compared with another one is repeated more often."""

Size = tuple[str, str, int, int, int, int]
"""Family, kind, nodes, jobs, tasks of a job, GPUs of a task: what peers and targets go by."""


@dataclass(frozen=True)
class Measured:
    """What one run of a case gave."""

    cpu: float
    open: float = 0.0
    """CPU seconds of opening the session."""
    wall: float = 0.0
    placed: int = 0
    evicted: int = 0
    base: float | None = None
    """CPU seconds of what ``cpu`` is compared with, measured just before it."""
    times: float | None = None
    """How many times the base it is, in the middle run."""
    wrong: tuple[str, ...] = ()
    """What else is not as it must be."""


Measure = Callable[["Case", int, cProfile.Profile | None], Measured]
"""Measures one run of a case; the number of the run varies what should vary."""


class Measurable(Protocol):
    """What a row is measured of."""

    @property
    def name(self) -> str: ...
    @property
    def measure(self) -> Callable[[Any, int, cProfile.Profile | None], Measured]: ...


@dataclass(frozen=True)
class Case:
    """One row of the table."""

    family: str
    kind: str
    nodes: int
    jobs: int
    tasks: int
    """Tasks of each job."""
    policy: Mapping[str, Any]
    cluster: Callable[[Case], Inventory]
    measure: Measure
    action: str = "allocate"
    """The action whose time counts."""
    gpu: int = 0
    """GPUs that each task asks for."""
    placed: int = 0
    """How many tasks must find a place."""
    evicted: int = 0
    """How many tasks must go."""
    every: int = 5
    """Of a dump that is explained: one of so many jobs waits."""
    plugins: Mapping[str, type[Plugin]] = field(default_factory=dict)
    """Plugins that no distribution has."""

    @property
    def size(self) -> Size:
        return (self.family, self.kind, self.nodes, self.jobs, self.tasks, self.gpu)

    @property
    def name(self) -> str:
        size = f"{self.nodes} nodes, {self.jobs} x {self.tasks} tasks"
        return f"{self.family} {self.kind}, {size}" + (f", {self.gpu} gpu" if self.gpu else "")


def best_of(case: Measurable, repeat: int = 1, profile: cProfile.Profile | None = None) -> Measured:
    """Run a case, a short or a relative one a few times, and take the best of each figure."""
    runs = [case.measure(case, 0, profile)]
    if profile is None:
        repeat = max(repeat, _runs(runs[0]))
    runs += [case.measure(case, number, profile) for number in range(1, repeat)]
    return _best(runs)


def _runs(first: Measured) -> int:
    if first.base is not None:
        return RELATIVE_RUNS
    return SHORT_RUNS if first.cpu < SHORT else 1


def _best(runs: Sequence[Measured]) -> Measured:
    best = min(runs, key=lambda run: run.cpu)
    # Two runs in a row have the same neighbours: their ratio is steadier than that of the best.
    times = [run.cpu / run.base for run in runs if run.base]
    return replace(
        best,
        open=min(run.open for run in runs),
        times=median(times) if times else None,
        wrong=tuple(dict.fromkeys(text for run in runs for text in run.wrong)),
    )
