"""Jobs that lack part of their minimum come before jobs that only grow."""

import itertools

import pytest

from pumice.model.facts import SubGroup
from tests.plugins._fair import FairWorld, ask

BELOW, EXACT, ABOVE = "below", "exact", "above"


@pytest.fixture
def plugin():
    world = FairWorld()
    world.node()
    world.queue("q")
    running, waiting = ask(on="n"), ask()
    world.job(BELOW, "q", running, waiting)
    world.job(EXACT, "q", running, waiting, min_member=1)
    world.job(ABOVE, "q", running, running, waiting, min_member=1)
    plugin = world.open("elastic")
    plugin.world = world
    return plugin


@pytest.mark.parametrize("left,right", list(itertools.permutations([BELOW, EXACT, ABOVE], 2)))
def test_below_goes_before_exact_and_exact_before_above(plugin, left, right):
    rank = [BELOW, EXACT, ABOVE]
    l_job, r_job = plugin.world.job_of(left), plugin.world.job_of(right)
    earlier = rank.index(left) < rank.index(right)
    assert (plugin.session.ask.job_order(l_job, r_job) < 0) == earlier
    assert (plugin.job_order_key(l_job) < plugin.job_order_key(r_job)) == earlier


def test_jobs_in_the_same_state_are_equal(plugin):
    job = plugin.world.job_of(ABOVE)
    assert plugin.session.ask.job_order(job, job) == 0


def test_one_pod_set_below_its_minimum_makes_the_job_so():
    world = FairWorld()
    world.node()
    world.queue("q")
    world.job("j", "q", *[ask(on="n", sub_group="a")] * 3, ask(sub_group="b"))
    world.inventory.groups["ns/j"].sub_groups = [SubGroup("a"), SubGroup("b")]
    world.job("exact", "q", ask(on="n"))
    world.open("elastic")
    order = world.session.ask.job_order
    assert order(world.job_of("j"), world.job_of("exact")) < 0


def test_a_pipelined_task_counts_as_active(plugin):
    world = plugin.world
    with world.session.statement() as statement:
        statement.pipeline(world.task("below-1"), 0)
        assert world.session.ask.job_order(world.job_of(BELOW), world.job_of(EXACT)) == 0
