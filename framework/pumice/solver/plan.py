"""A plan: a claimant and the victims that would be evicted for it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from pumice.model.job import Job
from pumice.model.task import Task


@dataclass(slots=True, eq=False)
class VictimGroup:
    """Tasks of one job that are evicted together: one surplus task, or the rest of a gang."""

    job: Job
    """The session's job."""
    tasks: list[Task]
    """The tasks that go together."""


@dataclass(slots=True, eq=False)
class VictimJob:
    """All tasks of one job that a plan considers as victims."""

    job: Job
    """The session's job."""
    tasks: list[Task] = field(default_factory=list)
    """The tasks that the plan would take."""


class LostVictims(NamedTuple):
    """Victims of one job of which some will have no node, whatever else a plan does."""

    job: Job
    """The session's job."""
    tasks: Sequence[Task]
    """The job's tasks that the plan evicts."""
    at_least: int
    """So many of them stay without a node."""


class Plan:
    """What a validator is asked about.

    ``preemptor`` is the part of the claimant that is being placed (all of it in the last step).
    ``victims`` holds everything considered so far: by a task's status it is evicted (Releasing),
    moved (Pipelined) or left alone (any other).
    """

    def __init__(
        self, preemptor: Job, recorded: Iterable[VictimGroup], *, allow_consolidating: bool
    ) -> None:
        self.preemptor = preemptor
        """The job that needs resources, as far as it is being placed."""
        self.allow_consolidating = allow_consolidating
        """Whether a victim that is moved to another node counts as unharmed."""
        self.recorded = list(recorded)
        """Victims that earlier steps of the same search needed."""
        self.potential: list[VictimGroup] = []
        """Victims added in this step, in the order in which they were added."""
        self.recorded_uids = {task.uid for group in self.recorded for task in group.tasks}
        """Uids of the recorded victims."""
        self.victims: dict[str, VictimJob] = {}
        """By job uid: everything that has been considered."""
        self._listed: set[str] = set()
        self._groups: dict[str, list[VictimGroup]] = {}
        self._jobs_on: dict[str, dict[str, None]] = {}
        for group in self.recorded:
            self._list(group)

    def add(self, group: VictimGroup) -> None:
        """Consider one more group of victims."""
        self.potential.append(group)
        self._list(group)
        for task in group.tasks:
            self._jobs_on.setdefault(task.node, {})[group.job.uid] = None

    def _list(self, group: VictimGroup) -> None:
        """Count each victim once, whatever groups it is in."""
        self._groups.setdefault(group.job.uid, []).append(group)
        victim = self.victims.get(group.job.uid)
        if victim is None:
            victim = self.victims[group.job.uid] = VictimJob(group.job)
        for task in group.tasks:
            if task.uid not in self._listed:
                self._listed.add(task.uid)
                victim.tasks.append(task)

    @property
    def latest(self) -> Job | None:
        """The job of the victims added last."""
        return self.potential[-1].job if self.potential else None

    @property
    def recorded_tasks(self) -> list[Task]:
        """The recorded victims."""
        return [task for group in self.recorded for task in group.tasks]

    def jobs_on(self, node: str) -> Collection[str]:
        """The uids of the jobs that have a new victim on a node."""
        return self._jobs_on.get(node, ())

    def groups_on(self, node: str) -> list[VictimGroup]:
        """All groups, wherever their tasks are, of the jobs that have a new victim on a node."""
        return [group for uid in self.jobs_on(node) for group in self._groups[uid]]


class NewVictims:
    """Gives each victim of a growing plan once."""

    def __init__(self) -> None:
        self._seen_groups = 0
        self._seen_recorded = False

    def of(self, plan: Plan) -> list[Task]:
        tasks: list[Task] = []
        if not self._seen_recorded:
            self._seen_recorded = True
            tasks += plan.recorded_tasks
        for group in plan.potential[self._seen_groups :]:
            tasks += group.tasks
        self._seen_groups = len(plan.potential)
        return tasks
