"""Shares, quotas and limits of queues."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pumice.combine import All, Any_, FirstPlugin
from pumice.hookspecs._point import extension_point

if TYPE_CHECKING:
    from pumice.model.facts import Queue
    from pumice.model.job import Job
    from pumice.model.nodes import NodeView
    from pumice.model.resources import Resource
    from pumice.model.task import Task
    from pumice.verdicts import Refusal


class CapacitySpecs:
    """What a queue deserves, and what it may still be given."""

    @extension_point(Any_())
    def overused(self, queue: Queue) -> bool | None:
        """Whether the queue has reached what it deserves.

        Asked by allocate and reclaim when they take the next queue. True: the queue is skipped.

        Default: it has not.
        """

    @extension_point(All())
    def preemptive(self, queue: Queue, tasks: Sequence[Task]) -> bool | None:
        """Whether the queue may reclaim from other queues for these tasks together.

        Asked by reclaim for each task and by gangreclaim for each job. False: it may not.

        Default: it may.
        """

    @extension_point(All())
    def allocatable(self, queue: Queue, task: Task) -> bool | None:
        """Whether the queue may be given this task in addition to what it holds.

        Asked before a task is placed, and by preempt after every eviction. False: the task is
        skipped for the rest of the action.

        Default: it may.
        """

    @extension_point(FirstPlugin(), guards=False)
    def get_queue_allocated_resources(self, queue: Queue) -> Resource | None:
        """What is allocated to the queue, for messages.

        Default: not shown.
        """

    @extension_point(FirstPlugin(), guards=False)
    def get_queue_deserved_resources(self, queue: Queue) -> Resource | None:
        """What the queue deserves, for messages.

        Default: not shown.
        """

    @extension_point(FirstPlugin(), guards=False)
    def get_queue_fair_share(self, queue: Queue) -> Resource | None:
        """The queue's fair share, for messages.

        Default: not shown.
        """

    @extension_point(FirstPlugin())
    def is_non_preemptible_job_over_queue_quota(
        self, job: Job, tasks: Sequence[Task]
    ) -> Refusal | None:
        """Whether a job that cannot be preempted would exceed its queue's quota.

        Asked by the KAI actions before they search for victims, which are jobs that can be
        preempted: what is refused here, ``is_job_over_queue_capacity`` must refuse as well,
        whatever such jobs hold. A Refusal names the queue and the amounts; None: the job fits. Only
        the first plugin is asked.

        Default: it fits.
        """

    @extension_point(FirstPlugin())
    def is_job_over_queue_capacity(self, job: Job, tasks: Sequence[Task]) -> Refusal | None:
        """Whether these tasks of the job would exceed a limit of its queue or of an ancestor.

        Asked by the KAI actions at the start of each attempt to place a job. A Refusal names the
        queue and the amounts; None: it fits. Only the first plugin is asked.

        Default: it fits.
        """

    @extension_point(FirstPlugin())
    def is_task_allocation_on_node_over_capacity(
        self, task: Task, job: Job, nodes: NodeView, row: int
    ) -> Refusal | None:
        """Whether the task, counted as it would be on this node, exceeds a limit of its queue.

        Asked by plugins that filter nodes, because GPU memory is a different share of a GPU on
        different nodes.
        Only the first plugin is asked.

        Default: it fits.
        """
