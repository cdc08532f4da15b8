"""Orders of queues, jobs, tasks and GPUs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pumice.combine import Compare, Sum
from pumice.hookspecs._point import extension_point

if TYPE_CHECKING:
    from pumice.model.facts import Queue
    from pumice.model.job import Job, SubJob
    from pumice.model.nodes import NodeView
    from pumice.model.task import Task


class OrderingSpecs:
    """Comparisons answer an int: negative, the left one goes first; 0 or None, abstain."""

    @extension_point(Compare())
    def queue_order(
        self,
        left: Queue,
        right: Queue,
        left_job: Job | None,
        right_job: Job | None,
        left_victims: Sequence[Job],
        right_victims: Sequence[Job],
    ) -> int | None:
        """Which of two queues is served first.

        Asked whenever an action takes the next queue, and again after every job, so the answer
        may depend on what is allocated to the queues now. ``left_job`` and ``right_job`` are the
        first pending jobs of the queues in the KAI actions, else None; the victim lists are
        filled only while these actions choose victims.

        Default: the older queue, then the smaller name.
        """

    @extension_point(Compare(), form_of="queue_order")
    def queue_order_key(self, queue: Queue, job: Job | None) -> Any:
        """The key form of ``queue_order`` without victims: the queue with the smaller key is first.

        Queues with equal keys are compared by ``queue_order``, once for each pair. Give it in
        addition to that, and only if the key of a queue for the same job changes only when a task
        of a job in this queue, or in one below it, changes its status, and if the comparison of
        queues with equal keys depends on nothing that changes in the cycle.

        Default: the comparison is asked.
        """

    @extension_point(Compare())
    def victim_queue_order(self, left: Queue, right: Queue, preemptor_queue: Queue) -> int | None:
        """From which of two queues victims are taken first for a task of ``preemptor_queue``.

        Asked while victims of several queues are sorted. Negative: the left queue's tasks are
        evicted first.

        Default: the queue that ``queue_order`` serves later loses tasks first.
        """

    @extension_point(Compare())
    def job_order(self, left: Job, right: Job) -> int | None:
        """Which of two jobs of a queue is served first.

        Asked whenever an action takes the next job of a queue, and reversed when victims are
        sorted: the job served later is evicted first.

        Default: the job created earlier, then the smaller uid.
        """

    @extension_point(Compare(), form_of="job_order")
    def job_order_key(self, job: Job) -> Any:
        """The key form of ``job_order``: any value that sorts as the comparison would.

        Give it in addition to ``job_order``, and only if the key of a job changes only when a task
        of that job changes its status; jobs are then sorted by keys, which is faster.

        Default: the comparison is asked.
        """

    @extension_point(Compare())
    def task_order(self, left: Task, right: Task) -> int | None:
        """Which of two tasks of a job is placed first.

        Asked when the pending tasks of a job are sorted, and reversed among victims of one job.

        Default: the Volcano actions take the smaller index at the end of the name, then the older
        task, then the smaller uid; the KAI actions the older, then the smaller uid.
        """

    @extension_point(Compare(), form_of="task_order")
    def task_order_key(self, task: Task) -> Any:
        """The key form of ``task_order``: any value that sorts as the comparison would.

        Give it in addition to ``task_order``, and only if the key is constant during a cycle.

        Default: the comparison is asked.
        """

    @extension_point(Compare())
    def sub_job_order(self, left: SubJob, right: SubJob) -> int | None:
        """Which of two sub-jobs of a job is placed first (Volcano's sub-groups).

        Asked when the pending sub-jobs of a job are sorted.

        Default: the smaller match index, then the smaller uid.
        """

    @extension_point(Compare())
    def pod_set_order(self, left: SubJob, right: SubJob) -> int | None:
        """Which of two pod sets of a job grows first, and reversed, which shrinks first.

        Asked by the KAI actions when they choose the tasks of a job to allocate or to evict.

        Default: the smaller name.
        """

    @extension_point(Compare(), asked=False)
    def sub_group_set_order(self, left: SubJob, right: SubJob) -> int | None:
        """Which of two inner sub-groups of a job is placed first.

        Declared for completeness: no action calls it yet.

        Default: the smaller name.
        """

    @extension_point(Compare(), asked=False)
    def cluster_order(self, left: Any, right: Any) -> int | None:
        """Which of two clusters is preferred.

        Declared for completeness: no action calls it.

        Default: the smaller name.
        """

    @extension_point(Sum())
    def gpu_order(self, task: Task, nodes: NodeView, row: int, gpu_group: str) -> float | None:
        """Score one GPU of a node for a task that takes a share of a GPU; higher is better.

        Asked for every GPU group that the share fits into, and with ``gpu_group`` empty for a
        whole free GPU. NaN: not this one.

        Default: 0 for each, so shared GPUs go first, by group name, and whole GPUs last.
        """
