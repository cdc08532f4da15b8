"""The node table: exact counts per column."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pumice.errors import StatementError
from pumice.model.task import TaskStatus
from tests.framework._build import World
from tests.framework.model.nodes._tables import COLUMNS, cluster, table_and_tasks


@pytest.mark.parametrize(
    "status, changed",
    [
        (TaskStatus.ALLOCATED, {"idle": -1, "used": 1, "future_idle": -1}),
        (TaskStatus.BINDING, {"idle": -1, "used": 1, "future_idle": -1}),
        (TaskStatus.BOUND, {"idle": -1, "used": 1, "future_idle": -1}),
        (TaskStatus.RUNNING, {"idle": -1, "used": 1, "future_idle": -1}),
        (TaskStatus.UNKNOWN, {"idle": -1, "used": 1, "future_idle": -1}),
        (TaskStatus.RELEASING, {"idle": -1, "used": 1, "releasing": 1}),
        (TaskStatus.PIPELINED, {"pipelined": 1, "future_idle": -1}),
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


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1), st.sampled_from(list(TaskStatus)))))
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
    table.add(0, one, TaskStatus.RUNNING)
    with pytest.raises(StatementError, match="ns/j-t-0 is already on node a"):
        table.add(0, one, TaskStatus.RUNNING)
    with pytest.raises(StatementError, match="ns/j-t-1 is not on node a"):
        table.remove(0, other)
    with pytest.raises(StatementError, match="ns/j-t-1 is not on node a"):
        table.recount(0, other, TaskStatus.RUNNING)


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
