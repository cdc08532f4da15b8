"""The jobs of every queue in order, updated as they change instead of sorted again."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Hashable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

from pumice.model.cursors import JobCursor
from pumice.model.job import Job

if TYPE_CHECKING:
    from pumice.session.session import Session

Entry = tuple[Any, Job]


class RankedJobs:
    """The jobs of a session that satisfy a condition, by queue, the first to serve first.

    Keys and membership are updated from the cluster's journal of jobs, which has every change of a
    task's status. The order must be by keys (see ``job_order_key``).
    """

    def __init__(self, session: Session, member: Callable[[Job], bool]) -> None:
        self._session = session
        self._member = member
        self._by_queue: dict[str, list[Entry]] = {}
        self._by_uid: dict[str, list[Job]] = {}
        """The same jobs in the order of their uids."""
        self._best_of: dict[tuple[str, bool], list[Entry]] = {}
        """By queue, and whether the last is wanted: the best of the first jobs by uid, for the
        first one, the first two and so on, as far as it was asked for."""
        self._runs: dict[str, list[int]] = {}
        """By queue, for each position: where the run of jobs of one kind ends that it is in."""
        self._rank_of: dict[str, Any] = {}
        self._changes = JobCursor(session.cluster.job_journal)
        key = session.order.job_rank
        for job in session.jobs.values():
            if member(job):
                rank = self._rank_of[job.uid] = key(job)
                self._by_queue.setdefault(job.queue, []).append((rank, job))
                self._by_uid.setdefault(job.queue, []).append(job)
        for entries in self._by_queue.values():
            entries.sort(key=_rank)
        for jobs in self._by_uid.values():
            jobs.sort(key=_uid)

    def refresh(self) -> dict[str, list[Entry]]:
        """The entries of each queue as they are now; the lists are never changed again."""
        replaced: set[str] = set()
        for job in self._changes.changed():
            self._update(job, replaced)
        return self._by_queue

    def first_uid(self, queue: str, keep: Callable[[Job], bool]) -> str | None:
        """The smallest uid among the jobs of a queue that ``keep`` accepts."""
        return next((job.uid for job in self._by_uid.get(queue, ()) if keep(job)), None)

    def best_until(self, queue: str, uid: str, *, last: bool) -> Entry | None:
        """The first to serve of a queue among the jobs up to a uid; ``last``: the last one."""
        jobs = self._by_uid.get(queue, [])
        count = bisect_right(jobs, uid, key=_uid)
        if not count:
            return None
        best, rank_of = self._best_of.setdefault((queue, last), []), self._rank_of
        for job in islice(jobs, len(best), count):
            entry = rank_of[job.uid], job
            if best and (best[-1][0] > entry[0] if last else best[-1][0] < entry[0]):
                entry = best[-1]
            best.append(entry)
        return best[count - 1]

    def run_end(self, queue: str, position: int, kind: Callable[[Job], Hashable]) -> int:
        """Where the run of jobs of one kind ends that has this position of the queue's entries.

        To be asked about the entries of the last :meth:`refresh`.
        """
        runs = self._runs.get(queue)
        if runs is None:
            entries = self._by_queue[queue]
            runs = self._runs[queue] = [0] * len(entries)
            end, later = len(entries), None
            for at in range(len(entries) - 1, -1, -1):
                own = kind(entries[at][1])
                if own != later:
                    end, later = at + 1, own
                runs[at] = end
        return runs[position]

    def _update(self, job: Job, replaced: set[str]) -> None:
        old = self._rank_of.get(job.uid)
        new = self._session.order.job_rank(job) if self._member(job) else None
        if old is not None or new is not None:
            self._runs.pop(job.queue, None)
        if old == new:
            return
        if job.queue not in replaced:  # trees hold the lists
            replaced.add(job.queue)
            self._by_queue[job.queue] = self._by_queue.get(job.queue, []).copy()
            for last in (False, True):
                self._best_of.pop((job.queue, last), None)
        entries = self._by_queue[job.queue]
        if (old is None) != (new is None):
            jobs = self._by_uid.setdefault(job.queue, [])
            place = bisect_left(jobs, job.uid, key=_uid)
            jobs[place : place + (new is None)] = [] if new is None else [job]
        if old is not None:
            del entries[bisect_left(entries, old, key=_rank)]
            del self._rank_of[job.uid]
        if new is not None:
            insort(entries, (new, job), key=_rank)
            self._rank_of[job.uid] = new


def _rank(entry: Entry) -> Any:
    return entry[0]


def _uid(job: Job) -> str:
    return job.uid


class UidLimit:
    """While a tree is built: jobs with a larger uid are not in it yet."""

    __slots__ = ("uid",)

    def __init__(self) -> None:
        self.uid: str | None = None
        """None: all jobs are in the tree."""


class RankedLeaf:
    """The jobs of one queue, taken in order from a sorted list, with others added meanwhile.

    A job that ``keep`` refuses is passed over; ``keep`` is asked once, when the job comes up.
    """

    __slots__ = (
        "_accepted",
        "_added",
        "_best_until",
        "_entries",
        "_first",
        "_keep",
        "_key",
        "_limit",
        "_position",
        "_reverse",
        "_run_end",
    )

    def __init__(
        self,
        entries: list[Entry],
        keep: Callable[[Job], bool],
        key: Callable[[Job], Any],
        limit: UidLimit,
        best_until: Callable[[str], Entry | None],
        run_end: Callable[[int, Callable[[Job], Hashable]], int],
        *,
        reverse: bool,
    ) -> None:
        """``best_until`` answers the next entry among the jobs up to a uid.

        ``run_end`` answers where a run of jobs of one kind ends.
        """
        self._limit = limit
        self._best_until = best_until
        self._run_end = run_end
        self._entries = entries
        self._keep = keep
        self._key = key
        self._reverse = reverse
        self._position = len(entries) - 1 if reverse else 0
        self._accepted = -1
        """The last position that ``keep`` accepted."""
        self._added: list[Entry] = []
        self._first: tuple[Entry, bool] | None = None
        """The next entry, until a job is added or taken."""

    def _ranked_top(self) -> Entry | None:
        entries, keep = self._entries, self._keep
        step = -1 if self._reverse else 1
        while 0 <= self._position < len(entries):
            entry = entries[self._position]
            if self._position == self._accepted:
                break
            if keep(entry[1]):
                self._accepted = self._position
                break
            self._position += step
        else:
            return None
        limit = self._limit.uid
        if limit is None or entry[1].uid <= limit:
            return entry
        best = self._best_until(limit)
        if best is None or keep(best[1]):
            return best
        later = range(self._position + step, -1 if self._reverse else len(entries), step)
        among = (entries[position] for position in later)
        return next((entry for entry in among if entry[1].uid <= limit and keep(entry[1])), None)

    def _added_top(self) -> Entry | None:
        if not self._added:
            return None
        choose, limit = max if self._reverse else min, self._limit.uid
        added = self._added if limit is None else [e for e in self._added if e[1].uid <= limit]
        return choose(added, key=_rank, default=None)

    def _best(self) -> tuple[Entry, bool] | None:
        """The next entry, and whether it is one that was added."""
        if self._limit.uid is not None:
            return self._compare_tops()
        if self._first is None:
            self._first = self._compare_tops()
        return self._first

    def _compare_tops(self) -> tuple[Entry, bool] | None:
        ranked, added = self._ranked_top(), self._added_top()
        if ranked is None or added is None:
            return (ranked, False) if ranked else (added, True) if added else None
        added_first = added[0] > ranked[0] if self._reverse else added[0] < ranked[0]
        return (added, True) if added_first else (ranked, False)

    def __len__(self) -> int:
        """0 for an empty leaf, else 1."""
        return 1 if self._added or self._ranked_top() is not None else 0

    def __iter__(self) -> Iterator[Job]:
        """The jobs that are left, in no particular order."""
        position = self._position
        left = self._entries[: position + 1] if self._reverse else self._entries[position:]
        return (job for _, job in [*left, *self._added] if self._keep(job))

    @property
    def top(self) -> Job:
        best = self._best()
        assert best is not None
        return best[0][1]

    def peek(self) -> Job | None:
        """The first job; None: the leaf is empty."""
        best = self._best()
        return None if best is None else best[0][1]

    def skip_while(self, condition: Callable[[Job], bool], kind: Callable[[Job], Hashable]) -> bool:
        """Pass over the next jobs that satisfy a condition, up to one that was added.

        Only where the first to serve comes first. The condition is the same for all jobs of a kind.
        Whether any was passed over.
        """
        added, keep, entries = self._added_top(), self._keep, self._entries
        start = position = self._position
        while position < len(entries):
            rank, job = entries[position]
            if added is not None and added[0] < rank:
                break
            if not keep(job):
                position += 1
                continue
            if not condition(job):
                break
            end = self._run_end(position, kind)
            if added is not None and end > position + 1 and added[0] < entries[end - 1][0]:
                end = bisect_right(entries, added[0], position, end, key=_rank)
            position = end
        self._position, self._first = position, None
        return position != start

    def push(self, job: Job, rank: Any = None) -> None:
        self._added.append((self._key(job) if rank is None else rank, job))
        self._first = None

    def pop(self) -> Job:
        best = self._best()
        assert best is not None
        entry, added = best
        self._first = None
        if added:
            self._added.remove(entry)
        else:
            self._position += -1 if self._reverse else 1
        return entry[1]
