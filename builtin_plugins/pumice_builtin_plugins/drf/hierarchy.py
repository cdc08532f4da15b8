"""Hierarchical dominant resource fairness (hdrf): a tree of queues with jobs as its leaves.

A node's share is not the sum of its children's: unsaturated children are scaled down to the
smallest share among them, so that a child which cannot grow any further does not count against
its siblings. Everything is computed from integers, so undoing an event restores it exactly.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pumice import Job, Queue
from pumice_builtin_plugins.drf.job_shares import JobShare
from pumice_builtin_plugins.quota.dominant_share import dominant_share, totals_of

_HIERARCHY = "volcano.sh/hierarchy"
_WEIGHTS = "volcano.sh/hierarchy-weights"


class InnerNode:
    """An inner node of the tree. Its arrays have a row per child: inner nodes first, then jobs."""

    __slots__ = (
        "allocated",
        "children",
        "is_saturated",
        "jobs",
        "parent",
        "requests",
        "row",
        "saturated",
        "share",
        "shares",
        "weight",
    )

    def __init__(self, parent: InnerNode | None, weight: float) -> None:
        self.parent = parent
        self.weight = weight
        self.children: dict[str, InnerNode] = {}
        self.jobs: list[JobShare] = []
        self.row = 0
        """Its row in its parent's arrays."""
        self.share = 0.0
        self.is_saturated = True
        self.allocated = np.zeros((0, 0))
        """What each child holds; of an inner node the scaled sum."""
        self.shares = np.zeros(0)
        self.saturated = np.zeros(0, bool)
        """Whether each child is saturated: it cannot use more."""
        self.requests = np.zeros((0, 0))
        """The total request of each job."""

    def post_order(self) -> list[InnerNode]:
        """This node and all inner nodes below it, each after its children."""
        below = [node for child in self.children.values() for node in child.post_order()]
        return [*below, self]


class HierarchicalShares:
    """The tree of a session: :meth:`update` it after each event, then :meth:`compare` queues."""

    def __init__(
        self,
        queues: dict[str, Queue],
        job_shares: dict[str, JobShare],
        total: list[int],
        *,
        cached: bool = True,
    ) -> None:
        """``cached``: only changed nodes are computed again, else the whole tree."""
        self._cached = cached
        self._totals = totals_of(enumerate(total))
        self._total = total
        self._paths = {name: _path(queue) for name, queue in queues.items()}
        self._allocated = [0] * len(total)
        self._position: dict[str, tuple[InnerNode, int]] = {}
        """By job uid: the node above it and its number among that node's jobs."""
        self.root = InnerNode(None, 1.0)
        for job_share in job_shares.values():
            node = self._node_of(queues[job_share.job.queue])
            self._position[job_share.job.uid] = (node, len(node.jobs))
            node.jobs.append(job_share)
            for position, amount in enumerate(job_share.allocated):
                self._allocated[position] += amount
        self._make_arrays()
        self._demanding = self._demanding_resources()
        self._compute_all()
        self._outdated: dict[int, InnerNode] = {}

    def _node_of(self, queue: Queue) -> InnerNode:
        """The node of a queue; the first queue that names a path element sets its weight."""
        node = self.root
        weights = queue.annotations.get(_WEIGHTS, "").split("/")
        for level, name in enumerate(self._paths[queue.name][1:], start=1):
            child = node.children.get(name)
            if child is None:
                child = node.children[name] = InnerNode(node, _weight(weights, level))
            node = child
        return node

    def _make_arrays(self) -> None:
        width = len(self._total)
        for node in self.root.post_order():
            for row, child in enumerate(node.children.values()):
                child.row = row
            count = len(node.children) + len(node.jobs)
            node.allocated = np.zeros((count, width))
            node.shares = np.zeros(count)
            node.saturated = np.zeros(count, bool)
            node.requests = np.array(
                [job_share.job.total_request for job_share in node.jobs], float
            ).reshape(len(node.jobs), width)

    def _demanding_resources(self) -> np.ndarray:
        """Mask of the resources that are not fully allocated."""
        return np.array(self._allocated) < np.array(self._total)

    # -- updates

    def update(self, job: Job, amounts: Sequence[int], sign: int) -> None:
        """The job now holds more (``sign`` 1) or less (-1) by these amounts."""
        for position, amount in enumerate(amounts):
            self._allocated[position] += sign * amount
        node, number = self._position[job.uid]
        self._copy_job(node, number)
        self._outdated[id(node)] = node

    def _copy_job(self, node: InnerNode, number: int) -> None:
        row, job_share = len(node.children) + number, node.jobs[number]
        node.allocated[row] = job_share.allocated
        node.shares[row] = job_share.share

    def _refresh(self) -> None:
        demanding = self._demanding_resources()
        if (demanding != self._demanding).any() or not self._cached:
            self._demanding = demanding
            self._compute_all()
        else:
            for outdated in self._outdated.values():
                node: InnerNode | None = outdated
                while node is not None:
                    self._compute(node)
                    node = node.parent
        self._outdated.clear()

    def _compute_all(self) -> None:
        for node in self.root.post_order():
            for number in range(len(node.jobs)):
                self._copy_job(node, number)
            self._compute(node)

    def _compute(self, node: InnerNode) -> None:
        """Compute a node from its children and write it into its parent's row."""
        first = len(node.children)
        allocated, requests = node.allocated[first:], node.requests
        both = (allocated > 0) & (requests > 0)
        node.saturated[first:] = (both & ((allocated >= requests) | ~self._demanding)).any(axis=1)
        counts = node.shares != 0
        growing = counts & ~node.saturated
        smallest = min(1.0, float(node.shares[growing].min())) if growing.any() else 1.0
        scale = counts.astype(float)
        scale[growing] = smallest / node.shares[growing]
        scaled = (node.allocated * scale[:, None]).sum(axis=0)
        node.share = dominant_share(scaled.tolist(), self._totals)
        node.is_saturated = bool(node.saturated.all())
        if node.parent is not None:
            node.parent.allocated[node.row] = scaled
            node.parent.shares[node.row] = node.share
            node.parent.saturated[node.row] = node.is_saturated

    # -- order

    def compare(self, left: Queue, right: Queue) -> float:
        """Negative: the left queue goes first."""
        if self._outdated:
            self._refresh()
        l_path, r_path = self._paths[left.name], self._paths[right.name]
        l_node: InnerNode | None = self.root
        r_node: InnerNode | None = self.root
        for level in range(1, min(len(l_path), len(r_path)) + 1):
            if l_node is None or r_node is None:
                return 0.0
            if l_node.is_saturated != r_node.is_saturated:
                return 1.0 if l_node.is_saturated else -1.0
            difference = l_node.share / l_node.weight - r_node.share / r_node.weight
            if difference:
                return difference
            if level < min(len(l_path), len(r_path)):
                l_node = l_node.children.get(l_path[level])
                r_node = r_node.children.get(r_path[level])
        return 0.0


def _path(queue: Queue) -> list[str]:
    return queue.annotations.get(_HIERARCHY, "").split("/")


def _weight(weights: list[str], level: int) -> float:
    """The weight of one path element; missing, malformed or below 1 counts as 1."""
    try:
        weight = float(weights[level])
    except (IndexError, ValueError):
        return 1.0
    return weight if weight >= 1 else 1.0
