"""The branches of a queue tree, and which of two is served first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pumice.model.facts import Queue
from pumice.model.job import Job
from pumice.model.queues import queue_path
from pumice.session.heap import LiveHeap
from pumice.solver.ranked_jobs import RankedLeaf

if TYPE_CHECKING:
    from pumice.session.order import JobHeap
    from pumice.session.session import Session


class Branch:
    """One queue: its child queues, or its jobs."""

    __slots__ = ("children", "dirty", "jobs", "key", "lost", "queue")

    def __init__(self, queue: Queue) -> None:
        self.queue = queue
        self.children: LiveHeap[Branch] | None = None
        self.jobs: JobHeap | RankedLeaf | None = None
        self.dirty = False
        self.key: Any = None
        """Its key in the order of queues, with its first job; None: not known."""
        self.lost: tuple[Job, ...] = ()
        """Of a leaf, for victims: the jobs taken and the one that would be the next."""

    def __bool__(self) -> bool:
        below = self.jobs if self.children is None else self.children
        return below is not None and len(below) > 0

    def first(self) -> tuple[Branch, Job | None]:
        """The leaf that is served first below it, and its first job; None: it is empty."""
        branch = self
        while branch.children is not None:
            child = branch.children.peek()
            if child is None:
                return branch, None
            branch = child
        return branch, None if branch.jobs is None else branch.jobs.peek()


class BranchOrder:
    """Compares branches by the queue order of a session, by keys where it has them.

    It refers to no tree, so that a tree needs no garbage collector when it is dropped: a search
    makes hundreds.
    """

    def __init__(self, session: Session, *, victims: bool, by_keys: bool) -> None:
        order = session.order
        self._order = order
        self._queues = session.queues
        self._victims = victims
        self._queue_key = order.queue_key if by_keys and order.has_job_keys else None
        self._journal = session.cluster.job_journal
        self._seen = self._keys_seen = len(self._journal)
        self._paths: dict[str, list[str]] = {}
        """By queue: its name and those of the queues above it."""
        self._keys: dict[tuple[str, str], tuple[Job, Any]] = {}
        """By queue and uid of its first job, as long as no job changes: that job and the key."""
        self._ties: dict[tuple[str, str], bool] = {}
        """Which of two queues with equal keys goes first."""
        self.popped: dict[str, list[Job]] = {}
        """By leaf queue: the victims taken, also when its branch is empty and removed."""

    @property
    def by_keys(self) -> bool:
        """Whether branches are compared by keys."""
        return self._queue_key is not None

    def new_heap(self) -> LiveHeap[Branch]:
        """Branches, the one to serve first on top."""
        return LiveHeap(self._before if self._queue_key is None else self._before_by_keys)

    def before(self, left: Branch, right: Branch) -> bool:
        """Whether the left branch is served first."""
        if self._queue_key is None:
            return self._before(left, right)
        return self._before_by_keys(left, right)

    def job_before(self, left: Job, right: Job) -> bool:
        """Whether the left job of a queue is served first."""
        before = self._order.job_before(left, right)
        return not before if self._victims else before

    def key_with(self, branch: Branch, job: Job | None) -> Any:
        """The key of a branch with this job as its first; None: none, or the plugin abstains."""
        if job is None or self._queue_key is None:
            return None
        if len(self._journal) != self._keys_seen:
            self._keys_seen = len(self._journal)
            self._keys.clear()
        name = branch.queue.name, job.uid
        known = self._keys.get(name)
        if known is None or known[0] is not job:
            known = self._keys[name] = job, self._queue_key(branch.queue, job)
        return known[1]

    def forget_changed(self, branches: Mapping[str, Branch]) -> None:
        """Forget the keys of queues in which a job has changed, and of those above them."""
        journal, seen, queues = self._journal, self._seen, self._queues
        end = len(journal)
        if seen == end or self._queue_key is None:
            return
        self._seen = end
        last = None
        for job in journal[seen:]:
            if job is last:  # mostly one job was placed, which changed its status twice
                continue
            last, name = job, job.queue
            path = self._paths.get(name)
            if path is None:
                path = self._paths[name] = [above.name for above in queue_path(queues, name)]
            # A queue whose jobs do not wait has no branch; a queue above it may have one.
            for above in path:
                branch = branches.get(above)
                if branch is not None:
                    branch.key = None

    def _before_by_keys(self, left: Branch, right: Branch) -> bool:
        """The same as :meth:`_before`, with keys that are computed once for each change."""
        if left.key is None:
            left.key = self.key_with(left, left.first()[1])
        if right.key is None:
            right.key = self.key_with(right, right.first()[1])
        l_key, r_key = left.key, right.key
        if l_key is None or r_key is None:
            return self._before(left, right)
        if l_key != r_key:
            return bool(l_key < r_key)
        pair = left.queue.name, right.queue.name
        first = self._ties.get(pair)
        if first is None:
            first = self._ties[pair] = self._before(left, right)
        return first

    def _before(self, left: Branch, right: Branch) -> bool:
        victims, before = self._victims, self._order.fair_queue_before
        l_leaf, l_job = left.first()
        if l_job is None:
            return not victims
        r_leaf, r_job = right.first()
        if r_job is None:
            return victims
        if victims:
            l_lost, r_lost = self._lost(l_leaf, l_job), self._lost(r_leaf, r_job)
            return not before(left.queue, right.queue, None, None, l_lost, r_lost)
        return before(left.queue, right.queue, l_job, r_job, (), ())

    def _lost(self, leaf: Branch, job: Job) -> tuple[Job, ...]:
        """The jobs taken from a leaf and this one: the same tuple until another is the next."""
        if not leaf.lost or leaf.lost[-1] is not job:
            leaf.lost = (*self.popped.get(leaf.queue.name, ()), job)
        return leaf.lost
