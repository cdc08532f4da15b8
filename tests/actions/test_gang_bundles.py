"""Bundles: a job's surplus, what takes it below its minimum, and the eviction order."""

import math
import random
from types import SimpleNamespace

import pytest

from pumice.model.facts import SubGroupPolicy
from pumice.model.task import PREEMPTABLE_STATUSES
from pumice_builtin_actions.gang.bundles import (
    Bundle,
    VictimOrder,
    in_order,
    make_bundles,
    total_order,
)
from pumice_builtin_actions.gang.donors import Donors
from pumice_builtin_plugins.gang import Gang
from tests.actions._evictions import crowded_world
from tests.framework._build import World, amount, policy

WIRING = policy([Gang], actions=[])


def bundles(world: World, job: str = "v"):
    """The bundles of all running tasks of a job, as (whole, names)."""
    session = world.session(WIRING)
    running = [t for t in session.jobs[f"ns/{job}"].tasks.values() if t.node]
    return [(b.whole, [t.uid for t in b.tasks]) for b in make_bundles(running)]


def of_roles(*roles: str, min_member: int, **least: int) -> World:
    world = World().node("n", cpu=9)
    world.job("v", 0, min_member=min_member, min_task_member=least)
    for number, role in enumerate(roles):
        world.pod(f"v-{number}-{role}", "ns/v", node="n", role=role)
    return world


def in_groups(*groups: str, min_groups: int | None, size: int = 1, min_member: int = 0) -> World:
    """Running tasks by the value of their group label; an empty one is of no group."""
    rule = SubGroupPolicy("g", match_label_keys=("group",), size=size, min_sub_groups=min_groups)
    world = World().node("n", cpu=9)
    world.job("v", 0, min_member=min_member, sub_group_policies=[rule])
    for number, group in enumerate(groups):
        world.pod(f"v-{number}", "ns/v", node="n", labels={"group": group} if group else {})
    return world


class TestSurplus:
    def test_what_is_above_the_minimum_can_be_spared_the_lowest_priority_first(self):
        world = World().node("n", cpu=9).job("v", 0, min_member=1)
        for number, priority in enumerate((5, 1, 3)):
            world.pod(f"v-{number}", "ns/v", node="n", priority=priority)
        assert bundles(world) == [(False, ["v-1", "v-2"]), (True, ["v-0"])]

    def test_a_job_that_is_short_already_can_spare_everything(self):
        assert bundles(World().node("n").job("v", 3, on=["n"])) == [(False, ["v-t-0"])]

    def test_a_job_at_its_minimum_can_spare_nothing(self):
        world = World().node("n").job("v", 2, on=["n", "n"])
        assert bundles(world) == [(True, ["v-t-0", "v-t-1"])]

    def test_a_role_at_its_minimum_has_no_surplus(self):
        world = of_roles("a", "b", "b", min_member=2, a=1, b=1)
        assert bundles(world) == [(False, ["v-1-b"]), (True, ["v-0-a", "v-2-b"])]

    def test_minimums_of_roles_above_that_of_the_job_do_not_bind(self):
        world = of_roles("a", "b", min_member=1, a=1, b=1)
        assert bundles(world) == [(False, ["v-0-a"]), (True, ["v-1-b"])]

    def test_a_group_stays_at_its_minimum_of_sub_jobs(self):
        world = in_groups("x", "y", "y", min_groups=1, size=1)
        assert bundles(world) == [(False, ["v-0"]), (True, ["v-1", "v-2"])]

    def test_the_second_task_of_a_sub_job_that_is_broken_anyway_costs_nothing_more(self):
        world = in_groups("x", "x", "y", min_groups=1, size=2)
        # y is not ready, so x is the only one that counts.
        assert bundles(world) == [(False, ["v-2"]), (True, ["v-0", "v-1"])]

    def test_tasks_without_a_group_are_limited_by_no_group(self):
        world = in_groups("x", "", min_groups=1)
        assert bundles(world) == [(False, ["v-1"]), (True, ["v-0"])]


class TestBenefit:
    """The share of the request that an eviction frees, per share of it that is lost."""

    def test_surplus_loses_nothing(self):
        session = World().node("n").job("v", 2, min_member=1, on=["n", "n"]).session(WIRING)
        job = session.jobs["ns/v"]
        need = session.nodes.dimensions.vector(amount(cpu=1))
        assert Bundle(job, list(job.tasks.values()), whole=False).benefit(need) == math.inf

    def test_more_than_is_needed_counts_as_loss_only(self):
        world = World().node("n", cpu=9).job("v", 2, cpu=2, memory=0, on=["n", "n"])
        session = world.session(WIRING)
        job = session.jobs["ns/v"]
        need = session.nodes.dimensions.vector(amount(cpu=2))
        assert Bundle(job, list(job.tasks.values()), whole=True).benefit(need) == pytest.approx(0.5)
        one = [next(iter(job.tasks.values()))]
        assert Bundle(job, one, whole=True).benefit(need) == pytest.approx(0.5)


def test_bundles_of_jobs_that_tie_go_by_benefit_then_by_name():
    world = World().node("n", cpu=99)
    for name, tasks in (("b", 2), ("a", 2), ("big", 4)):
        world.job(name, tasks, cpu=1, memory=0, on=["n"] * tasks)
    session = world.session(WIRING)
    made = [
        bundle for job in session.jobs.values() for bundle in make_bundles(list(job.tasks.values()))
    ]
    need = session.nodes.dimensions.vector(amount(cpu=2))
    ordered = in_order(made, need, VictimOrder(lambda left, right: False))
    assert [bundle.job.name for bundle in ordered] == ["a", "b", "big"]


class TestTotalOrder:
    """One order of many jobs that agrees with every comparison."""

    JOBS = tuple(SimpleNamespace(number=number) for number in (2, 0, 3, 1))

    def test_jobs_are_put_in_order(self):
        ordered = total_order(self.JOBS, lambda left, right: left.number > right.number)
        assert [job.number for job in ordered] == [3, 2, 1, 0]

    def test_jobs_that_tie_have_no_total_order(self):
        assert total_order(self.JOBS, lambda left, right: left.number > right.number + 1) is None

    def test_jobs_that_compare_in_a_cycle_have_no_total_order(self):
        def precedes(left, right):
            return (left.number - right.number) % 3 == 1

        assert total_order([job for job in self.JOBS if job.number < 3], precedes) is None


@pytest.mark.parametrize("seed", range(20))
def test_bundles_of_changed_jobs_are_made_again(seed):
    session = crowded_world(seed).session(WIRING)
    donors, rng = Donors(session, PREEMPTABLE_STATUSES), random.Random(seed)

    def made(job, rows):
        tasks = [
            held.task
            for row in rows
            for held in session.nodes.held[row].values()
            if held.task.job is job and held.task.status in PREEMPTABLE_STATUSES
        ]
        return shown(make_bundles(tasks) if tasks else [])

    def shown(bundles):
        return [(bundle.whole, [task.uid for task in bundle.tasks]) for bundle in bundles]

    running = [t for job in session.jobs.values() for t in job.having(*PREEMPTABLE_STATUSES)]
    every = range(len(session.nodes))
    with session.statement() as statement:
        for task in rng.sample(running, len(running)):
            donors.refresh()
            some = frozenset(rng.sample(every, rng.randint(0, len(every))))
            for job in session.jobs.values():
                assert shown(donors.bundles(job, None)) == made(job, every)
                assert shown(donors.bundles(job, some)) == made(job, some)
            statement.evict(task, "test")
