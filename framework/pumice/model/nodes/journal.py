"""The journal of the node table: which rows have changed since when."""

from __future__ import annotations

from collections.abc import Mapping

_JOURNAL_LIMIT = 1 << 16


class RowJournal:
    """Records changed rows; :class:`~pumice.model.cursors.RowCursor` reads them."""

    def __init__(self) -> None:
        self._journal: list[int] = []
        self._journal_base = 0
        self.version = 0
        """Grows with every change, undo included."""
        self.reports_changes = True
        """Whether the journal may be read; if not, every row counts as changed."""
        self._earlier: set[int] = set()
        """Rows that changed before the journal begins."""
        self._relabelled: list[int] = []
        """Rows on which a task changed to a status that counts the same."""

    def touch(self, row: int) -> None:
        """Record that a row has changed, so that caches update it."""
        journal = self._journal
        journal.append(row)
        self.version += 1
        if len(journal) > _JOURNAL_LIMIT:
            self._journal_base += len(journal)
            self._earlier.update(journal)
            self._journal = []

    def changed_since(self, version: int) -> list[int] | None:
        """The rows changed since a version, in order, each once; None: any row may have."""
        start = version - self._journal_base
        if start < 0 or not self.reports_changes:
            return None
        recent = self._journal[start:]
        return recent if len(recent) < 2 else sorted(set(recent))

    def only_change_since(self, version: int) -> int:
        """The row of the only change since a version; -1: there are more, or none, or any."""
        if self.version - version != 1 or not self._journal or not self.reports_changes:
            return -1
        return self._journal[-1]

    def touched(self) -> set[int]:
        """All rows that have changed in the cycle, undone or not."""
        return self._earlier.union(self._journal, self._relabelled)

    def _move_journal(self, new_row: Mapping[int, int]) -> None:
        """Rows have other numbers; those that are not in ``new_row`` are gone."""
        touched = self.touched()
        self.clear_journal()
        self._earlier = {new_row[row] for row in touched if row in new_row}

    def clear_journal(self) -> None:
        """Begin a new cycle, in which no row has changed yet."""
        self._journal, self._journal_base, self.version = [], 0, 0
        self._earlier, self._relabelled = set(), []
