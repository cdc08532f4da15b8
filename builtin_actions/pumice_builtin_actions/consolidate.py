"""Move running tasks closer together so that a job fits that found no room in one piece."""

from __future__ import annotations

from pydantic import Field

from pumice import Action, Job, Plan, Session, Solver, Task, TaskStatus
from pumice.gpu import idle_gpus, mig_memory, releasing_gpus
from pumice.solver import FailedJobs, GangPlacer, QueueTree
from pumice_builtin_actions.solver_action import (
    SolverOptions,
    VictimQueues,
    attempt,
    may_evict,
    waiting_jobs,
)


class Consolidate(Action):
    """Defragment: every task that is moved must have a new place, in whatever queue it is.

    Only preemptible jobs are helped, and only preemptible jobs are moved.
    """

    evicts = True

    class Options(SolverOptions):
        max_preemptees: int = Field(
            16,
            alias="maxNumberConsolidationPreemptees",
            ge=-1,
            description="Most jobs to consider as movable, plus one; 0 is off, -1 no limit.",
        )

    def execute(self, session: Session) -> None:
        limit = self.options.max_preemptees
        if limit == 0:
            return

        queues = VictimQueues(session)

        def victims(claimant: Job) -> QueueTree:
            if limit == -1:
                return queues.make(lambda queue: True, lambda job: job is not claimant)
            accepted = 0

            def movable(job: Job) -> bool:
                nonlocal accepted
                if job is claimant or accepted > limit:
                    return False
                accepted += 1
                return True

            return queues.make_at_once(movable)

        placer = GangPlacer(session)
        solver = Solver(
            session,
            placer,
            victims=victims,
            validator=_all_placed,
            only_moves=True,
            budget=self.options.budget,
            stale_releases=self.options.stale_releases,
        )
        failed = FailedJobs(enabled=self.options.signatures)
        jobs = QueueTree(
            session,
            waiting_jobs(session, lambda job: job.preemptible and may_evict(job)),
            depth=self.options.queue_depth,
            evicting=True,
        )
        while jobs:
            job = jobs.pop()
            with session.turn(job):
                if not failed.worth_trying(job):
                    continue
                batch = placer.batches.to_allocate(job, real=True)
                if not _cluster_has_room(session, batch) or not attempt(session, solver, job):
                    failed.failed(job)


def _all_placed(plan: Plan) -> bool:
    """Whether nobody would be left without a place."""
    return not any(
        task.status is TaskStatus.RELEASING
        for victim in plan.victims.values()
        for task in victim.tasks
    )


def _cluster_has_room(session: Session, batch: list[Task]) -> bool:
    """Whether the GPUs, and the GPU memory, asked for are free somewhere in sum."""
    nodes = session.nodes
    free = idle_gpus(nodes) + releasing_gpus(nodes)
    needed = sum(task.gpu.quota_milli for task in batch) / 1000
    if needed > float(free.sum()) + 1e-9:
        return False
    memory = sum(task.gpu.memory * task.gpu.devices for task in batch) + sum(
        mig_memory(name) * count for task in batch for name, count in task.gpu.mig.items()
    )
    if not memory:
        return True
    per_gpu = [nodes.shares(row).memory_per_gpu for row in range(len(nodes))]
    return bool(memory <= sum(g * m for g, m in zip(free.tolist(), per_gpu, strict=True)))
