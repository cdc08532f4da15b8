"""The state of a job: valid, admitted, ready, starving."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pumice.combine import All, First, FirstPlugin, FirstTierAll, Notify, Vote
from pumice.hookspecs._point import extension_point

if TYPE_CHECKING:
    from pumice.model.job import Job, SubJob
    from pumice.verdicts import Refusal


class GangSpecs:
    """Questions about a job as a whole."""

    @extension_point(First())
    def job_valid(self, job: Job) -> Refusal | None:
        """Whether the job can be worked on at all.

        Asked by every action before it looks at a job. A Refusal says why not; None, no
        objection. The first refusal counts.

        Default: the job is valid.
        """

    @extension_point(All())
    def job_ready(self, job: Job) -> bool | None:
        """Whether enough of the job is placed for its binds to be sent.

        Asked after every placement. False: the job has not reached its minimum. None: no opinion.

        Default: ready, so each task is bound by itself.
        """

    @extension_point(Vote())
    def job_pipelined(self, job: Job) -> int | None:
        """Whether the job would be ready once the room it waits for is free.

        Asked before evictions made for the job are carried out, and by allocate before it keeps
        room that is only promised. PERMIT, REJECT, or ABSTAIN (None).

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
        """Whether the job may take room from others.

        Asked by the evicting actions: only starving jobs preempt or reclaim, and only while they
        starve. Within the first tier that has a voter, all must say yes.

        Default: False, so nothing is ever evicted.
        """

    @extension_point(Vote())
    def job_enqueueable(self, job: Job) -> int | None:
        """Whether a pending job that declares its minimum resources may enter the queue.

        Asked by enqueue once a cycle for each pending job. PERMIT, REJECT, or ABSTAIN (None).

        Default: True.
        """

    @extension_point(Notify())
    def job_enqueued(self, job: Job) -> None:
        """The job has just been let in by enqueue; its phase is still the old one.

        Told once per admitted job, so that later votes of the cycle can count it.

        Default: nothing happens.
        """

    @extension_point(Notify())
    def pre_job_allocation(self, job: Job) -> None:
        """A whole job is about to be placed, for real or in a simulation.

        Told by the KAI family at the start of each attempt.

        Default: nothing happens.
        """

    @extension_point(FirstPlugin(), asked=False)
    def target_job(self, jobs: Sequence[Job]) -> Job | None:
        """The job that room should be reserved for.

        Declared for completeness: no action asks it any more.

        Default: None.
        """
