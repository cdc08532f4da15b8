"""Measures on records of which the figures are known."""

from __future__ import annotations

import math

import pytest

from pumice.discovery import Catalog
from pumice.errors import PumiceError
from pumice.measures import Measure, Steps, measure_all
from pumice.measures.fairness import private_times
from pumice.simulation import JobRecord, Record
from tests.framework.simulation._runs import PREEMPTING, job, simulate


def done(
    name: str, submit: float, start: float, finish: float, amount: float = 1.0, queue: str = "q"
) -> JobRecord:
    return JobRecord(job(name, submit, finish - start, queue=queue), amount, start, finish)


@pytest.fixture
def record() -> Record:
    """Two queues that deserve two GPUs each of four; b waits 100 s while a uses all."""
    return Record(
        jobs=[done("one", 0, 0, 200, 4, "a"), done("two", 0, 100, 200, 2, "b")],
        queues=["a", "b"],
        deserved=[2.0, 2.0],
        used=[(0, 0, 4), (100, 0, -2), (100, 1, 2), (200, 0, -2), (200, 1, -2)],
        demand=[(0, 0, 4), (0, 1, 2), (200, 0, -4), (200, 1, -2)],
        capacity=[(0, 4)],
        fragments=[(0, 4, 1), (100, 0, 0)],
        chains=[1, 3],
        end=200,
    )


def test_figures_of_jobs(record: Record) -> None:
    figures = measure_all(record)
    assert figures["delay.mean"] == 50
    assert figures["delay.queue.b.p95"] == 100
    assert figures["delay.size.2-7.p50"] == 50
    assert figures["completion.mean"] == 200
    assert figures["slowdown.mean"] == 1
    assert figures["starvation.longest"] == 100
    assert figures["starvation.never_started"] == 0


def test_figures_of_the_cluster(record: Record) -> None:
    record.jobs[0].lost = 50
    figures = measure_all(record)
    assert figures["utilisation.allocated"] == 1
    assert figures["lost_work.hours"] == 200 / 3600
    assert figures["goodput"] == 0.75
    assert figures["fragmentation"] == 0.25
    assert figures["convergence.cycles_mean"] == 2
    assert figures["convergence.cycles_max"] == 3


def test_figures_of_fairness(record: Record) -> None:
    figures = measure_all(record)
    # a got all that it was due, b half of it.
    assert figures["fairness.worst"] == 0.5
    assert figures["fairness.jain"] == pytest.approx(1.5**2 / (2 * 1.25))
    assert figures["quota_violation.hours"] == 100 / 3600
    assert figures["quota_violation.amount"] == 200 / 3600
    assert figures["quota_violation.longest"] == 100 / 3600


def test_completion_alone_is_first_come_first_served() -> None:
    jobs = [done("a", 0, 0, 10, 2), done("b", 0, 0, 10, 2), done("c", 5, 0, 10, 1)]
    assert private_times(jobs, 2.0) == [10, 20, 25]
    assert private_times([done("large", 0, 0, 10, 8)], 2.0) == [10]


def test_evictions_are_counted_against_what_was_requested() -> None:
    jobs = [job(f"low{i}", gpus=2, duration=100) for i in range(2)]
    high = job("high", submit=10, gpus=2, duration=10, priority=5)
    figures = measure_all(simulate(*jobs, high, policy=PREEMPTING))
    assert (figures["evictions.pods"], figures["evictions.jobs"]) == (1, 1)
    assert figures["evictions.for_each_requested"] == 1
    assert figures["evictions.repeated"] == 0


def test_nothing_happened() -> None:
    figures = measure_all(Record(queues=["q"], deserved=[1.0]))
    assert math.isnan(figures["delay.mean"])
    assert math.isnan(figures["utilisation.allocated"])
    assert figures["evictions.pods"] == 0


def test_steps() -> None:
    import numpy as np

    steps = Steps.of_changes([(10, 2), (20, -1)], 40)
    assert steps.at(np.array([5, 10, 25])).tolist() == [0, 2, 1]
    assert steps.integral() == 2 * 10 + 1 * 20


def test_a_measure_of_others_takes_part_and_its_failure_is_named(record: Record) -> None:
    class Jobs(Measure):
        def figures(self, record: Record) -> dict[str, float]:
            return {"": len(record.jobs)}

    class Broken(Measure):
        def figures(self, record: Record) -> dict[str, float]:
            raise ZeroDivisionError("oh")

    catalog = Catalog()
    catalog.register_local("measure", "jobs", Jobs)
    assert measure_all(record, catalog)["jobs"] == 2
    catalog.register_local("measure", "broken", Broken)
    with pytest.raises(PumiceError, match=r"measure 'broken'.*ZeroDivisionError: oh"):
        measure_all(record, catalog)
