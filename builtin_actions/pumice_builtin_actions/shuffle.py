"""Shuffle: evict the tasks that plugins want moved, such as those picked by rescheduling."""

from __future__ import annotations

from loguru import logger

from pumice import Action, Session, Task, TaskStatus


class Shuffle(Action):
    """Evict the running tasks that plugins return from ``victim_tasks``, for no particular job.

    Volcano does not ask whether these tasks are preemptable.
    """

    evicts = True
    reads_fit_errors = False
    needs = ("victim_tasks",)

    def execute(self, session: Session) -> None:
        running = [task for job in session.jobs.values() for task in job.having(TaskStatus.RUNNING)]
        victims: list[Task] = []
        with session.turn():
            victims = session.ask.victim_tasks(running)
        for task in victims:
            if task.node not in session.nodes.row_of:
                logger.warning(
                    "shuffle: task {} runs on node {}, which is not in the cluster",
                    task.key,
                    task.node,
                )
                continue
            with session.turn(task.job), session.statement() as statement:
                statement.evict(task, "shuffle")
                statement.commit()
