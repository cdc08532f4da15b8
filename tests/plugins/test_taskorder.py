"""Tasks in the order that their labels ask for."""

import pytest

from tests.plugins._fair import placing_order

LABEL = "kai.scheduler/task-priority"


def order(*labels):
    """Pods by the text of their label; None: without."""
    given = [{} if text is None else {LABEL: text} for text in labels]
    return placing_order(*given, plugins=["taskorder"])


def test_higher_numbers_go_first():
    assert order("1", "10", "-3", "+2") == [1, 3, 0, 2]


def test_tasks_without_the_label_go_last():
    assert order(None, "-100") == [1, 0]


@pytest.mark.parametrize("text", ["high", "", "1.5", "1_0", " 7"])
def test_a_label_that_is_no_number_comes_after_those_that_are(text):
    assert order(None, text, "-5") == [2, 1, 0]


def test_two_labels_that_are_no_numbers_leave_it_to_the_age():
    assert order("b", "a") == [0, 1]


def test_behind_plugins_that_know_roles_it_only_breaks_ties():
    labels = {LABEL: "9"}, {"ray.io/node-type": "head"}, {LABEL: "10"}
    assert placing_order(*labels, plugins=["ray", "taskorder"]) == [1, 2, 0]
