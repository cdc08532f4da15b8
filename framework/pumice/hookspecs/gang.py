"""The state of a job: valid, enqueued, ready, pipelined, starving."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pumice.combine import All, First, FirstPlugin, FirstTierAll, Notify, Vote
from pumice.hookspecs._point import extension_point

if TYPE_CHECKING:
    from pumice.model.job import Job, SubJob
    from pumice.verdicts import Refusal


class GangSpecs:
    """Gang scheduling and admission: points about a job as a whole."""

    @extension_point(First())
    def job_valid(self, job: Job) -> Refusal | None:
        """Whether the job can be scheduled at all.

        Asked before an action looks at a job; the answer may serve later actions until a task of
        the job changes its status. A Refusal states why not; None: no objection. The first refusal
        decides.

        Default: the job is valid.
        """

    @extension_point(All())
    def job_ready(self, job: Job) -> bool | None:
        """Whether enough tasks of the job are placed to bind them.

        Asked after every placement. False: the job has not reached minAvailable. None: abstain.

        Default: ready, so each task is bound on its own.
        """

    @extension_point(Vote())
    def job_pipelined(self, job: Job) -> int | None:
        """Whether the job would be ready once the resources it waits for are released.

        Asked before evictions made for the job are carried out, and by allocate before it keeps
        tasks that are only pipelined. PERMIT, REJECT, or ABSTAIN (None).

        Default: True.
        """

    @extension_point(All())
    def sub_job_ready(self, sub_job: SubJob) -> bool | None:
        """As ``job_ready``, for one sub-job of a job that has a sub-group policy.

        Default: ready.
        """

    @extension_point(Vote())
    def sub_job_pipelined(self, sub_job: SubJob) -> int | None:
        """As ``job_pipelined``, for one sub-job of a job that has a sub-group policy.

        Default: True.
        """

    @extension_point(FirstTierAll())
    def job_starving(self, job: Job) -> bool | None:
        """Whether the job waits for resources that others may be evicted for.

        Asked by the Volcano actions that evict: only starving jobs preempt or reclaim, and only
        while they starve. All voters of the first tier that has one must say yes.

        Default: False, so nothing is evicted.
        """

    @extension_point(Vote())
    def job_enqueueable(self, job: Job) -> int | None:
        """Whether a pending job that declares its minimum resources may enter the queue.

        Asked by enqueue once per cycle for each pending job. PERMIT, REJECT, or ABSTAIN (None).

        Default: True.
        """

    @extension_point(Notify())
    def job_enqueued(self, job: Job) -> None:
        """enqueue has just admitted the job; its phase is still Pending.

        Called once per admitted job, so that later votes of the cycle can count it.

        Default: nothing happens.
        """

    @extension_point(Notify())
    def pre_job_allocation(self, job: Job) -> None:
        """The next batch of a job is about to be placed, for real or in a simulation.

        Called by the KAI actions at the start of each attempt.

        Default: nothing happens.
        """

    @extension_point(FirstPlugin(), asked=False)
    def target_job(self, jobs: Sequence[Job]) -> Job | None:
        """The job to reserve nodes for.

        Declared for completeness: no action calls it any more.

        Default: None.
        """
