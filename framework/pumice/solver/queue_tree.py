"""Jobs in the order of the queue tree: the first child of the first queue, down to a job."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pumice.model.facts import Queue
from pumice.model.job import Job
from pumice.model.queues import queue_path
from pumice.session.heap import LiveHeap
from pumice.solver.ranked_jobs import Entry, RankedJobs, RankedLeaf, UidLimit

if TYPE_CHECKING:
    from pumice.session.order import JobHeap
    from pumice.session.session import Session


def takes_jobs(session: Session, name: str) -> bool:
    """Whether a queue can have jobs: it exists, is a leaf, and its parent exists."""
    queue = session.queues.get(name)
    if queue is None or queue.children:
        return False
    return not queue.parent or queue.parent in session.queues


class _Branch:
    """One queue: its child queues, or its jobs."""

    __slots__ = ("children", "dirty", "jobs", "key", "lost", "queue")

    def __init__(self, queue: Queue) -> None:
        self.queue = queue
        self.children: LiveHeap[_Branch] | None = None
        self.jobs: JobHeap | RankedLeaf | None = None
        self.dirty = False
        self.key: Any = None
        """Its key in the order of queues, with its first job; None: not known."""
        self.lost: tuple[Job, ...] = ()
        """Of a leaf, for victims: the jobs taken and the one that would be the next."""

    def __bool__(self) -> bool:
        below = self.jobs if self.children is None else self.children
        return below is not None and len(below) > 0


class QueueTree:
    """Takes jobs from a tree of queues, re-sorting only what reaches the top.

    With ``victims`` the order is reversed: the last job of the last queue comes first.
    ``depth`` limits how many jobs of a leaf queue are considered; ``evicting``: jobs may lose tasks
    while they are in the tree; ``placing``: nothing happens but that the jobs taken are placed. In
    both cases queues are compared by keys where the plugin that orders them gives one.
    """

    def __init__(
        self,
        session: Session,
        jobs: Iterable[Job],
        *,
        victims: bool = False,
        depth: int | None = None,
        evicting: bool = False,
        placing: bool = False,
    ) -> None:
        self._session = session
        self._victims = victims
        self._evicting = evicting
        self._depth = depth
        self._before = session.order.fair_queue_before
        self._branches: dict[str, _Branch] = {}
        self._popped: dict[str, list[Job]] = {}
        """By leaf queue: the victims taken, also when its branch is empty and removed."""
        order = session.order
        by_keys = (placing or evicting) and session.ledger is None and depth is None
        self._queue_key = order.queue_key if by_keys and order.has_job_keys else None
        self._journal = session.cluster.job_journal
        self._seen = len(self._journal)
        self._ties: dict[tuple[str, str], bool] = {}
        """Which of two queues with equal keys goes first."""
        before = self._branch_before if self._queue_key is None else self._branch_before_by_keys
        self._branch_order: Callable[[_Branch, _Branch], bool] = before
        self._root: LiveHeap[_Branch] = LiveHeap(self._branch_order)
        for job in jobs:
            self.push(job)

    @classmethod
    def ranked(
        cls,
        session: Session,
        ranking: RankedJobs,
        keep: Callable[[Job], bool],
        *,
        of_queue: Callable[[str], bool] = lambda name: True,
        more: Iterable[Entry] = (),
        victims: bool = False,
    ) -> QueueTree:
        """A tree of jobs that are sorted already, without those that ``keep`` refuses.

        ``more`` are further jobs with their ranks. The tree is the same as if all jobs were
        pushed in the order of their uids: a queue enters its parent's heap with its first job, and
        is compared there with the queues as they are at that moment.
        """
        tree, limit = cls(session, (), victims=victims, placing=not victims), UidLimit()
        added: dict[str, list[Entry]] = {}
        for entry in more:
            added.setdefault(entry[1].queue, []).append(entry)
        entries, made = ranking.refresh(), dict[str, RankedLeaf]()
        for name in {**entries, **added}:
            if not of_queue(name) or not takes_jobs(session, name):
                continue
            jobs = RankedLeaf(
                entries.get(name, []), keep, session.order.job_key, limit, reverse=victims
            )
            for rank, job in added.get(name, ()):
                jobs.push(job, rank)
            if len(jobs):
                made[name] = jobs
        leaves = [("", name, jobs) for name, jobs in made.items()]
        if len(leaves) > 1:  # a single queue is compared with no other
            leaves = [
                (_first_uid(ranking, name, keep, added.get(name, ())), name, jobs)
                for _, name, jobs in leaves
            ]
        for first, name, jobs in sorted(leaves, key=lambda leaf: leaf[0]):
            limit.uid = first
            tree._forget_keys()
            leaf = tree._branches[name] = _Branch(session.queues[name])
            leaf.jobs = jobs
            tree._link(leaf)
            tree._mark(leaf)
        limit.uid = None
        tree._forget_keys()
        return tree

    def __bool__(self) -> bool:
        return bool(self._root)

    def push(self, job: Job, rank: Any = None) -> None:
        """Add a job; it is ignored if its queue does not exist or has children.

        ``rank`` is its key in the order of jobs, where it is known already.
        """
        if not takes_jobs(self._session, job.queue):
            return
        queue = self._session.queues[job.queue]
        leaf = self._branches.get(queue.name)
        fresh = leaf is None
        if leaf is None:
            leaf = self._branches[queue.name] = _Branch(queue)
            leaf.jobs = self._new_leaf()
        assert leaf.jobs is not None
        if isinstance(leaf.jobs, LiveHeap):
            leaf.jobs.push(job)
            if self._depth is not None and len(leaf.jobs) > self._depth:
                leaf.jobs.drop_last()
        else:
            leaf.jobs.push(job, rank)
        if fresh:
            self._link(leaf)
        self._mark(leaf)

    def _new_leaf(self) -> JobHeap:
        """Jobs of a queue; by keys where the order has them and ``depth`` drops none."""
        order = self._session.order
        if order.has_job_keys and not self._victims and self._depth is None:
            return order.job_heap(evicting=self._evicting)
        return LiveHeap(self._job_before)

    @property
    def by_keys(self) -> bool:
        """Whether queues and jobs are compared by keys."""
        return self._queue_key is not None

    def pop(self) -> Job:
        """Remove the job to serve next and return it."""
        path = self._path_to_next()
        leaf = path[-1]
        assert leaf.jobs is not None
        job = leaf.jobs.pop()
        if self._victims:
            self._popped.setdefault(leaf.queue.name, []).append(job)
            leaf.lost = ()
        self._taken_from(path)
        return job

    def first_of(self, name: str) -> Job | None:
        """The job that is the first of a queue; None: it is empty."""
        leaf = self._branches.get(name)
        return None if leaf is None or leaf.jobs is None else leaf.jobs.peek()

    def pop_run(
        self, name: str, belongs: Callable[[Job], bool], kind: Callable[[Job], Hashable]
    ) -> list[Job]:
        """Remove the first jobs of a queue, as far as they belong and no other queue comes between.

        It is assumed that nothing happens while they are served, and that jobs of one ``kind`` ask
        for the same.
        """
        leaf = self._branches.get(name)
        if leaf is None or leaf.jobs is None or not self.by_keys:
            return []
        jobs, path = leaf.jobs, self._path_to_next()
        run: list[Job] = []
        if path[-1] is leaf:
            stays = self._staying(path, kind)
            while (job := jobs.peek()) is not None and belongs(job) and stays(job):
                run.append(jobs.pop())
        self._taken_from(path)
        return run

    def skip_ranked(self, kind: Callable[[Job], Hashable]) -> bool:
        """Remove the next jobs before one that was added, as far as no other queue comes between.

        Jobs of one ``kind`` ask for the same. False: none was removed.
        """
        path = self._path_to_next()
        leaf = path[-1].jobs
        if not self.by_keys or not isinstance(leaf, RankedLeaf):
            return False
        skipped = leaf.skip_while(self._staying(path, kind))
        self._taken_from(path)
        return skipped

    def _staying(
        self, path: Sequence[_Branch], kind: Callable[[Job], Hashable]
    ) -> Callable[[Job], bool]:
        """Whether no other queue goes before those of the path when a job is the first of it."""
        heaps = [self._root, *[branch.children for branch in path[:-1]]]
        known: dict[Hashable, bool] = {}

        def stays(job: Job) -> bool:
            of_kind = kind(job)
            answer = known.get(of_kind)
            if answer is None:
                answer = known[of_kind] = self._stays_next(path, heaps, job)
            return answer

        return stays

    def _stays_next(
        self, path: Sequence[_Branch], heaps: Sequence[LiveHeap[_Branch] | None], job: Job
    ) -> bool:
        key = self._queue_key
        for branch, heap in zip(path, heaps, strict=True):
            assert heap is not None
            branch.key = None if key is None else key(branch.queue, job)
            if branch.key is None or any(self._branch_order(b, branch) for b in heap.seconds):
                return False
        return True

    def _path_to_next(self) -> list[_Branch]:
        """The branches down to the queue to serve next."""
        path: list[_Branch] = []
        heap: LiveHeap[_Branch] = self._root
        while True:
            top = heap.top
            if top.dirty:
                top.dirty = False
                heap.fix_top()
                continue
            path.append(top)
            if top.children is None:
                return path
            heap = top.children

    def _taken_from(self, path: list[_Branch]) -> None:
        """Jobs were taken from the last branch of a path: those that are empty go."""
        for branch in path:
            branch.key = None
        while path and not path[-1]:
            empty = path.pop()
            above = path[-1].children if path else self._root
            assert above is not None
            above.pop()
            del self._branches[empty.queue.name]
        for branch in path:
            branch.dirty = True

    def __iter__(self) -> Iterator[Job]:
        """The jobs that are left, in no particular order."""
        for branch in self._branches.values():
            if branch.jobs is not None:
                yield from branch.jobs

    def clear(self) -> None:
        """Remove all jobs."""
        self._branches.clear()
        self._root = LiveHeap(self._branch_order)

    def _link(self, branch: _Branch) -> None:
        """Hang a new branch below its parent, making ancestors as needed.

        A queue whose parent is unknown is at the top, as in ``queue_path``.
        """
        queues = self._session.queues
        while (name := branch.queue.parent) and name in queues:
            parent = self._branches.get(name)
            if parent is not None:
                assert parent.children is not None
                parent.children.push(branch)
                return
            parent = self._branches[name] = _Branch(queues[name])
            parent.children = LiveHeap(self._branch_order, [branch])
            branch = parent
        self._root.push(branch)

    def _mark(self, branch: _Branch | None) -> None:
        while branch is not None:
            branch.dirty, branch.key = True, None
            branch = self._branches.get(branch.queue.parent)

    # -- comparisons

    def _job_before(self, left: Job, right: Job) -> bool:
        before = self._session.order.job_before(left, right)
        return not before if self._victims else before

    def _branch_before_by_keys(self, left: _Branch, right: _Branch) -> bool:
        """The same as :meth:`_branch_before`, with keys that are computed once for each change."""
        if self._seen != len(self._journal):
            self._forget_changed()
        l_key = self._new_key(left) if left.key is None else left.key
        r_key = self._new_key(right) if right.key is None else right.key
        if l_key is None or r_key is None:
            return self._branch_before(left, right)
        if l_key != r_key:
            return bool(l_key < r_key)
        pair = left.queue.name, right.queue.name
        first = self._ties.get(pair)
        if first is None:
            first = self._ties[pair] = self._branch_before(left, right)
        return first

    def _new_key(self, branch: _Branch) -> Any:
        """The key of a queue with its first job; None: it is empty, or the plugin abstains."""
        assert self._queue_key is not None
        job = _first(branch)[1]
        branch.key = None if job is None else self._queue_key(branch.queue, job)
        return branch.key

    def _forget_keys(self) -> None:
        for branch in self._branches.values():
            branch.key = None

    def _forget_changed(self) -> None:
        """Forget the keys of queues in which a job has changed, and of those above them."""
        journal, queues = self._journal, self._session.queues
        for name in {job.queue for job in journal[self._seen :]}:
            # A queue whose jobs do not wait has no branch; a queue above it may have one.
            for above in queue_path(queues, name):
                branch = self._branches.get(above.name)
                if branch is not None:
                    branch.key = None
        self._seen = len(journal)

    def _branch_before(self, left: _Branch, right: _Branch) -> bool:
        victims = self._victims
        l_leaf, l_job = _first(left)
        if l_job is None:
            return not victims
        r_leaf, r_job = _first(right)
        if r_job is None:
            return victims
        if victims:
            l_lost, r_lost = self._lost(l_leaf, l_job), self._lost(r_leaf, r_job)
            return not self._before(left.queue, right.queue, None, None, l_lost, r_lost)
        return self._before(left.queue, right.queue, l_job, r_job, (), ())

    def _lost(self, leaf: _Branch, job: Job) -> tuple[Job, ...]:
        """The jobs taken from a leaf and this one: the same tuple until another is the next."""
        if not leaf.lost or leaf.lost[-1] is not job:
            leaf.lost = (*self._popped.get(leaf.queue.name, ()), job)
        return leaf.lost


def _first(branch: _Branch) -> tuple[_Branch, Job | None]:
    """The leaf that is served first below a branch, and its first job; None: it is empty."""
    while branch.children is not None:
        child = branch.children.peek()
        if child is None:
            return branch, None
        branch = child
    return branch, None if branch.jobs is None else branch.jobs.peek()


def _first_uid(
    ranking: RankedJobs, queue: str, keep: Callable[[Job], bool], added: Iterable[Entry]
) -> str:
    """The smallest uid among the jobs of a queue; it has some."""
    uids = [job.uid for _, job in added]
    first = ranking.first_uid(queue, keep)
    return min(uids if first is None else [*uids, first])
