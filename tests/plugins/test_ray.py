"""The head of a Ray cluster is placed first."""

import pytest

from tests.plugins._fair import placing_order

KEY = "ray.io/node-type"


def test_the_head_goes_first():
    assert placing_order({KEY: "worker"}, {}, {KEY: "head"}, plugins=["ray"]) == [2, 0, 1]


@pytest.mark.parametrize("text", ["Head", "worker", ""])
def test_nothing_else_is_a_head(text):
    assert placing_order({}, {KEY: text}, plugins=["ray"]) == [0, 1]


def test_two_heads_are_equal():
    assert placing_order({KEY: "head"}, {KEY: "head"}, plugins=["ray"]) == [0, 1]
