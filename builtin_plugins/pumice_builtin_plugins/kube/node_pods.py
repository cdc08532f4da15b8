"""Pods and host ports on nodes as KAI's filters see them: evicted pods included.

Updated from the journal of the node table, not by events: in KAI a pod that is evicted in a
simulation keeps its host ports and affinity, and one that is moved counts on both nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator

from pumice import Cluster, NodeTable, Pod, RowCursor, Task
from pumice_builtin_plugins.kube.host_ports import HostPorts
from pumice_builtin_plugins.kube.label_columns import LabelColumns
from pumice_builtin_plugins.kube.pod_counts import PodCount, PodCounts, PodWeight


def placed_tasks(
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
    """All pods on the nodes, those that are being evicted included."""

    def __init__(self, columns: LabelColumns, *, cached: bool = True) -> None:
        super().__init__(columns, cached=cached)
        self._pods_by_row = None
        self._cursor = RowCursor(self.table, at_end=True)

    def pods(self, row: int) -> Iterator[Task]:
        return (entry.task for entry in self.table.held[row].values())

    def count(self, key: Hashable, weight: PodWeight) -> PodCount:
        for row in self._cursor.changed_rows():
            for known in self._counts.values():
                change = sum(map(known.weight, self.pods(row))) - int(known.by_node[row])
                if change:
                    known.add(row, change)
        return super().count(key, weight)


class NodePorts(HostPorts):
    """The host ports of all pods on the nodes, those that are being evicted included."""

    def __init__(self, table: NodeTable) -> None:
        super().__init__()
        self._table = table
        self._cursor = RowCursor(table)
        self._counted: dict[int, list[Task]] = {}

    def update(self) -> None:
        """Take in what has changed; to be called before asking for a status."""
        for row in self._cursor.changed_rows():
            tasks = [e.task for e in self._table.held[row].values() if e.task.pod.host_ports]
            counted = self._counted.get(row, [])
            if tasks != counted:
                for task in counted:
                    self.remove(task, row)
                for task in tasks:
                    self.add(task, row)
                self._counted[row] = tasks
