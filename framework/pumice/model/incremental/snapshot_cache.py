"""What plugins compute of the cluster before a cycle, cached for the next where nothing changed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pumice.errors import InvariantError
from pumice.model.incremental.column_cache import ColumnCache, make_column

if TYPE_CHECKING:
    from pumice.model.facts import Pod
    from pumice.model.job import Job
    from pumice.model.nodes import NodeTable
    from pumice.model.task import Task


class _Selection:
    __slots__ = ("read", "stale", "uids")

    def __init__(self) -> None:
        self.uids: set[str] = set()
        self.stale: set[str] = set()
        """Uids of tasks that have not been checked."""
        self.read = False


class SnapshotCache:
    """Numbers about all nodes and all jobs, and selections of tasks, each with a name.

    Read it in ``on_session_open``: later the value is computed of the present state, and not
    cached. The name must contain everything that the value depends on beside the objects
    themselves (an option, a setting), and nothing of this cycle alone.
    """

    def __init__(self, nodes: NodeTable, jobs: dict[str, Job], tasks: dict[str, Task]) -> None:
        self._table = nodes
        self._jobs = jobs
        self._tasks = tasks
        self._of_nodes = ColumnCache()
        self._of_jobs = ColumnCache()
        self._selections: dict[Hashable, _Selection] = {}
        self._open = True
        self._verify = False

    def of_nodes(
        self, name: Hashable, value: Callable[[int], Any], *, dtype: Any = np.int64, width: int = 0
    ) -> np.ndarray:
        """A column over all rows of the node table; not to be written to.

        ``value`` gets a row and returns a number, or ``width`` numbers. It may depend on the
        node's facts and on the pods that it holds.
        """
        rows = range(len(self._table))
        if self._open:
            return self._of_nodes.ask(name, rows, value, dtype, width)
        return make_column(rows, value, dtype, width)

    def of_jobs(
        self, name: Hashable, value: Callable[[Job], Any], *, dtype: Any = np.int64, width: int = 0
    ) -> np.ndarray:
        """A column over all jobs, in the cluster's order; not to be written to.

        ``value`` may depend on the job and its tasks, and on the facts of the nodes they are on;
        not on the phase of the job or on times, which change more often than it.
        """
        jobs = list(self._jobs.values())
        if self._open:
            return self._of_jobs.ask(name, jobs, value, dtype, width)
        return make_column(jobs, value, dtype, width)

    def tasks(self, name: Hashable, wanted: Callable[[Pod], bool]) -> list[Task]:
        """The tasks whose pods are wanted, in the cluster's order."""
        tasks = self._tasks
        if not self._open:
            return [task for task in tasks.values() if wanted(task.pod)]
        selection = self._selections.get(name)
        if selection is None:
            selection = self._selections[name] = _Selection()
            selection.uids = {uid for uid, task in tasks.items() if wanted(task.pod)}
        for uid in selection.stale:
            if wanted(tasks[uid].pod):
                selection.uids.add(uid)
        selection.stale.clear()
        selection.read = True
        uids = selection.uids
        chosen = [task for uid, task in tasks.items() if uid in uids] if uids else []
        if self._verify and chosen != [task for task in tasks.values() if wanted(task.pod)]:
            raise InvariantError(f"selection {name!r} is out of date")
        return chosen

    # -- for the session and the scheduler

    def close(self) -> None:
        """The cycle begins to change tasks: nothing is cached from now on."""
        self._open = False

    def verify(self) -> None:
        """From now on compare every cached value with a recomputed one."""
        self._verify = self._of_nodes.verify = self._of_jobs.verify = True

    def rearrange_nodes(self, source: Sequence[int]) -> None:
        """The node table was rearranged; ``source`` has the old row of every new one, -1: new."""
        self._of_nodes.move(list(source))

    def next_cycle(
        self,
        jobs: dict[str, Job],
        tasks: dict[str, Task],
        *,
        changed_rows: Collection[int],
        changed_jobs: Collection[str],
        changed_tasks: Collection[str],
        gone_tasks: Collection[str],
    ) -> None:
        """Begin a new cycle: everything but these is as it was before the last one."""
        self._of_nodes.next_cycle(changed_rows)
        position = {uid: number for number, uid in enumerate(self._jobs)}
        self._of_jobs.next_cycle([position[uid] for uid in changed_jobs if uid in position])
        if jobs is not self._jobs:
            self._of_jobs.move([position.get(uid, -1) for uid in jobs])
        self._jobs, self._tasks = jobs, tasks
        self._selections = {
            name: chosen for name, chosen in self._selections.items() if chosen.read
        }
        for selection in self._selections.values():
            selection.read = False
            selection.uids.difference_update(changed_tasks, gone_tasks)
            selection.stale.difference_update(gone_tasks)
            selection.stale.update(changed_tasks)
        self._open = True
