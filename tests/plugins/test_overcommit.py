"""How far a cluster is overcommitted by admitted jobs."""

import pytest

from pumice import PERMIT, REJECT


def cluster(world, **minimum):
    """10 cpu, of which a task holds 2; admitted jobs need 3."""
    world.node("n1", cpu=10, memory="10Gi")
    world.job("runs", {"cpu": 2, "on": "n1"}, phase="Running")
    world.job("waits", phase="Inqueue", min_resources={"cpu": 3})
    world.job("new", phase="Pending", min_resources=minimum)


@pytest.mark.parametrize(
    "options, fits, too_much",
    [
        ({}, 7, "7001m"),
        ({"overcommit-factor": 1.5}, 10, "10001m"),
        ({"overcommit-factor": 1}, 5, 6),
    ],
)
def test_minimums_fit_into_a_multiple_of_the_cluster(world, options, fits, too_much):
    cluster(world, cpu=fits)
    assert world.open("overcommit", **options).job_enqueueable(world.job_of("new")) == PERMIT
    cluster(world, cpu=too_much)
    assert world.open("overcommit", **options).job_enqueueable(world.job_of("new")) == REJECT
    refusal = world.job_of("new").refusals[-1].message
    assert refusal == "resource in cluster is overused: overused cpu"


def test_a_factor_below_1_counts_as_the_default(world):
    cluster(world, cpu=7)
    overcommit = world.open("overcommit", **{"overcommit-factor": 0.5})
    assert overcommit.options.factor == 1.2
    assert overcommit.job_enqueueable(world.job_of("new")) == PERMIT


def test_only_what_is_asked_for_is_compared(world):
    cluster(world, memory="12Gi")
    world.job("greedy", phase="Inqueue", min_resources={"cpu": 1000})
    assert world.open("overcommit").job_enqueueable(world.job_of("new")) == PERMIT


def test_an_admitted_job_counts_for_the_next(world):
    cluster(world, cpu=4)
    overcommit, new = world.open("overcommit"), world.job_of("new")
    assert overcommit.job_enqueueable(new) == PERMIT
    overcommit.job_enqueued(new)
    assert overcommit.job_enqueueable(new) == REJECT


def test_an_admitted_job_counts_with_its_whole_minimum_though_part_of_it_is_placed(world):
    world.node("n1", cpu=10)
    world.job("half", {"cpu": 5, "on": "n1"}, phase="Inqueue", min_resources={"cpu": 6})
    world.job("new", phase="Pending", min_resources={"cpu": 2})
    assert world.open("overcommit").job_enqueueable(world.job_of("new")) == REJECT


def test_a_running_job_counts_with_its_unmet_minimum(world):
    world.node("n1", cpu=10)
    world.job("half", {"cpu": 5, "on": "n1"}, phase="Running", min_resources={"cpu": 6})
    world.job("new", phase="Pending", min_resources={"cpu": 6})
    assert world.open("overcommit").job_enqueueable(world.job_of("new")) == PERMIT


def test_a_job_without_a_minimum_is_let_in(world):
    world.job("new", phase="Pending")
    assert world.open("overcommit").job_enqueueable(world.job_of("new")) == PERMIT
