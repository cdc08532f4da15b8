"""Views and handles of nodes."""

import numpy as np
import pytest

from pumice.model.dimensions import Dimensions
from pumice.model.nodes import NodeTable
from pumice.model.task import TaskStatus
from tests.framework._build import World, amount
from tests.framework.model.nodes._tables import COLUMNS, table_and_tasks


def test_rows_are_sorted_by_name():
    table, _ = table_and_tasks()
    assert table.names == ["a", "b"]
    assert table.row_of == {"a": 0, "b": 1}
    assert table.get("b").row == 1
    assert table.get("c") is None


def test_a_view_shows_its_rows_only():
    table, (one, *_) = table_and_tasks()
    table.add(1, one, TaskStatus.RUNNING)
    view, whole = table.view(np.array([1])), table.view()
    assert (len(view), len(whole)) == (1, 2)
    assert whole.whole
    assert not view.whole
    assert view.names == ["b"]
    assert [handle.name for handle in view.handles()] == ["b"]
    assert [node.name for node in view.facts] == ["b"]
    for name in (*COLUMNS, "allocatable", "pod_count", "max_pods"):
        assert np.array_equal(getattr(view, name)[0], getattr(table, name)[1])
        assert getattr(whole, name) is getattr(table, name)


def test_a_fact_column_is_computed_once_per_node():
    table, _ = table_and_tasks()
    read = []

    def fact(node):
        read.append(node.name)
        return len(node.name)

    assert table.view(np.array([1])).fact("length", fact, np.int64).tolist() == [1]
    assert table.view().fact("length", fact, np.int64).tolist() == [1, 1]
    assert read == ["a", "b"]


def test_a_handle_has_the_quantities_of_its_node():
    table, (one, *_) = table_and_tasks()
    table.add(1, one, TaskStatus.RUNNING)
    handle = table.handle(1)
    assert handle is table.handle(1)
    assert handle.allocatable == amount(4, 8, 2, pods=110)
    assert handle.idle == amount(3, 7, 2, pods=109)
    assert handle.used == amount(1, 1, pods=1)
    assert handle.future_idle == handle.idle
    assert handle.releasing == handle.pipelined == amount()
    assert handle.tasks == [one]
    assert handle.idle_fraction == pytest.approx((3 / 4 + 7 / 8 + 109 / 110 + 1) / 4)
    assert repr(handle) == "<node b>"


def test_a_node_with_nothing_has_nothing_idle():
    table = NodeTable(World().node("a", 0, 0, 0, 0).inventory.nodes.values(), Dimensions())
    assert table.handle(0).idle_fraction == 0.0
