"""The rows of the queue tree."""

import math

import pytest

from pumice.config import policy_from_dict
from pumice.model.facts import Node, Pod, PodGroup, Queue
from pumice.model.resources import Resource
from tests.framework.serve._served import cluster_history, demo_history

POLICY = {"actions": ["allocate"], "tiers": [{"plugins": ["gang", "proportion"]}]}
CPU = 0


def add_job(inventory, name, queue, cpu, node=""):
    inventory.groups[f"ns/{name}"] = PodGroup(
        f"ns/{name}", name, "ns", queue=queue, phase="Inqueue", min_member=1
    )
    inventory.pods[name] = Pod(
        name,
        name,
        "ns",
        Resource(cpu, 0, {"pods": 1}),
        group=f"ns/{name}",
        node_name=node,
        phase="Running" if node else "Pending",
    )


def rows_of(*queues, jobs=(), policy=POLICY):
    def fill(inventory):
        room = Resource(10_000, 0, {"pods": 10})
        inventory.nodes["n"] = Node("n", room, room, 10)
        for queue in queues:
            inventory.queues[queue.name] = queue
        for job in jobs:
            add_job(inventory, *job)

    chosen = policy_from_dict(policy, where="test")
    return cluster_history(fill, chosen).view().queues


def test_children_follow_their_parent_and_add_to_it():
    rows = rows_of(
        Queue("root"),
        Queue("b", parent="root"),
        Queue("a", parent="root"),
        Queue("a1", parent="a"),
        jobs=[("runs", "a1", 3000, "n"), ("more", "b", 1000, "n"), ("large", "b", 99_000)],
    )
    assert [(row.queue, row.depth) for row in rows] == [("root", 0), ("a", 1), ("a1", 2), ("b", 1)]
    held = {row.queue: (int(row.allocated[CPU]), int(row.request[CPU])) for row in rows}
    assert held == {
        "root": (4000, 103_000),
        "a": (3000, 3000),
        "a1": (3000, 3000),
        "b": (1000, 100_000),
    }
    assert {row.queue: (row.jobs, row.waiting) for row in rows}["root"] == (3, 1)


def test_queues_in_a_circle_and_under_an_unknown_parent_are_listed_once():
    rows = rows_of(Queue("x", parent="y"), Queue("y", parent="x"), Queue("z", parent="none"))
    assert sorted(row.queue for row in rows) == ["x", "y", "z"]


def test_what_is_not_a_bound_is_left_out():
    limit = Resource(math.inf, 0, {"example.com/x": 5})
    (row,) = rows_of(Queue("q", limit=limit))
    assert row.limit == {"example.com/x": 5}
    (row,) = rows_of(Queue("q", family="kai", limit=Resource(-1, 0)))
    assert row.limit == {"memory": 0}


def test_without_a_plugin_the_queue_states_what_it_deserves():
    stated = Queue("q", deserved=Resource(4000, 0))
    policy = {"actions": ["allocate"], "tiers": [{"plugins": ["gang"]}]}
    (row,) = rows_of(stated, jobs=[("runs", "q", 1000, "n")], policy=policy)
    assert row.deserved["cpu"] == 4000
    assert (row.share, row.share_of) == (pytest.approx(0.25), "cpu")
    (row,) = rows_of(Queue("q"), policy=policy)
    assert row.share is None


def test_what_is_allocated_is_what_the_plugin_counts():
    history = demo_history(cycles=1)  # pipelined tasks count, victims do not
    held = history.read(
        None,
        lambda cycle: {
            name: cycle.session.ask.get_queue_allocated_resources(queue)
            for name, queue in cycle.session.queues.items()
        },
    )
    view = history.view()
    for row in view.queues:
        for column, name in enumerate(view.dimensions):
            assert row.allocated[column] == held[row.queue].get(name), (row.queue, name)
