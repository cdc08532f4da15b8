"""Rules that add answers up: Sum, SumByKey, Merge, PerPlugin, Fold."""

import pytest

from pumice.combine import (
    Fold,
    Merge,
    PerPlugin,
    Sum,
    SumByKey,
)
from pumice.errors import PluginError
from tests.framework.combine._panel import Panel


def test_sum_counts_an_abstention_as_nothing():
    assert Panel(Sum(), [1, None], [2.5]).ask("task", "node") == 3.5
    assert Panel(Sum(), []).ask("task", "node") == 0.0


def test_scores_are_added_up_by_key():
    panel = Panel(SumByKey(), [{"h1": 1.0}, None], [{"h1": 2.0, "h2": 4.0}, {}])
    assert panel.ask("sub-job") == {"h1": 3.0, "h2": 4.0}
    assert Panel(SumByKey(), []).ask("sub-job") == {}


def test_a_later_plugin_overwrites_an_equal_key():
    panel = Panel(Merge(), [{"a": 1, "b": 1}], [{"b": 2}, None])
    assert panel.ask("task") == {"a": 1, "b": 2}
    assert Panel(Merge(), []).ask("task") == {}


def test_answers_are_separate_per_plugin():
    panel = Panel(PerPlugin(), [[1.0], None])
    assert panel.ask("task") == {"a": [1.0], "b": None}
    assert Panel(PerPlugin(), []).ask("task") == {}


def test_fold_replaces_every_branch_in_order():
    halves = lambda *args: [args[-1][:1], args[-1][1:]]  # noqa: E731
    reversed_ = lambda *args: [args[-1][::-1]]  # noqa: E731
    panel = Panel(Fold(), [halves], [reversed_])
    assert panel.ask("job", [1, 2, 3]) == [[1], [3, 2]]


def test_an_empty_list_removes_a_branch_and_none_leaves_it():
    panel = Panel(
        Fold(),
        [lambda *args: [[1], [2], [3]]],
        [lambda *args: [] if args[-1] == [2] else None],
    )
    assert panel.ask("job", [1, 2, 3]) == [[1], [3]]
    assert Panel(Fold(), []).ask("job", [1, 2]) == [[1, 2]]
    assert Panel(Fold(), [[]], [lambda *args: [["never"]]]).ask("job", [1]) == []


def test_what_one_plugin_alone_answers_is_checked():
    assert Panel(Fold(), [None]).ask("job", [1]) == [[1]]
    assert Panel(Fold(), [([1], [2])]).ask("job", [1, 2]) == [[1], [2]]

    def fails(*args):
        raise ValueError("no")

    with pytest.raises(PluginError, match="no"):
        Panel(Fold(), [fails]).ask("job", [1])


def test_each_branch_sees_the_fixed_arguments():
    panel = Panel(Fold(), [lambda *args: [[1], [2]]], [None])
    panel.ask("job", "sub-group", [1, 2])
    assert panel.arguments == [
        ("job", "sub-group", [1, 2]),
        ("job", "sub-group", [1]),
        ("job", "sub-group", [2]),
    ]
