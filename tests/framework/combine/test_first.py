"""Rules in which the first answer counts: Compare, First, FirstPlugin, FirstError."""

import pytest

from pumice.combine import (
    SKIP,
    Compare,
    First,
    FirstError,
    FirstPlugin,
)
from tests.framework.combine._panel import Panel


@pytest.mark.parametrize(
    "tiers, expected, asked",
    [
        pytest.param([[]], 0, "", id="no plugin: the tie-break of the caller decides"),
        pytest.param([[0, None], [0]], 0, "abc", id="all abstain"),
        pytest.param(
            [[0, -3, 5]], -1, "ab", id="the first non-zero decides, the rest is not asked"
        ),
        pytest.param([[0], [7]], 1, "ab", id="tiers only give the order"),
        pytest.param([[-0.5]], -1, "a", id="a fraction is an opinion, too"),
        pytest.param([[True]], 1, "a", id="true puts the right one first"),
    ],
)
def test_compare(tiers, expected, asked):
    panel = Panel(Compare(), *tiers)
    assert panel.ask("l", "r") == expected
    assert "".join(panel.asked) == asked


@pytest.mark.parametrize(
    "odd", [RuntimeError("boom"), "no number", [1]], ids=["raises", "text", "list"]
)
def test_a_comparison_that_fails_abstains_and_is_reported(odd):
    panel = Panel(Compare(), [odd, -1])
    assert panel.ask("l", "r") == -1
    (error,) = panel.errors
    assert (error.plugin, error.point, error.source) == ("a", "some_point", "dist-a 1.0")
    assert error.__cause__ is not None


def test_first_takes_the_first_answer_that_is_not_none():
    panel = Panel(First(), [None], [0, "later"])
    assert panel.ask("x") == 0
    assert panel.asked == ["a", "b"]
    assert Panel(First(), []).ask("x") is None


def test_first_plugin_is_asked_alone_whatever_it_answers():
    panel = Panel(FirstPlugin(), [], [None, "never"])
    assert panel.ask("x") is None
    assert panel.asked == ["a"]
    assert Panel(FirstPlugin(), []).ask("x") is None


def test_first_error_stops_at_the_first_objection():
    panel = Panel(FirstError(), [None, SKIP], ["no room", "never"])
    assert panel.ask("task") == "no room"
    assert panel.asked == ["a", "b", "c"]


def test_skip_is_no_objection():
    assert Panel(FirstError(), [SKIP, None]).ask("task") is None
    assert Panel(FirstError(), []).ask("task") is None
