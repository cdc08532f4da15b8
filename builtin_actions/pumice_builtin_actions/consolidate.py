"""Move running tasks together so that a job fits for which the free GPUs are too scattered."""

from __future__ import annotations

from collections.abc import Callable

from pydantic import Field

from pumice import Job, Plan, Session, Task, TaskStatus
from pumice.gpu import idle_gpus, mig_memory, releasing_gpus
from pumice.kube import is_healthy
from pumice.solver import GangPlacer, QueueTree
from pumice_builtin_actions.solver_action import SolverAction, SolverOptions
from pumice_builtin_actions.solver_jobs import VictimQueues


class Consolidate(SolverAction):
    """Defragment: every task that is moved must have a new node, in whatever queue it is.

    Only preemptible jobs are helped, and only preemptible jobs are moved.
    """

    only_moves = True
    failures_by_queue = False

    class Options(SolverOptions):
        max_preemptees: int = Field(
            16,
            alias="maxNumberConsolidationPreemptees",
            ge=-1,
            description="Most jobs to consider as movable, plus one; 0 is off, -1 no limit.",
        )

    def execute(self, session: Session) -> None:
        if self.options.max_preemptees:
            super().execute(session)

    def takes(self, job: Job) -> bool:
        return job.preemptible

    def victims(self, session: Session, queues: VictimQueues, claimant: Job) -> QueueTree:
        limit: int = self.options.max_preemptees
        if limit == -1:
            return queues.make(lambda queue: True, lambda job: job is not claimant)
        # KAI lets one job more than the limit through; conformance pins it.
        return queues.make_at_once(lambda job: job is not claimant, most=limit + 1)

    def validator(self, session: Session) -> Callable[[Plan], bool]:
        return _all_placed

    def may_succeed(self, session: Session, job: Job, placer: GangPlacer) -> bool:
        return _enough_gpus(session, placer.batches.to_allocate(job, real=True))


def _all_placed(plan: Plan) -> bool:
    """Whether every victim would have a node."""
    return not any(
        task.status is TaskStatus.RELEASING
        for victim in plan.victims.values()
        for task in victim.tasks
    )


def _enough_gpus(session: Session, batch: list[Task]) -> bool:
    """Whether the GPUs, and the GPU memory, that the batch requests are free in sum.

    KAI counts ready nodes only: not those that are cordoned or have a bad condition.
    """
    nodes = session.nodes
    healthy = nodes.fact_column("kai.healthy", is_healthy, lasting=True)
    free = (idle_gpus(nodes) + releasing_gpus(nodes)) * healthy
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
