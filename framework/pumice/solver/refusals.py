"""Which plans a validator will refuse, as far as it is known before a simulation ends."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from pumice.model.job import Job
from pumice.model.task import Task
from pumice.solver.plan import LostVictims, Plan
from pumice.solver.task_batches import TaskBatches

if TYPE_CHECKING:
    from pumice.session.session import Session
    from pumice.solver.steps import Rules


class Refusals:
    """Finds the victims of a trial that cannot all be placed again."""

    def __init__(self, session: Session, rules: Rules, batches: TaskBatches) -> None:
        self._jobs = session.jobs
        self._rules = rules
        self._batches = batches
        self._most: dict[tuple[str, int], int] = {}
        """By job and number of victims: how many of them are placed again at most."""
        self._refused_alone: dict[tuple[str, int], bool] = {}
        """The same: whether the plan is refused if one of the victims is not placed again."""
        self._of_plan: Plan | None = None
        self._recorded_by_job: dict[str, list[Task]] = {}

    def start_step(self) -> None:
        """Forget what is known: in another step a job may have as many, but other victims."""
        self._most.clear()
        self._refused_alone.clear()

    def losses(self, plan: Plan, jobs: Iterable[str], *, shared: bool) -> Losses | None:
        """What a trial loses for sure that evicts the recorded victims and those of these jobs.

        ``shared``: some of them share GPUs. None: nothing can be known.
        """
        rules = self._rules
        if (shared and not rules.exact) or not (rules.only_moves or rules.refuses is not None):
            return None
        victims = self._recorded(plan).copy()
        for uid in jobs:
            victims[uid] = plan.victims[uid].tasks
        lost: dict[str, int] = {}
        for uid, tasks in victims.items():
            if len(tasks) > 1:
                number = len(tasks) - self._max_restored(uid, tasks)
                if number > 0:
                    lost[uid] = number
        return Losses(self._jobs, rules, plan, victims, lost, self._refused_alone)

    def _recorded(self, plan: Plan) -> dict[str, list[Task]]:
        """The recorded victims by job."""
        if self._of_plan is not plan:
            self._of_plan, self._recorded_by_job = plan, {}
            for group in plan.recorded:
                self._recorded_by_job.setdefault(group.job.uid, []).extend(group.tasks)
        return self._recorded_by_job

    def _max_restored(self, uid: str, victims: Sequence[Task]) -> int:
        key = (uid, len(victims))
        most = self._most.get(key)
        if most is None:
            most = self._most[key] = self._batches.max_restored(self._jobs[uid], victims)
        return most


class Losses:
    """The victims of one trial that will have no node, and whether the plan is refused for it."""

    __slots__ = (
        "_jobs",
        "_known",
        "_lost",
        "_plan",
        "_rules",
        "_victims",
        "refused",
    )

    def __init__(
        self,
        jobs: Mapping[str, Job],
        rules: Rules,
        plan: Plan,
        victims: Mapping[str, Sequence[Task]],
        lost: dict[str, int],
        known: dict[tuple[str, int], bool],
    ) -> None:
        """``victims`` by job, and how many of them are ``lost`` at least.

        ``known``: by job and number of victims, whether one loss is too much.
        """
        self._known = known
        self._jobs = jobs
        self._rules = rules
        self._plan = plan
        self._victims = victims
        self._lost = lost
        self.refused = bool(lost) and self._is_refused()
        """Whether the validator refuses the plan, however the simulation goes on."""

    @property
    def certain(self) -> bool:
        """Whether every plan with a loss is refused, so that nobody need be asked."""
        return self._rules.only_moves

    def add(self, job: Job) -> bool:
        """A victim job was not placed again; whether the plan is refused now."""
        self._lost[job.uid] = len(self._victims[job.uid])
        self.refused = self._is_refused()
        return self.refused

    def any_is_refused(self) -> bool:
        """Whether the plan is refused whichever of the victims is not placed again."""
        return self._rules.only_moves or all(
            self._is_refused_alone(uid, tasks) for uid, tasks in self._victims.items()
        )

    def _is_refused_alone(self, uid: str, tasks: Sequence[Task]) -> bool:
        key = (uid, len(tasks))
        refused = self._known.get(key)
        if refused is None:
            refused = self._known[key] = self._refuses([LostVictims(self._jobs[uid], tasks, 1)])
        return refused

    def _is_refused(self) -> bool:
        if self._rules.only_moves:
            return True
        lost, victims = self._lost, self._victims
        return self._refuses(
            [
                LostVictims(self._jobs[uid], victims[uid], lost[uid])
                for uid in self._plan.victims
                if uid in lost
            ]
        )

    def _refuses(self, lost: list[LostVictims]) -> bool:
        refuses = self._rules.refuses
        assert refuses is not None
        return refuses(self._plan.preemptor, lost)
