"""The pods that nodes hold, those that are leaving included: for filters by which they count.

Kept in step with the node table through its journal, not by events: a pod that is evicted in a
simulation stays, and one that is promised a second place counts in both.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator

from pumice import Cluster, NodeTable, Pod, RowCursor, Task
from pumice_builtin_plugins.kube.host_ports import HostPorts
from pumice_builtin_plugins.kube.label_columns import LabelColumns
from pumice_builtin_plugins.kube.pod_counts import Amount, PodCounts, Tally


def held_tasks(
    cluster: Cluster, name: Hashable, wanted: Callable[[Pod], bool]
) -> Iterator[tuple[Task, int]]:
    """The tasks on nodes whose pods are wanted, with their rows, node by node.

    For ``on_session_open``; see ``SnapshotCache.tasks``.
    """
    table = cluster.nodes
    tasks = {task.uid for task in cluster.snapshot_cache.tasks(name, wanted)}
    nodes = {cluster.tasks[uid].node for uid in tasks}
    for row in sorted(table.row_of[node] for node in nodes if node in table.row_of):
        for uid, entry in table.held[row].items():
            if uid in tasks:
                yield entry.task, row


class NodePods(PodCounts):
    """All pods on the nodes, those that are leaving included."""

    def __init__(self, columns: LabelColumns, *, remembers: bool = True) -> None:
        super().__init__(columns, remembers=remembers)
        self._there = None
        self._cursor = RowCursor(self.table, at_end=True)

    def pods(self, row: int) -> Iterator[Task]:
        return (held.task for held in self.table.held[row].values())

    def tally(self, key: Hashable, amount: Amount) -> Tally:
        for row in self._cursor.changed_rows():
            for known in self._tallies.values():
                change = sum(map(known.amount, self.pods(row))) - int(known.rows[row])
                if change:
                    known.change(row, change)
        return super().tally(key, amount)


class NodePorts(HostPorts):
    """The host ports of all pods on the nodes, those that are leaving included."""

    def __init__(self, table: NodeTable) -> None:
        super().__init__()
        self._table = table
        self._cursor = RowCursor(table)
        self._counted: dict[int, list[Task]] = {}

    def catch_up(self) -> None:
        """Take in what has changed; to be called before asking."""
        for row in self._cursor.changed_rows():
            held = [e.task for e in self._table.held[row].values() if e.task.pod.host_ports]
            counted = self._counted.get(row, [])
            if held != counted:
                for task in counted:
                    self.remove(task, row)
                for task in held:
                    self.add(task, row)
                self._counted[row] = held
