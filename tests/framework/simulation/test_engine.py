"""The engine: events in order, lost work, nodes that fail and join, the same every time."""

from __future__ import annotations

import pytest

from pumice.simulation import Record
from pumice.simulation.backend import SimulatedCluster
from tests.framework.simulation._runs import PREEMPTING, job, simulate


def times(record: Record) -> dict[str, tuple[float | None, float | None]]:
    return {each.job.name: (each.start, each.finish) for each in record.jobs}


def test_jobs_start_run_and_end() -> None:
    record = simulate(job("a"), job("b", submit=30, gpus=4), job("c", submit=40))
    assert times(record) == {"a": (0, 100), "b": (100, 200), "c": (40, 140)} or times(record) == {
        "a": (0, 100),
        "b": (140, 240),
        "c": (40, 140),
    }
    assert record.end == max(finish or 0 for _, finish in times(record).values())


def test_a_gang_starts_together() -> None:
    record = simulate(job("small", gpus=3), job("gang", submit=1, gpus=1, pods=4))
    assert times(record)["gang"] == (100, 200)


def test_a_job_with_some_of_its_pods_runs_slower() -> None:
    elastic = job("elastic", submit=1, duration=100, pods=4, min_pods=2)
    record = simulate(job("other", gpus=2, duration=51), elastic)
    # Two of four pods for 50 seconds do the work of 25.
    assert times(record)["elastic"] == (1, 126)


def preempted(**settings: object) -> Record:
    return simulate(
        job("low", duration=100, gpus=4),
        job("high", submit=50, duration=10, gpus=4, priority=10),
        policy=PREEMPTING,
        **settings,
    )


@pytest.mark.parametrize(
    "settings, lost, finish",
    [
        pytest.param({}, 50, 161, id="no checkpoint: it begins again"),
        pytest.param({"checkpoint": 0.0}, 0, 111, id="everything is saved"),
        pytest.param({"checkpoint": 20.0}, 10, 121, id="saved at 40"),
        pytest.param({"checkpoint": 20.0, "restart_cost": 5.0}, 15, 126, id="a restart takes 5"),
    ],
)
def test_an_eviction_loses_work(settings: dict[str, float], lost: float, finish: float) -> None:
    record = preempted(**settings)
    low, high = record.jobs
    assert (high.start, high.finish) == (51, 61)
    assert (low.evictions, low.lost, low.finish) == (1, lost, finish)
    (eviction,) = record.evictions
    assert (eviction.time, eviction.job, eviction.claimant) == (50, "low", "high")
    assert eviction.amount == 4
    assert list(record.claims.values()) == [4]


def test_nodes_fail_and_join() -> None:
    record = simulate(
        job("a", duration=1000, gpus=4, pods=2), nodes="2x4", mtbf=400.0, repair=50.0, seed=3
    )
    (only,) = record.jobs
    assert only.failures > 0
    assert only.lost > 0
    assert only.finish is not None
    changes = [more for _, more in record.capacity[1:]]
    assert changes.count(-4.0) >= changes.count(4.0) > 0


def test_the_same_seed_gives_the_same_record() -> None:
    def run(seed: int) -> Record:
        jobs = [job(f"j{i}", submit=10 * i, duration=90 + i, gpus=1 + i % 3) for i in range(20)]
        return simulate(*jobs, jitter=60.0, mtbf=500.0, repair=30.0, seed=seed)

    assert run(1) == run(1)
    assert times(run(1)) != times(run(2))


def test_cycles_run_only_when_something_changed() -> None:
    record = simulate(job("a", duration=5000), job("b", submit=6000, duration=5000))
    assert record.cycles == 2


def test_jobs_that_wait_are_looked_at_again() -> None:
    record = simulate(job("a", duration=1000, gpus=4), job("b", submit=1, gpus=4), recheck=100.0)
    assert 10 <= record.cycles <= 14


def test_a_job_that_was_not_admitted_is_looked_at_again_soon() -> None:
    """A job counts as promised, not as running, in the cycle after its start."""
    policy = {
        "actions": ["enqueue", "allocate"],
        "tiers": [{"plugins": ["gang", "predicates", "proportion", "overcommit"]}],
    }
    jobs = (job("a", gpus=2, duration=5000), job("b", submit=1, gpus=2))
    record = simulate(*jobs, policy=policy, recheck=3600.0)
    assert times(record)["b"] == (2, 102)


