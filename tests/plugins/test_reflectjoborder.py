"""The job order page of the scheduler."""

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


def served(world, **actions):
    world.open(*PLUGINS, actions=actions)
    answer = world.session.ask.http_handlers()["/get-job-order"]()
    assert json.loads(json.dumps(answer)) == answer
    return answer


def names(entries):
    return [entry["id"].removeprefix("ns/") for entry in entries]


def test_jobs_come_in_the_order_of_the_queue_tree(world):
    for name, queue, priority in (("a1", "a", 10), ("a2", "a", 90), ("b1", "b", 50)):
        world.job(name, queue, ask(), priority=priority)
    answer = served(world)
    assert names(answer["global_order"]) == ["b1", "a2", "a1"]
    assert answer["queue_order"] == {
        "a": [{"id": "ns/a2", "priority": 90}, {"id": "ns/a1", "priority": 10}],
        "b": [{"id": "ns/b1", "priority": 50}],
    }


def test_jobs_that_will_not_be_taken_up_are_left_out(world):
    world.job("running", "a", ask(on="n"))
    world.job("short", "a", ask(), min_member=2)
    world.job("gated", "a", ask(gates=("wait",)))
    assert served(world) == {"global_order": [], "queue_order": {}}


def test_as_many_jobs_of_a_queue_are_served_as_the_action_considers(world):
    for i in range(4):
        world.job(f"a{i}", "a", ask())
        world.job(f"b{i}", "b", ask())
    answer = served(world, fair_allocate={"queueDepth": 1})
    assert {queue: names(jobs) for queue, jobs in answer["queue_order"].items()} == {
        "a": ["a0"],
        "b": ["b0"],
    }


def test_asking_changes_nothing(world):
    world.job("a1", "a", ask())
    assert served(world) == world.session.ask.http_handlers()["/get-job-order"]()
    assert world.session.decisions.binds == []
