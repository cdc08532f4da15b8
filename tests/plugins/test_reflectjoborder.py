"""The order of jobs as a page of the scheduler tells it."""

import json

import pytest

from tests.plugins._fair import FairWorld, ask

PLUGINS = ("fairshare", {"name": "priority", "enable": ["job_order"]}, "reflectjoborder")


@pytest.fixture
def world():
    world = FairWorld()
    world.node(gpu=4)
    world.queue("a", 2)
    world.queue("b", 4)
    return world


def told(world, *plugins):
    world.open(*(plugins or PLUGINS))
    answer = world.session.ask.http_handlers()["/get-job-order"]()
    assert json.loads(json.dumps(answer)) == answer
    return answer


def names(entries):
    return [entry["id"].removeprefix("ns/") for entry in entries]


def test_jobs_come_in_the_order_of_the_queue_tree(world):
    for name, queue, priority in (("a1", "a", 10), ("a2", "a", 90), ("b1", "b", 50)):
        world.job(name, queue, ask(), extra={"priority": priority})
    answer = told(world)
    assert names(answer["global_order"]) == ["b1", "a2", "a1"]
    assert answer["queue_order"] == {
        "a": [{"id": "ns/a2", "priority": 90}, {"id": "ns/a1", "priority": 10}],
        "b": [{"id": "ns/b1", "priority": 50}],
    }


def test_jobs_that_will_not_be_taken_up_are_left_out(world):
    world.job("running", "a", ask(on="n"))
    world.job("short", "a", ask(), min_member=2)
    world.job("gated", "a", ask(gates=("wait",)))
    assert told(world) == {"global_order": [], "queue_order": {}}


def test_asking_changes_nothing(world):
    world.job("a1", "a", ask())
    assert told(world) == world.session.ask.http_handlers()["/get-job-order"]()
    assert world.session.decisions.binds == []
