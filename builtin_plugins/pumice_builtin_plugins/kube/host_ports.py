"""Host ports in use, node by node."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np

from pumice import Task
from pumice_builtin_plugins.kube.filter_statuses import STATUSES

OCCUPIED = STATUSES.id("node(s) didn't have free ports for the requested pod ports")
HostPort = tuple[str, str, int]
_ANY_ADDRESS = "0.0.0.0"


class HostPorts:
    """Host ports in use; two pods conflict on a port unless their addresses differ."""

    def __init__(self) -> None:
        self._used: dict[tuple[str, int], dict[int, Counter[str]]] = {}

    def add(self, task: Task, row: int) -> None:
        for protocol, address, port in task.pod.host_ports:
            nodes = self._used.setdefault((protocol, port), {})
            nodes.setdefault(row, Counter())[address] += 1

    def remove(self, task: Task, row: int) -> None:
        for protocol, address, port in task.pod.host_ports:
            nodes = self._used[protocol, port]
            addresses = nodes[row]
            addresses[address] -= 1
            if not addresses[address]:
                del addresses[address]
                if not addresses:
                    del nodes[row]

    def status(self, wanted: Iterable[HostPort], row: int) -> int:
        """The status of one node."""
        for protocol, address, port in wanted:
            addresses = self._used.get((protocol, port), {}).get(row)
            if addresses is not None and _conflict(address, addresses):
                return OCCUPIED
        return 0

    def statuses(self, wanted: Iterable[HostPort], count: int) -> np.ndarray:
        """The status of every node."""
        result = np.zeros(count, np.int64)
        for protocol, address, port in wanted:
            for row, addresses in self._used.get((protocol, port), {}).items():
                if _conflict(address, addresses):
                    result[row] = OCCUPIED
        return result


def _conflict(address: str, addresses: Counter[str]) -> bool:
    return address == _ANY_ADDRESS or _ANY_ADDRESS in addresses or address in addresses
