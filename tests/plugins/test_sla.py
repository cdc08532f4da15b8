"""Waiting times of jobs."""

import pytest

from pumice import ABSTAIN, PERMIT
from pumice.errors import PolicyError

_OWN = "volcano.sh/sla-waiting-time"


def overdue(world, waiting_time="0s", **annotations):
    """The votes for a job that was created two minutes ago."""
    world.job("j", created=world.now - 120, annotations=annotations)
    sla = world.open("sla", **{"sla-waiting-time": waiting_time})
    job = world.job_of("j")
    assert sla.job_enqueueable(job) == sla.job_pipelined(job)
    return sla.job_enqueueable(job)


@pytest.mark.parametrize(
    "waiting_time, vote",
    [("2m", PERMIT), ("1m30s", PERMIT), ("2m0.001s", ABSTAIN), ("1h", ABSTAIN), ("-1h", ABSTAIN)],
)
def test_a_job_that_has_waited_long_enough_is_let_in(world, waiting_time, vote):
    assert overdue(world, waiting_time) == vote


@pytest.mark.parametrize("waiting_time", ["soon", "-5m", "0s", "5", ""])
def test_an_annotation_that_says_nothing_is_as_if_there_were_none(world, waiting_time):
    assert overdue(world, "1m", **{_OWN: waiting_time}) == PERMIT
    assert overdue(world, "1h", **{_OWN: waiting_time}) == ABSTAIN


def test_a_malformed_option_is_an_error_of_the_policy(world):
    with pytest.raises(PolicyError, match="'sla-waiting-time' should be a duration like"):
        world.open("sla", **{"sla-waiting-time": "soon"})


def test_the_job_own_waiting_time_wins(world):
    assert overdue(world, "1m", **{_OWN: "1h"}) == ABSTAIN
    assert overdue(world, "1h", **{_OWN: "1m"}) == PERMIT


def test_the_old_name_of_the_annotation_counts_where_the_new_is_absent(world):
    assert overdue(world, **{"sla-waiting-time": "1m"}) == PERMIT
    assert overdue(world, **{"sla-waiting-time": "1m", _OWN: "1h"}) == ABSTAIN


def test_jobs_go_by_deadline_and_those_without_one_last(world):
    world.job("none", created=1)
    world.job("late", created=100, annotations={_OWN: "2h"})
    world.job("soon", created=200, annotations={_OWN: "1h"})
    sla = world.open("sla")
    none, late, soon = (world.job_of(name) for name in ("none", "late", "soon"))
    assert sla.job_order(soon, late) < 0 < sla.job_order(none, late)
    assert sla.job_order(none, none) == 0
    assert sorted([none, late, soon], key=sla.job_order_key) == [soon, late, none]
