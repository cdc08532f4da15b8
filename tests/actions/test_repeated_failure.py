"""A task like the one that failed last is not tried again, unless something has changed."""

import pytest

from pumice import FitErrors
from pumice.verdicts import FitError
from pumice_builtin_actions.greedy.repeated_failure import RepeatedFailure
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