def test_a_period_brings_events_together() -> None:
    jobs = [job(f"j{i:02}", submit=i, duration=500) for i in range(40)]
    record = simulate(*jobs, nodes="10x4", period=20.0)
    assert record.cycles == 3
    assert max(each.delay or 0 for each in record.jobs) <= 20


def test_later_jobs_are_held_back() -> None:
    jobs = [job("first", gpus=4), *(job(f"j{i}", submit=1 + i, gpus=4) for i in range(5))]
    record = simulate(*jobs, window=1)
    starts = [each.start for each in record.jobs]
    assert starts == [0, 100, 200, 300, 400, 500]
    assert all(each.finish is not None for each in record.jobs)


def test_jobs_held_back_start_at_once_where_they_fit() -> None:
    jobs = [job(f"j{i}", gpus=1) for i in range(8)]
    record = simulate(*jobs, nodes="2x4", window=2, period=50.0)
    assert [each.start for each in record.jobs] == [0] * 8
    assert record.cycles == 4


def test_jobs_held_back_wait_for_the_next_cycle_where_others_found_no_room() -> None:
    jobs = [job("a", gpus=1), job("large", gpus=4, submit=1), job("b", gpus=1, submit=1)]
    jobs += [job("c", gpus=1, submit=2)]
    record = simulate(*jobs, window=2, period=50.0)
    assert times(record)["b"] == (50, 150)
    assert times(record)["c"] == (100, 200), "shown when b has started, and large still waits"


def test_a_horizon_ends_the_simulation() -> None:
    record = simulate(job("a", duration=1000), job("b", submit=5000), horizon=500.0)
    assert [each.job.name for each in record.jobs] == ["a"]
    assert record.jobs[0].finish is None
    assert record.end == 500


def test_a_job_that_fits_nowhere_does_not_hold_up_the_end() -> None:
    record = simulate(job("large", gpus=8), job("small", submit=10))
    large, small = record.jobs
    assert (large.start, small.finish) == (None, 110)


def test_shares_of_gpus_are_placed() -> None:
    policy = {"actions": ["fair_allocate"], "tiers": [{"plugins": ["predicates", "gpupack"]}]}
    halves = [job(f"h{i}", duration=50) for i in range(4)]
    shared = [type(each)(each.name, 0, 50, cpu=1000, gpus=500) for each in halves]
    record = simulate(*shared, nodes="1x2", policy=policy)
    assert all(each.start == 0 for each in record.jobs)
    assert sum(more for _, _, more in record.used) == pytest.approx(0)


@pytest.mark.parametrize("preset", ["pumice", "volcano", "kai"])
def test_every_preset_places_the_jobs(preset: str) -> None:
    jobs = [job(f"j{i}", submit=i, gpus=2, queue=f"q{i % 2}") for i in range(4)]
    record = simulate(*jobs, nodes="2x4", policy={"preset": preset})
    assert all(each.finish is not None for each in record.jobs)
    assert record.faults == 0


@pytest.mark.parametrize("preset", ["pumice", "volcano", "kai"])
def test_that_nobody_reads_reasons_changes_nothing(preset, monkeypatch):
    jobs = [
        job(f"j{n}", 7.0 * n, 60 + 40 * (n % 5), gpus=1 + n % 3, queue=f"q{n % 3}", priority=n % 2)
        for n in range(40)
    ]
    silent = simulate(*jobs, policy={"preset": preset})
    monkeypatch.setattr(SimulatedCluster, "reads_reasons", True)
    assert repr(simulate(*jobs, policy={"preset": preset})) == repr(silent)
    assert any(record.evictions for record in silent.jobs) or preset != "pumice"


@pytest.mark.parametrize("preset", ["pumice", "volcano", "kai"])
def test_jobs_like_those_that_failed_may_be_left_out_of_a_crowd(preset, monkeypatch):
    """Hundreds of jobs of a few kinds wait; where reasons are read, each is given and told why."""
    jobs = [
        job(f"j{n}", n // 4, 150 + 90 * (n % 4), gpus=1 + 3 * (n % 9 == 0), queue=f"q{n % 11 // 5}")
        for n in range(160)
    ]
    silent = simulate(*jobs, policy={"preset": preset}, nodes="3x4", period=20.0)
    monkeypatch.setattr(SimulatedCluster, "reads_reasons", True)
    told = simulate(*jobs, policy={"preset": preset}, nodes="3x4", period=20.0)
    assert repr(told) == repr(silent)
