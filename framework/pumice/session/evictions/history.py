"""Past evictions: none is reversed, so evictions come to an end while the demand is the same."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from pumice.model.facts import EvictionLog, PastEviction
from pumice.model.job import Job
from pumice.model.task import TaskStatus

if TYPE_CHECKING:
    from pumice.session.session import Session


_SUCCEEDED, _FAILED = TaskStatus.SUCCEEDED, TaskStatus.FAILED


class EvictionHistory:
    """Which job has taken resources from which other.

    A job is not evicted for one that it, or a job it gave way to, has taken resources from. So the
    relation has no cycles, and on a frozen demand evictions end: of the jobs that evict for ever
    one would be evicted by none of the others, and it has only so many tasks to place.
    """

    def __init__(self, session: Session, log: EvictionLog, overdue: Sequence[str] = ()) -> None:
        self._session = session
        self._overdue = overdue
        self._log = log
        self._losers: dict[str, set[str]] = {}
        self._new: list[PastEviction] = []
        self._failed: dict[str, str] = {}
        self._known = list(self._remembered())
        for past in self._known:
            self._add(past)
        for uid, demand in log.failed.items():
            if uid in session.jobs and demand == self.demand:
                self._failed[uid] = demand

    @cached_property
    def demand(self) -> str:
        """A text that stands for the jobs, queues and nodes of the cycle."""
        session = self._session
        queues = [
            (
                (queue.name, queue.parent, queue.weight, queue.priority, queue.state),
                (queue.deserved, queue.guarantee, queue.limit, queue.over_quota_weight),
            )
            for queue in session.queues.values()
        ]
        nodes = [
            (name, node.unschedulable, node.labels, node.taints)
            for name, node in session.cluster.inventory.nodes.items()
        ]
        jobs = session.jobs.values()
        alive = [
            len(job.tasks) - len(job.by_status[_SUCCEEDED]) - len(job.by_status[_FAILED])
            for job in jobs
        ]
        names = [*session.jobs, *[job.queue for job in jobs]]
        facts = repr((queues, nodes, self._overdue, [job.priority for job in jobs], alive))
        # One text of everything, because a text for each job would take four times as long.
        text = "\0".join([facts, *names])
        digest = hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=8)
        digest.update(session.nodes.allocatable.tobytes())
        return digest.hexdigest()

    def _remembered(self) -> Iterable[PastEviction]:
        """The evictions of which both jobs are there, without those that are out of date."""
        session, memory = self._session, self._session.policy.evictions.memory
        for past in self._log.past:
            if past.claimant not in session.jobs or past.victim not in session.jobs:
                continue
            if session.now - past.time <= memory or past.demand == self.demand:
                yield past

    def _add(self, past: PastEviction) -> None:
        self._losers.setdefault(past.claimant, set()).add(past.victim)

    def failure(self, claimant: Job) -> str | None:
        """Why nothing at all may be taken for a job; None: it may."""
        if claimant.uid in self._failed:
            return "its last reservation came to nothing, and nothing has changed since"
        return None

    def reversal(self, claimant: Job, victim: Job) -> str | None:
        """Whether a job that would be evicted has taken resources from the claimant; None: no."""
        if victim.uid not in self._losers or victim is claimant:
            return None
        if self._has_taken(victim.uid, claimant.uid):
            return f"{victim.uid} has taken resources from it before"
        return None

    def _has_taken(self, winner: str, loser: str) -> bool:
        """Whether the winner took resources from the loser, or from a job that did, and so on."""
        seen, pending = {winner}, [winner]
        while pending:
            for uid in self._losers.get(pending.pop(), ()):
                if uid == loser:
                    return True
                if uid not in seen:
                    seen.add(uid)
                    pending.append(uid)
        return False

    def record(self, claimant: Job, victim: Job) -> None:
        """Remember that tasks of a job are evicted for the claimant."""
        if victim is claimant or victim.uid in self._losers.get(claimant.uid, ()):
            return
        past = PastEviction(claimant.uid, victim.uid, self._session.now, self.demand)
        self._new.append(past)
        self._add(past)

    def reservation_failed(self, job: str) -> None:
        """Nothing more is evicted for a job while nothing changes that could help it."""
        self._failed[job] = self.demand

    @property
    def past(self) -> Sequence[PastEviction]:
        """What is remembered at the end of the cycle."""
        return [*self._known, *self._new]

    @property
    def failed(self) -> dict[str, str]:
        """By job: the demand at which its reservation came to nothing."""
        return self._failed
