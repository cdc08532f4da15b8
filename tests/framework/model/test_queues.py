"""Paths in the tree of queues, and whether a queue is open."""

import pytest

from pumice.model.facts import Queue
from pumice.model.queues import common_depth, queue_path

PARENTS = {"root": "", "a": "root", "b": "a", "c": "a", "alone": "", "lost": "gone"}
QUEUES = {name: Queue(name, parent=parent) for name, parent in PARENTS.items()}


def names(name, **root):
    return [queue.name for queue in queue_path(QUEUES, name, **root)]


@pytest.mark.parametrize(
    "name, path",
    [
        ("b", ["root", "a", "b"]),
        ("root", ["root"]),
        ("alone", ["alone"]),
        ("lost", ["lost"]),
        ("gone", []),
    ],
)
def test_a_path_goes_from_the_top_to_the_queue(name, path):
    assert names(name) == path


def test_queues_without_a_parent_may_be_below_a_root():
    assert names("alone", root="root") == ["root", "alone"]
    assert names("root", root="root") == ["root"]


def test_a_cycle_ends_the_path():
    queues = {"x": Queue("x", parent="y"), "y": Queue("y", parent="x")}
    assert [queue.name for queue in queue_path(queues, "x")] == ["y", "x"]


@pytest.mark.parametrize(
    "left, right, depth", [("b", "c", 2), ("b", "b", 3), ("a", "b", 2), ("b", "alone", 0)]
)
def test_how_much_two_paths_have_in_common(left, right, depth):
    assert common_depth(queue_path(QUEUES, left), queue_path(QUEUES, right)) == depth


def test_only_an_open_queue_is_open():
    assert Queue("q").is_open
    assert not Queue("q", state="Closed").is_open
    assert not Queue("q", state="Closing").is_open
