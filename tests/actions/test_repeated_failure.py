"""A task like the one that failed last is not tried again, unless something has changed."""

import numpy as np
import pytest

from pumice import FitErrors, Plugin, hookimpl
from pumice.explain import JobLedger
from pumice.ledger import Ledger
from pumice.verdicts import FitError
from pumice_builtin_actions.greedy.failure import Attempt
from pumice_builtin_actions.greedy.repeated_failure import NoVictims, RepeatedFailure
from pumice_builtin_plugins.gang import Gang
from pumice_builtin_plugins.priority import Priority
from tests.framework._build import World, policy, task


@pytest.fixture
def session():
    world = World().node("n", cpu=4).job("running", on=["n"]).job("gang", 2).job("other")
    return world.session(policy([], actions=[]))


def failure_of(session, name="gang-t-0"):
    failure = RepeatedFailure(session)
    failure.record(task(session, name))
    return failure


def test_a_task_of_the_same_gang_would_fail_alike(session):
    assert failure_of(session).covers(task(session, "gang-t-1"))


def test_nothing_is_covered_before_a_failure(session):
    assert not RepeatedFailure(session).covers(task(session, "gang-t-1"))


def test_a_task_of_another_job_may_succeed(session):
    assert not failure_of(session).covers(task(session, "other-t-0"))


@pytest.mark.parametrize(
    "name, value",
    [("priority", 7), ("role", "worker"), ("preemptable", False), ("nominated_node", "n")],
)
def test_a_task_that_differs_may_succeed(session, name, value):
    setattr(task(session, "gang-t-1"), name, value)
    assert not failure_of(session).covers(task(session, "gang-t-1"))


def test_after_an_eviction_or_its_undo_the_task_is_tried_again(session):
    failure = failure_of(session)
    with session.statement() as statement:
        statement.evict(task(session, "running-t-0"), "test")
        assert not failure.covers(task(session, "gang-t-1"))
    assert not failure.covers(task(session, "gang-t-1"))


def test_fit_errors_that_differ_may_leave_other_nodes(session):
    failure, job = failure_of(session), session.jobs["ns/gang"]
    job.fit_errors["gang-t-1"] = FitErrors.for_all(FitError.of("no"), 1)
    assert not failure.covers(task(session, "gang-t-1"))


def test_the_victims_must_come_from_the_same_collection(session):
    failure = failure_of(session)
    assert not failure.covers(task(session, "gang-t-1"), victims=[])


def test_without_the_shortcut_every_task_is_tried(session, monkeypatch):
    monkeypatch.setattr(session, "uses", lambda shortcut: False)
    assert not failure_of(session).covers(task(session, "gang-t-1"))


# -- jobs for which the plugins allow no victim

VICTIMS: list = []
"""Where the victims would come from."""


class Fair(Plugin):
    """Looks at the preemptor, and does not say at what."""

    @hookimpl
    def preemptable(self, preemptor, candidates):
        return []


def jobs(*plugins, priority=0):
    world = World().node("n", cpu=4).job("running", on=["n"]).job("one")
    return world.job("two", priority=priority).session(policy([*plugins], actions=[]))


def refused_to_one(session, *, tried=False, rows=(0,)):
    """Whether a task of the second job is known to fail, after one of the first did."""
    refused, attempt = NoVictims(session), Attempt(np.ones(1, bool))
    attempt.tried = tried
    refused.record(task(session, "one-t-0"), VICTIMS, [np.array([0])], attempt)
    found = refused.like(task(session, "two-t-0"), VICTIMS, [np.array(rows)])
    assert found in (None, attempt)
    return found is not None


def test_a_job_of_the_same_priority_is_refused_the_same_victims():
    assert refused_to_one(jobs(Priority, Gang))


def test_a_job_of_another_priority_is_tried():
    assert not refused_to_one(jobs(Priority, Gang, priority=7))


def test_a_plugin_without_a_key_may_tell_any_two_jobs_apart():
    assert not refused_to_one(jobs(Priority, Fair))


def test_only_where_no_node_came_near():
    assert not refused_to_one(jobs(Priority), tried=True)


def test_only_for_the_same_nodes():
    assert not refused_to_one(jobs(Priority), rows=())


def test_a_job_is_tried_if_only_its_votes_are_recorded():
    session = jobs(Priority)
    session.ledger = JobLedger(["ns/one"])
    assert refused_to_one(session)
    session.ledger = JobLedger(["ns/two"])
    assert not refused_to_one(session)


def test_a_ledger_has_what_was_not_asked_again():
    session = jobs(Priority)
    session.ledger = ledger = Ledger()
    assert refused_to_one(session)
    (event,) = ledger.events()
    assert (event["event"], event["task"], event["like"]) == (
        "repeat",
        "ns/two-t-0",
        "ns/one-t-0",
    )


def test_after_a_change_jobs_are_tried_again():
    session = jobs(Priority)
    refused, attempt = NoVictims(session), Attempt(np.ones(1, bool))
    rows = [np.array([0])]
    refused.record(task(session, "one-t-0"), VICTIMS, rows, attempt)
    with session.statement() as statement:
        statement.evict(task(session, "running-t-0"), "test")
    assert refused.like(task(session, "two-t-0"), VICTIMS, rows) is None
