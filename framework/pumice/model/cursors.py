"""Cursors into the journals of a cluster: what has changed since the last look.

A cache with an entry per node or per job has a cursor and updates the entries that the cursor
reports.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pumice.model.job import Job
    from pumice.model.nodes import NodeTable

FEW_ROWS = 12
"""Up to so many rows are cheaper to update one by one than as vectors (measured)."""


class RowCursor:
    """Reads the journal of changed node rows."""

    __slots__ = ("_nodes", "version")

    def __init__(self, nodes: NodeTable, *, at_end: bool = False) -> None:
        """``at_end``: only what changes from now on is reported, else all rows come first."""
        self._nodes = nodes
        self.version = nodes.version if at_end else -1
        """The version of the node table up to which changes have been reported; -1: none."""

    @property
    def is_current(self) -> bool:
        """Whether nothing has changed since the last call of :meth:`changed`."""
        return self.version == self._nodes.version

    def changed(self) -> list[int] | None:
        """The rows changed since the last call, in order; None: look at all rows."""
        nodes, version = self._nodes, self.version
        current = nodes.version
        if version == current:
            return []
        self.version = current
        return None if version < 0 else nodes.changed_since(version)

    def changed_rows(self) -> list[int]:
        """The same with all rows spelt out."""
        rows = self.changed()
        return list(range(len(self._nodes))) if rows is None else rows


class JobCursor:
    """Reads the journal of jobs whose tasks changed their status."""

    __slots__ = ("_journal", "_position")

    def __init__(self, journal: list[Job]) -> None:
        """Only what changes from now on is reported."""
        self._journal = journal
        self._position = len(journal)

    def changed(self) -> list[Job]:
        """The jobs changed since the last call, each once."""
        journal, position = self._journal, self._position
        end = len(journal)
        if position == end:
            return []
        self._position = end
        last = journal[-1]
        if end - position == 1 or (end - position == 2 and journal[position] is last):
            return [last]
        return list({job.uid: job for job in journal[position:]}.values())
