"""The victims of one search in the order in which they would be taken."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Set
from typing import NamedTuple

from pumice.model.job import Job
from pumice.model.task import Task
from pumice.solver.plan import VictimGroup
from pumice.solver.queue_tree import QueueTree
from pumice.solver.task_batches import TaskBatches


class _Visit(NamedTuple):
    """One job of the queue tree, and the tasks that would be evicted of it."""

    job: Job
    tasks: list[Task]
    group: VictimGroup | None
    has_more: bool


class VictimSequence:
    """Takes groups of victims from a queue tree once, and gives them again for every step.

    The tree may be read only while nothing is evicted, because its order depends on what is
    allocated; that is why :meth:`look_ahead` may take more groups than are needed at once.
    """

    def __init__(
        self,
        victims: QueueTree,
        batches: TaskBatches,
        recorded: Iterable[str] = (),
        *,
        may_evict: Callable[[list[Task]], bool] = lambda tasks: True,
    ) -> None:
        """``recorded`` are uids of victims of earlier steps: their groups are left out.

        A job of which ``may_evict`` does not allow a group is left alone from then on.
        """
        self._victims = victims
        self._may_evict = may_evict
        self._batches = batches
        self._recorded = frozenset(recorded)
        self._visits: list[_Visit] = []

    def __len__(self) -> int:
        """The number of visits so far."""
        return len(self._visits)

    def group(self, position: int) -> VictimGroup | None:
        """The victims of the visit at a position; None: it has none."""
        return self._visits[position].group

    def look_ahead(self, count: int) -> bool:
        """Visit so many jobs more; whether there was one."""
        victims = self._victims
        before = len(self._visits)
        while victims and len(self._visits) < before + count:
            self._visit()
        return len(self._visits) > before

    def _visit(self) -> None:
        job = self._victims.pop()
        tasks, has_more = self._batches.to_evict(job)
        recorded = self._recorded
        group: VictimGroup | None = None
        if recorded and any(task.uid in recorded for task in tasks):
            left = [t for t in job.tasks.values() if t.uid not in recorded]
            if left:
                self._victims.push(job.subset(left))
        elif not self._may_evict(tasks):
            tasks, has_more = [], False
        else:
            if has_more:
                taken = {task.uid for task in tasks}
                self._victims.push(job.subset(t for t in job.tasks.values() if t.uid not in taken))
            if tasks and tasks[0].job is not None:
                group = VictimGroup(tasks[0].job, tasks)
        self._visits.append(_Visit(job, tasks, group, has_more))

    def serves(self, recorded: Set[str]) -> bool:
        """Whether a new sequence without these victims would make the same visits.

        It would if it pushed the same rest of each job back into the tree: where a visit took
        recorded victims, these are all that is recorded of the job as it came up.
        """
        if self._recorded:
            return self._recorded == recorded
        for job, tasks, _, has_more in self._visits:
            taken = sum(1 for task in tasks if task.uid in recorded)
            if not taken:
                continue
            known = sum(1 for uid in job.tasks if uid in recorded)
            if not taken == len(tasks) == known or not (has_more or known == len(job.tasks)):
                return False
        return True
