"""Hierarchical dominant resource fairness: a tree of queues with jobs as its leaves.

A node's share is not the sum of its children's: children that could use more are scaled down to
the smallest share among them, so that a child which cannot grow any further does not count
against its siblings. Everything is worked out anew from integers, so that undoing restores it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pumice import Job, Queue
from pumice_builtin_plugins.drf.job_shares import JobShare
from pumice_builtin_plugins.quota.dominant_share import dominant_share, totals_of

_PATH = "volcano.sh/hierarchy"
_WEIGHTS = "volcano.sh/hierarchy-weights"


class Branch:
    """An inner node. What its children hold stands in rows, branches first, then jobs."""

    __slots__ = (
        "allocated",
        "branches",
        "jobs",
        "parent",
        "requests",
        "row",
        "saturated",
        "share",
        "shares",
        "stuck",
        "weight",
    )

    def __init__(self, parent: Branch | None, weight: float) -> None:
        self.parent = parent
        self.weight = weight
        self.branches: dict[str, Branch] = {}
        self.jobs: list[JobShare] = []
        self.row = 0
        """Its row in its parent's columns."""
        self.share = 0.0
        self.saturated = True
        self.allocated = np.zeros((0, 0))
        """What each child holds; a branch's as scaled by itself."""
        self.shares = np.zeros(0)
        self.stuck = np.zeros(0, bool)
        """Whether each child is saturated: it cannot use more."""
        self.requests = np.zeros((0, 0))
        """What each job asks for in all."""

    def walk(self) -> list[Branch]:
        """This and all branches below, every one after its children."""
        below = [branch for child in self.branches.values() for branch in child.walk()]
        return [*below, self]


class FairTree:
    """The tree of a session. Tell :meth:`changed` of a job, then ask :meth:`compare`."""

    def __init__(
        self,
        queues: dict[str, Queue],
        shares: dict[str, JobShare],
        total: list[int],
        *,
        remembers: bool = True,
    ) -> None:
        """``remembers``: only what has changed is worked out anew; without, everything is."""
        self._remembers = remembers
        self._total = totals_of(enumerate(total))
        self._capacity = total
        self._paths = {name: _path(queue) for name, queue in queues.items()}
        self._held = [0] * len(total)
        self._seats: dict[str, tuple[Branch, int]] = {}
        self.root = Branch(None, 1.0)
        for share in shares.values():
            branch = self._branch(queues[share.job.queue])
            self._seats[share.job.uid] = (branch, len(branch.jobs))
            branch.jobs.append(share)
            for position, amount in enumerate(share.held):
                self._held[position] += amount
        self._lay_out()
        self._demanding = self._demand()
        self._all()
        self._pending: dict[int, Branch] = {}

    def _branch(self, queue: Queue) -> Branch:
        """The branch of a queue, made along its path; whoever comes first sets the weight."""
        branch = self.root
        weights = queue.annotations.get(_WEIGHTS, "").split("/")
        for level, name in enumerate(self._paths[queue.name][1:], start=1):
            child = branch.branches.get(name)
            if child is None:
                child = branch.branches[name] = Branch(branch, _weight(weights, level))
            branch = child
        return branch

    def _lay_out(self) -> None:
        width = len(self._capacity)
        for branch in self.root.walk():
            for row, child in enumerate(branch.branches.values()):
                child.row = row
            count = len(branch.branches) + len(branch.jobs)
            branch.allocated = np.zeros((count, width))
            branch.shares = np.zeros(count)
            branch.stuck = np.zeros(count, bool)
            branch.requests = np.array(
                [share.job.total_request for share in branch.jobs], float
            ).reshape(len(branch.jobs), width)

    def _demand(self) -> np.ndarray:
        """Mask of the resources of which the cluster has some left."""
        return np.array(self._held) < np.array(self._capacity)

    # -- keeping up

    def changed(self, job: Job, amounts: Sequence[int], sign: int) -> None:
        """The job now holds more (``sign`` 1) or less (-1) by these amounts."""
        for position, amount in enumerate(amounts):
            self._held[position] += sign * amount
        branch, number = self._seats[job.uid]
        self._write(branch, number)
        self._pending[id(branch)] = branch

    def _write(self, branch: Branch, number: int) -> None:
        row, share = len(branch.branches) + number, branch.jobs[number]
        branch.allocated[row] = share.held
        branch.shares[row] = share.share

    def _renew(self) -> None:
        demanding = self._demand()
        if (demanding != self._demanding).any() or not self._remembers:
            self._demanding = demanding
            self._all()
        else:
            for leaf in self._pending.values():
                branch: Branch | None = leaf
                while branch is not None:
                    self._sum_up(branch)
                    branch = branch.parent
        self._pending.clear()

    def _all(self) -> None:
        for branch in self.root.walk():
            for number in range(len(branch.jobs)):
                self._write(branch, number)
            self._sum_up(branch)

    def _sum_up(self, branch: Branch) -> None:
        """Work out a branch from its children and note it in its parent's row."""
        first = len(branch.branches)
        held, asked = branch.allocated[first:], branch.requests
        holds = (held > 0) & (asked > 0)
        branch.stuck[first:] = (holds & ((held >= asked) | ~self._demanding)).any(axis=1)
        counts = branch.shares != 0
        free = counts & ~branch.stuck
        smallest = min(1.0, float(branch.shares[free].min())) if free.any() else 1.0
        scale = counts.astype(float)
        scale[free] = smallest / branch.shares[free]
        allocated = (branch.allocated * scale[:, None]).sum(axis=0)
        branch.share = dominant_share(allocated.tolist(), self._total)
        branch.saturated = bool(branch.stuck.all())
        if branch.parent is not None:
            branch.parent.allocated[branch.row] = allocated
            branch.parent.shares[branch.row] = branch.share
            branch.parent.stuck[branch.row] = branch.saturated

    # -- asking

    def compare(self, left: Queue, right: Queue) -> float:
        """Negative: the left queue is to be served first."""
        if self._pending:
            self._renew()
        l_path, r_path = self._paths[left.name], self._paths[right.name]
        l_branch: Branch | None = self.root
        r_branch: Branch | None = self.root
        for level in range(1, min(len(l_path), len(r_path)) + 1):
            if l_branch is None or r_branch is None:
                return 0.0
            if l_branch.saturated != r_branch.saturated:
                return 1.0 if l_branch.saturated else -1.0
            difference = l_branch.share / l_branch.weight - r_branch.share / r_branch.weight
            if difference:
                return difference
            if level < min(len(l_path), len(r_path)):
                l_branch = l_branch.branches.get(l_path[level])
                r_branch = r_branch.branches.get(r_path[level])
        return 0.0


def _path(queue: Queue) -> list[str]:
    return queue.annotations.get(_PATH, "").split("/")


def _weight(weights: list[str], level: int) -> float:
    """The weight of one element of a path; a missing, malformed or small one counts as 1."""
    try:
        weight = float(weights[level])
    except (IndexError, ValueError):
        return 1.0
    return weight if weight >= 1 else 1.0
