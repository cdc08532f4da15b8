"""Cursors report every change once."""

from pumice.model.cursors import JobCursor, RowCursor
from pumice.model.dimensions import Dimensions
from pumice.model.facts import Node
from pumice.model.nodes import NodeTable
from pumice.model.resources import Resource


def table(count: int = 4) -> NodeTable:
    amount = Resource(4000, 1 << 30)
    return NodeTable([Node(f"n{i}", amount, amount) for i in range(count)], Dimensions())


class TestRowCursor:
    def test_a_new_cursor_asks_for_all_rows_once(self):
        cursor = RowCursor(table())
        assert cursor.changed() is None
        assert cursor.changed() == []

    def test_at_the_end_only_later_changes_are_reported(self):
        nodes = table()
        nodes.touch(3)
        cursor = RowCursor(nodes, at_end=True)
        assert cursor.is_current
        nodes.touch(2)
        nodes.touch(0)
        nodes.touch(2)
        assert not cursor.is_current
        assert cursor.changed() == [0, 2]
        assert cursor.changed() == []

    def test_two_cursors_do_not_disturb_each_other(self):
        nodes = table()
        one, other = RowCursor(nodes, at_end=True), RowCursor(nodes, at_end=True)
        nodes.touch(1)
        assert one.changed() == [1]
        nodes.touch(2)
        assert one.changed() == [2]
        assert other.changed() == [1, 2]

    def test_a_truncated_journal_means_all_rows(self, monkeypatch):
        monkeypatch.setattr("pumice.model.nodes.journal._JOURNAL_LIMIT", 2)
        nodes = table()
        cursor = RowCursor(nodes, at_end=True)
        for _ in range(4):
            nodes.touch(1)
        assert cursor.changed() is None

    def test_rows_can_be_spelt_out(self):
        nodes = table(3)
        cursor = RowCursor(nodes)
        assert cursor.changed_rows() == [0, 1, 2]
        nodes.touch(1)
        assert cursor.changed_rows() == [1]


class _Job:
    def __init__(self, uid: str) -> None:
        self.uid = uid


class TestJobCursor:
    def test_each_job_is_reported_once(self):
        a, b = _Job("a"), _Job("b")
        journal = [a]
        cursor = JobCursor(journal)
        assert cursor.changed() == []
        journal += [b, a, b]
        assert cursor.changed() == [b, a]
        assert cursor.changed() == []
        journal.append(a)
        assert cursor.changed() == [a]
