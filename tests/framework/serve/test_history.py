"""Cycles are stored within bounds and stay as they ended."""

import pytest

from pumice.serve.history import UnknownError
from tests.framework.serve._served import demo_history


def explained(history, cycle, job="research/ablation"):
    return history.read(cycle, lambda one: one.explain(job).to_dict())


def test_a_cycle_stays_as_it_ended():
    history = demo_history(cycles=1)
    before, view = explained(history, 1), history.view(1)
    columns = view.nodes.used.copy()
    history.run_cycle()
    assert history.view().cycle == 2
    assert explained(history, 1) == before
    assert (history.view(1).nodes.used == columns).all()
    assert [row.state for row in history.view(1).jobs] != [row.state for row in history.view().jobs]


def test_the_oldest_cycles_are_dropped():
    history = demo_history(cycles=4, most_cycles=3)
    assert [view.cycle for view in history.views] == [2, 3, 4]
    with pytest.raises(UnknownError, match="no cycle 1") as caught:
        history.view(1)
    assert caught.value.hint == "cycles 2 to 4 exist"
    assert not history.explainable(1)


def test_sessions_are_dropped_before_views():
    tasks = 17
    history = demo_history(cycles=3, most_tasks=2 * tasks)
    assert [history.explainable(cycle) for cycle in (1, 2, 3)] == [False, True, True]
    assert history.view(1).cycle == 1
    with pytest.raises(UnknownError, match="cycle 1 is too old") as caught:
        explained(history, 1)
    assert caught.value.hint == "cycles from 2 on can be explained"


def test_the_last_cycle_can_always_be_explained():
    history = demo_history(cycles=2, most_tasks=1)
    assert explained(history, None)["job"] == "research/ablation"


def test_evicted_jobs_and_who_gained():
    view = demo_history(cycles=1).view()
    jobs = {row.job: row for row in view.jobs}
    assert jobs["research/sweep"].state == "evicted"
    assert jobs["research/sweep"].reason == "reclaim evicted 3 tasks for production/train"
    assert jobs["production/train"].state == "waiting"
    sweep = next(row for row in view.evictions if row.job == "research/sweep")
    assert (sweep.claimant, sweep.claimant_queue, len(sweep.tasks)) == (
        "production/train",
        "production",
        3,
    )
    assert sweep.nodes == ("gpu-a", "gpu-b")
