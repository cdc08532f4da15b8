"""How many tasks of a gang count, and whether it could reach its minimum."""

import pytest

from pumice.model.cluster import build_cluster
from pumice.model.gang import (
    active_count,
    active_tasks,
    has_pending,
    is_elastic,
    is_gang_satisfied,
    is_ready_to_schedule,
    used_count,
)
from tests.plugins._fair import FairWorld, ask

RELEASING = {"deleted": 1.0}


def job(*pods, min_member=1):
    world = FairWorld()
    world.node("n")
    world.queue("q")
    world.job("j", "q", *pods, min_member=min_member)
    return build_cluster(world.inventory, now=1.0).jobs["ns/j"]


def test_releasing_tasks_are_used_but_not_active():
    gang = job(ask(on="n"), ask(on="n", **RELEASING), ask(), min_member=2)
    for members in (gang, gang.sub_jobs["default"]):
        assert (active_count(members), used_count(members)) == (1, 2)
    assert [task.name for task in active_tasks(gang)] == ["j-0"]
    assert is_gang_satisfied(gang)


def test_a_job_is_elastic_when_a_pod_set_has_more_than_it_needs():
    assert is_elastic(job(ask(), ask(), min_member=1))
    assert not is_elastic(job(ask(), ask(), min_member=2))


@pytest.mark.parametrize(
    "pods, ready",
    [
        ((ask(), ask()), True),
        ((ask(on="n"), ask()), True),
        ((ask(), ask(gates=("later",))), False),
        ((ask(), ask(on="n", **RELEASING)), False),
        ((ask(),), False),
    ],
)
def test_a_job_is_ready_to_schedule_when_enough_tasks_could_run(pods, ready):
    assert is_ready_to_schedule(job(*pods, min_member=2)) is ready


def test_gated_tasks_are_not_pending():
    assert has_pending(job(ask()))
    assert not has_pending(job(ask(gates=("later",))))
