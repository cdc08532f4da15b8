"""Queues and their parents, pod groups and their queues."""

import pytest

from tests.framework.manifests._objects import (
    clean,
    kai_group,
    kai_queue,
    read,
    reported,
    volcano_group,
    volcano_queue,
)


def test_the_default_queue_is_made_where_it_is_missing():
    default = clean(volcano_group("g")).queues["default"]
    assert (default.family, default.weight, default.reclaimable) == ("volcano", 1, True)
    assert set(clean(volcano_queue("q")).queues) == {"q", "default"}
    assert clean(volcano_queue("default", weight=5)).queues["default"].weight == 5
    assert set(read(volcano_group("g"), default_queue="main").queues) == {"main"}


def test_the_default_queue_is_not_put_among_kai_queues():
    assert set(clean(kai_queue("q"), kai_group("g", queue="q")).queues) == {"q"}
    assert not read().queues


def test_the_root_is_made_only_where_a_volcano_queue_names_it():
    inventory = clean(volcano_queue("q", parent="root"))
    root = inventory.queues["root"]
    assert (root.weight, root.reclaimable, root.children) == (1, False, ["q"])
    assert "root" not in clean(volcano_queue("q")).queues
    assert "root" not in read(kai_queue("q", parentQueue="root")).queues


def test_the_parent_of_the_root_does_not_count():
    assert clean(volcano_queue("root", parent="root")).queues["root"].parent == ""


@pytest.mark.parametrize("backwards", [False, True])
def test_children_are_linked_in_any_order(backwards):
    objects = [kai_queue("a"), kai_queue("b", parentQueue="a"), kai_queue("c", parentQueue="b")]
    queues = clean(*(reversed(objects) if backwards else objects)).queues
    assert [queues[name].children for name in "abc"] == [["b"], ["c"], []]


def test_a_kai_queue_without_its_parent_goes_with_all_below_it():
    inventory = read(
        kai_queue("c", parentQueue="b"),
        kai_queue("b", parentQueue="depratment"),
        kai_queue("department"),
        kai_group("g", queue="c"),
    )
    assert set(inventory.queues) == {"department"}
    assert not inventory.groups
    assert reported(inventory) == {
        "Queue b": "names the unknown parent queue 'depratment'",
        "Queue c": "is below queue 'b', which is left out",
        "PodGroup ns/g": "names queue 'c', which is left out",
    }
    assert inventory.problems[0].hint == "did you mean 'department'?"


def test_a_volcano_queue_without_its_parent_stays_and_is_reported():
    inventory = read(volcano_queue("q", parent="gone"), volcano_group("g", queue="q"))
    assert "q" in inventory.queues
    assert "ns/g" in inventory.groups
    assert reported(inventory) == {"Queue q": "names the unknown parent queue 'gone'"}


@pytest.mark.parametrize("make, key", [(kai_queue, "parentQueue"), (volcano_queue, "parent")])
def test_queues_in_a_circle_are_dropped_and_reported(make, key):
    inventory = read(
        make("a", **{key: "c"}),
        make("b", **{key: "a"}),
        make("c", **{key: "b"}),
        make("below", **{key: "b"}),
        make("self", **{key: "self"}),
        make("fine"),
        make("leaf", **{key: "fine"}),
    )
    assert {"fine", "leaf"} <= set(inventory.queues) <= {"fine", "leaf", "default"}
    messages = reported(inventory)
    assert set(messages) == {f"Queue {name}" for name in ("a", "b", "c", "below", "self")}
    assert messages["Queue a"] == "is its own ancestor: a → c → b → a"
    assert messages["Queue below"] == "is below queue 'b', which is left out"
    assert messages["Queue self"] == "is its own ancestor: self → self"


def test_two_families_cannot_share_a_queue_name():
    inventory = read(volcano_queue("q", weight=3), kai_queue("q"))
    assert inventory.queues["q"].weight == 3
    assert reported(inventory) == {"Queue q": "has the name of a Queue of the other family"}


@pytest.mark.parametrize("make", [volcano_group, kai_group])
def test_a_group_of_an_unknown_queue_is_left_out_and_the_nearest_name_reported(make):
    queue = kai_queue if make is kai_group else volcano_queue
    inventory = read(queue("research"), make("g", queue="resaerch"), make("h", queue="research"))
    assert list(inventory.groups) == ["ns/h"]
    (problem,) = inventory.problems
    assert str(problem) == (
        "objects[1]: PodGroup ns/g: names the unknown queue 'resaerch' (did you mean 'research'?)"
    )
