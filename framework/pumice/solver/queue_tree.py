"""Jobs in the order of the queue tree: the first child of the first queue, down to a job."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from pumice.model.job import Job
from pumice.session.heap import LiveHeap
from pumice.solver.queue_branches import Branch, BranchOrder
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
        by_keys = (placing or evicting) and session.ledger is None and depth is None
        self._session = session
        self._victims = victims
        self._evicting = evicting
        self._depth = depth
        self._order = BranchOrder(session, victims=victims, by_keys=by_keys)
        self._branches: dict[str, Branch] = {}
        self._root = self._order.new_heap()
        if placing or evicting:
            self._fill(jobs)
        else:
            for job in jobs:
                self.push(job)

    def _fill(self, jobs: Iterable[Job]) -> None:
        """Push jobs of the session, whose ranks are known for longer than this tree lives."""
        order, branches = self._session.order, self._branches
        rank = order.job_rank if order.has_job_keys and self._depth is None else None
        for job in jobs:
            leaf = branches.get(job.queue)
            if rank is None:
                self.push(job)
            elif leaf is None or leaf.jobs is None:
                self.push(job, rank(job))
            else:
                leaf.jobs.push(job, rank(job))  # type: ignore[call-arg] # no heap without keys
                # The first job may be another one; the branches above the queue tell by it.
                self._mark(leaf)

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
                entries.get(name, []),
                keep,
                session.order.job_key,
                limit,
                partial(ranking.best_until, name, last=victims),
                partial(ranking.run_end, name),
                reverse=victims,
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
            leaf = tree._branches[name] = Branch(session.queues[name])
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
            leaf = self._branches[queue.name] = Branch(queue)
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
        return LiveHeap(self._order.job_before)

    @property
    def by_keys(self) -> bool:
        """Whether queues and jobs are compared by keys."""
        return self._order.by_keys

    def pop(self) -> Job:
        """Remove the job to serve next and return it."""
        path = self._path_to_next()
        leaf = path[-1]
        assert leaf.jobs is not None
        job = leaf.jobs.pop()
        if self._victims:
            self._order.popped.setdefault(leaf.queue.name, []).append(job)
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
        skipped = leaf.skip_while(self._staying(path, kind), kind)
        self._taken_from(path)
        return skipped

    def _staying(
        self, path: Sequence[Branch], kind: Callable[[Job], Hashable]
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
        self, path: Sequence[Branch], heaps: Sequence[LiveHeap[Branch] | None], job: Job
    ) -> bool:
        order = self._order
        for branch, heap in zip(path, heaps, strict=True):
            assert heap is not None
            branch.key = order.key_with(branch, job)
            if branch.key is None or any(order.before(other, branch) for other in heap.seconds):
                return False
        return True

    def _path_to_next(self) -> list[Branch]:
        """The branches down to the queue to serve next."""
        self._order.forget_changed(self._branches)
        path: list[Branch] = []
        heap = self._root
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

    def _taken_from(self, path: list[Branch]) -> None:
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
        self._root = self._order.new_heap()

    def _link(self, branch: Branch) -> None:
        """Hang a new branch below its parent, making ancestors as needed.

        A queue whose parent is unknown is at the top, as in ``queue_path``.
        """
        self._order.forget_changed(self._branches)
        queues = self._session.queues
        while (name := branch.queue.parent) and name in queues:
            parent = self._branches.get(name)
            if parent is not None:
                assert parent.children is not None
                parent.children.push(branch)
                return
            parent = self._branches[name] = Branch(queues[name])
            parent.children = self._order.new_heap()
            parent.children.push(branch)
            branch = parent
        self._root.push(branch)

    def _mark(self, branch: Branch | None) -> None:
        while branch is not None:
            branch.dirty, branch.key = True, None
            branch = self._branches.get(branch.queue.parent)

    def _forget_keys(self) -> None:
        for branch in self._branches.values():
            branch.key = None


def _first_uid(
    ranking: RankedJobs, queue: str, keep: Callable[[Job], bool], added: Iterable[Entry]
) -> str:
    """The smallest uid among the jobs of a queue; it has some."""
    uids = [job.uid for _, job in added]
    first = ranking.first_uid(queue, keep)
    return min(uids if first is None else [*uids, first])
