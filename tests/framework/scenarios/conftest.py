"""A scenario runner with a few local plugins and actions."""

import pytest

from pumice import Action, Plugin, hookimpl
from pumice.scenarios import Runner


class FirstFit(Action):
    """Places every pending task on the first node with idle room, gang or not."""

    def execute(self, session):
        for job in session.jobs.values():
            with session.turn(job), session.statement() as statement:
                for task in job.pending:
                    choice = session.queries.best(task)
                    if choice is not None:
                        place = statement.allocate if choice.idle else statement.pipeline
                        place(task, choice.row)
                if session.ask.job_ready(job):
                    statement.commit()
                else:
                    statement.keep()


class EvictAll(Action):
    """Evicts whatever runs."""

    def execute(self, session):
        for job in session.jobs.values():
            with session.statement() as statement:
                for task in [t for t in job.tasks.values() if t.status.label == "Running"]:
                    statement.evict(task, "test", claimant=job)
                statement.commit()


class Whole(Plugin):
    """A job is ready when its minimum is."""

    @hookimpl
    def job_ready(self, job):
        return job.is_ready()


class Broken(Plugin):
    @hookimpl
    def predicate(self, task, node):
        raise RuntimeError("out of order")


@pytest.fixture
def runner(catalog):
    catalog.register_local("action", "first-fit", FirstFit)
    catalog.register_local("action", "evict-all", EvictAll)
    catalog.register_local("plugin", "whole", Whole)
    catalog.register_local("plugin", "broken", Broken)
    return Runner(catalog, check=True)
