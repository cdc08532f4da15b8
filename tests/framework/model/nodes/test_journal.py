"""The journal of changed rows."""

from pumice.model.nodes import journal
from pumice.model.task import TaskStatus
from tests.framework.model.nodes._tables import table_and_tasks


def test_every_change_is_in_the_journal_undo_included():
    table, (one, other, _) = table_and_tasks()
    start = table.version
    table.add(1, one, TaskStatus.RUNNING)
    after_one = table.version
    table.add(0, other, TaskStatus.PIPELINED)
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
        table.add(0, one, TaskStatus.RUNNING)
        table.remove(0, one)
    assert versions == sorted(set(versions))
    assert table.changed_since(versions[0]) is None
    assert table.changed_since(table.version) == []


def test_a_single_change_is_known_by_its_row(monkeypatch):
    table, (one, other, _) = table_and_tasks()
    start = table.version
    table.add(1, one, TaskStatus.RUNNING)
    assert table.only_change_since(start) == 1
    assert table.only_change_since(table.version) == -1
    table.add(0, other, TaskStatus.RUNNING)
    assert table.only_change_since(start) == -1
    last = table.version
    monkeypatch.setattr(journal, "_JOURNAL_LIMIT", 1)
    table.remove(0, other)
    assert table.only_change_since(last) == -1, "the journal was truncated"


def test_a_status_change_without_effect_on_resources_is_not_in_the_journal():
    table, (one, *_) = table_and_tasks()
    table.add(0, one, TaskStatus.ALLOCATED)
    version = table.version
    table.recount(0, one, TaskStatus.BINDING)
    assert table.version == version
    assert table.held[0][one.uid].status is TaskStatus.BINDING


def test_the_table_knows_all_touched_rows(monkeypatch):
    monkeypatch.setattr(journal, "_JOURNAL_LIMIT", 1)
    table, (one, two, *_) = table_and_tasks()
    assert table.touched() == set()
    table.add(1, one, TaskStatus.ALLOCATED)
    table.remove(1, one)
    table.add(0, two, TaskStatus.ALLOCATED)
    assert table.touched() == {0, 1}
    table.next_cycle(())
    assert (table.touched(), table.version) == (set(), 0)
    table.recount(0, two, TaskStatus.BINDING)
    assert table.touched() == {0}
