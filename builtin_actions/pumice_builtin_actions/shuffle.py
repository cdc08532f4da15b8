"""Evict what plugins name for the good of the cluster."""

from __future__ import annotations

from loguru import logger

from pumice import Action, Session, Task, TaskStatus


class Shuffle(Action):
    """Evict the running tasks that the plugins' ``victim_tasks`` name, for nobody in particular."""

    evicts = True
    needs = ("victim_tasks",)

    def execute(self, session: Session) -> None:
        running = [task for job in session.jobs.values() for task in job.having(TaskStatus.RUNNING)]
        victims: list[Task] = []
        with session.turn():
            victims = session.ask.victim_tasks(running)
        for task in victims:
            if task.node not in session.nodes.row_of:
                logger.warning("shuffle: {} runs on {}, which is unknown", task.key, task.node)
                continue
            with session.turn(task.job), session.statement() as statement:
                statement.evict(task, "shuffle")
                statement.commit()
