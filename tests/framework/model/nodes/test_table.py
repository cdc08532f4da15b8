"""The node table: exact counts per column, the journal, views and handles."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pumice.errors import InvariantError, StatementError
from pumice.model.cluster import build_cluster
from pumice.model.dimensions import Dimensions
from pumice.model.invariants import check
from pumice.model.nodes import NodeTable, journal
from pumice.model.task import TaskStatus
from tests.framework._build import GI, GPU, NOW, World, amount, policy, task

_S = TaskStatus
COLUMNS = ("idle", "used", "releasing", "pipelined", "future_idle")


def cluster(world=None):
    world = world or World().node("b", cpu=4, gpu=2).node("a").job("j", tasks=3)
    return build_cluster(world.inventory, now=NOW)


def table_and_tasks():
    built = cluster()
    return built.nodes, list(built.tasks.values())


# -- dimensions


def test_dimensions_have_a_fixed_order():
    dimensions = Dimensions(["z", GPU, "pods", "cpu", "a"])
    assert dimensions.names == ("cpu", "memory", "pods", "a", GPU, "z")
    vector = dimensions.vector(amount(1.5, 2, 1, pods=3))
    assert vector.tolist() == [1500, 2 * GI, 3, 0, 1000, 0]
    assert vector.dtype == np.int64
    assert dimensions.resource(vector) == amount(1.5, 2, 1, pods=3)


def test_a_resource_that_nothing_has_is_left_out():
    assert Dimensions().vector(amount(1, 0, 1)).tolist() == [1000, 0, 0]


# -- counting


@pytest.mark.parametrize(
    "status, changed",
    [
        (_S.ALLOCATED, {"idle": -1, "used": 1, "future_idle": -1}),
        (_S.BINDING, {"idle": -1, "used": 1, "future_idle": -1}),
        (_S.BOUND, {"idle": -1, "used": 1, "future_idle": -1}),
        (_S.RUNNING, {"idle": -1, "used": 1, "future_idle": -1}),
        (_S.UNKNOWN, {"idle": -1, "used": 1, "future_idle": -1}),
        (_S.RELEASING, {"idle": -1, "used": 1, "releasing": 1}),
        (_S.PIPELINED, {"pipelined": 1, "future_idle": -1}),
    ],
)
def test_how_each_status_is_counted(status, changed):
    table, (one, *_) = table_and_tasks()
    before = {name: getattr(table, name).copy() for name in COLUMNS}
    table.add(0, one, status)
    for name in COLUMNS:
        difference = getattr(table, name) - before[name]
        assert difference[0].tolist() == (changed.get(name, 0) * one.vector).tolist()
        assert not difference[1].any()
    assert table.pod_count.tolist() == [1, 0]
    assert table.remove(0, one) is status
    for name in COLUMNS:
        assert np.array_equal(getattr(table, name), before[name])


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1), st.sampled_from(list(_S)))))
def test_removing_tasks_in_any_order_restores_the_columns(steps):
    table, tasks = table_and_tasks()
    before = {name: getattr(table, name).copy() for name in COLUMNS}
    for number, row, status in steps:
        one = tasks[number]
        if one.uid in table.held[row]:
            table.recount(row, one, status)
        elif one.uid not in table.held[1 - row]:
            table.add(row, one, status)
        else:
            table.remove(1 - row, one)
    for row in range(2):
        for held in list(table.held[row].values()):
            table.remove(row, held.task)
    for name in COLUMNS:
        assert np.array_equal(getattr(table, name), before[name])
    assert not table.pod_count.any()


def test_a_task_is_on_a_node_once():
    table, (one, other, _) = table_and_tasks()
    table.add(0, one, _S.RUNNING)
    with pytest.raises(StatementError, match="ns/j-t-0 is already on node a"):
        table.add(0, one, _S.RUNNING)
    with pytest.raises(StatementError, match="ns/j-t-1 is not on node a"):
        table.remove(0, other)
    with pytest.raises(StatementError, match="ns/j-t-1 is not on node a"):
        table.recount(0, other, _S.RUNNING)


def test_a_node_may_be_overcommitted():
    table = cluster(World().node("a", cpu=1).job("j", cpu=3, on=["a"])).nodes
    assert table.idle[0][0] == -2000
    assert table.future_idle[0][0] == -2000


def test_finished_and_pending_pods_hold_nothing():
    world = World().node("a").job("j", tasks=0)
    for number, facts in enumerate(
        [
            {"phase": "Succeeded", "node": "a"},
            {"phase": "Failed", "node": "a"},
            {"phase": "Pending"},
            {"phase": "Running", "node": "gone"},
        ]
    ):
        world.pod(f"p{number}", "ns/j", **facts)
    table = cluster(world).nodes
    assert not table.used.any()
    assert table.held == [{}]


def test_a_pod_without_a_job_counts():
    assert cluster(World().node("a").pod("lone", node="a")).nodes.used[0][0] == 1000


# -- the journal


def test_every_change_is_in_the_journal_undo_included():
    table, (one, other, _) = table_and_tasks()
    start = table.version
    table.add(1, one, _S.RUNNING)
    after_one = table.version
    table.add(0, other, _S.PIPELINED)
    table.remove(0, other)
    assert table.changed_since(start) == [0, 1]
    assert table.changed_since(after_one) == [0]
    assert table.changed_since(table.version) == []
    assert start < after_one < table.version


def test_a_journal_that_is_too_long_is_truncated(monkeypatch):
    monkeypatch.setattr(journal, "_JOURNAL_LIMIT", 4)
    table, (one, *_) = table_and_tasks()
    versions = []
    for _ in range(4):
        versions.append(table.version)
        table.add(0, one, _S.RUNNING)
        table.remove(0, one)
    assert versions == sorted(set(versions))
    assert table.changed_since(versions[0]) is None
    assert table.changed_since(table.version) == []


def test_a_status_change_without_effect_on_resources_is_not_in_the_journal():
    table, (one, *_) = table_and_tasks()
    table.add(0, one, _S.ALLOCATED)
    version = table.version
    table.recount(0, one, _S.BINDING)
    assert table.version == version
    assert table.held[0][one.uid].status is _S.BINDING


def test_the_table_knows_all_touched_rows(monkeypatch):
    monkeypatch.setattr(journal, "_JOURNAL_LIMIT", 1)
    table, (one, two, *_) = table_and_tasks()
    assert table.touched() == set()
    table.add(1, one, _S.ALLOCATED)
    table.remove(1, one)
    table.add(0, two, _S.ALLOCATED)
    assert table.touched() == {0, 1}
    table.next_cycle(())
    assert (table.touched(), table.version) == (set(), 0)
    table.recount(0, two, _S.BINDING)
    assert table.touched() == {0}


# -- views and handles


def test_rows_are_sorted_by_name():
    table, _ = table_and_tasks()
    assert table.names == ["a", "b"]
    assert table.row_of == {"a": 0, "b": 1}
    assert table.get("b").row == 1
    assert table.get("c") is None


def test_a_view_shows_its_rows_only():
    table, (one, *_) = table_and_tasks()
    table.add(1, one, _S.RUNNING)
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
    table.add(1, one, _S.RUNNING)
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


# -- the check


@pytest.mark.parametrize(
    "harm, message",
    [
        (lambda s: s.nodes.idle.__setitem__((0, 0), 7), "node a: idle is"),
        (lambda s: s.nodes.pod_count.__setitem__(0, 9), "pod count"),
        (lambda s: s.jobs["ns/j"].allocated.__setitem__(0, 9), "allocated is not the sum"),
        (lambda s: setattr(task(s, "j-t-0"), "status", _S.FAILED), "not indexed as Failed"),
        (
            lambda s: s.jobs["ns/j"].by_status.__setitem__(_S.FAILED, s.jobs["ns/j"].tasks),
            "two statuses",
        ),
        (lambda s: setattr(s.jobs["ns/j"], "pending_best_effort", 3), "best-effort"),
        (lambda s: s.jobs["ns/j"].sub_jobs.clear(), "sub-jobs"),
        (lambda s: s.nodes.add(1, task(s, "run-t-0"), _S.RUNNING), "is on 2 nodes"),
    ],
)
def test_the_check_reports_inconsistent_accounts(harm, message):
    world = World().node("a").node("b").job("j").job("run", on=["a"])
    session = world.session(policy([]))
    check(session)
    harm(session)
    with pytest.raises(InvariantError, match=message):
        check(session)
