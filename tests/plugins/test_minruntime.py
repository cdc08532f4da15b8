"""Minimum runtimes that protect started jobs from reclaim and preemption."""

import pytest

from pumice.model.facts import SubGroup
from tests.plugins._fair import FairWorld, ask


@pytest.fixture
def world():
    """A tree d1(a, b), d2(c); every queue has a victim that has run for 60 seconds."""
    world = FairWorld()
    world.node()
    for department in ("d1", "d2"):
        world.queue(department)
    for queue, parent in (("a", "d1"), ("b", "d1"), ("c", "d2")):
        world.queue(queue, parent=parent)
        world.job(f"run-{queue}", queue, ask(on="n"), last_start=world.now - 60)
        world.job(f"new-{queue}", queue, ask())
    return world


def runtime(world, queue, *, preempt=None, reclaim=None):
    world.inventory.queues[queue].preempt_min_runtime = preempt
    world.inventory.queues[queue].reclaim_min_runtime = reclaim


def may_preempt(world, victim, job="new-a"):
    return world.session.ask.preempt_victim_filter(world.job_of(job), world.job_of(victim))


def may_reclaim(world, victim, job="new-a"):
    return world.session.ask.reclaim_victim_filter(world.job_of(job), world.job_of(victim))


class TestPreempt:
    def test_without_any_runtime_no_job_is_protected(self, world):
        world.open("minruntime")
        assert may_preempt(world, "run-a")

    @pytest.mark.parametrize("least,goes", [(59, True), (60, True), (61, False)])
    def test_a_job_is_protected_until_its_time_has_come(self, world, least, goes):
        runtime(world, "a", preempt=least)
        world.open("minruntime")
        assert may_preempt(world, "run-a") == goes

    def test_a_job_that_never_started_is_not_protected(self, world):
        runtime(world, "a", preempt=1000)
        world.inventory.groups["ns/run-a"].last_start = None
        world.open("minruntime")
        assert may_preempt(world, "run-a")

    @pytest.mark.parametrize(
        "times, goes",
        [
            pytest.param({"d1": 1000}, False, id="the nearest ancestor that sets a time counts"),
            pytest.param({"d1": 1000, "a": 0}, True, id="the own time wins over the parent's"),
        ],
    )
    def test_the_nearest_queue_that_sets_a_time_counts(self, world, times, goes):
        for queue, time in times.items():
            runtime(world, queue, preempt=time)
        world.open("minruntime")
        assert may_preempt(world, "run-a") == goes

    @pytest.mark.parametrize(
        "default,goes",
        [("2m", False), ("1w", False), ("30s", True), ("-5m", True), ("soon", True)],
    )
    def test_a_default_holds_where_no_queue_sets_any(self, world, default, goes):
        world.open("minruntime", defaultPreemptMinRuntime=default)
        assert may_preempt(world, "run-a") == goes

    def test_times_for_reclaim_do_not_protect_from_preemption(self, world):
        runtime(world, "a", reclaim=1000)
        world.open("minruntime", defaultReclaimMinRuntime="1h")
        assert may_preempt(world, "run-a")


class TestReclaim:
    """A job of queue ``a`` reclaims; the child of the lowest common ancestor protects."""

    @pytest.mark.parametrize(
        "times, victim, goes",
        [
            pytest.param({"b": 1000}, "run-b", False, id="a sibling by its own time"),
            pytest.param({"c": 1000}, "run-c", True, id="not by a queue below another department"),
            pytest.param({"d2": 1000, "c": 0}, "run-c", False, id="by the other department"),
            pytest.param({"d1": 1000}, "run-b", False, id="by an ancestor of the sibling"),
        ],
    )
    def test_which_queue_protects(self, world, times, victim, goes):
        for queue, time in times.items():
            runtime(world, queue, reclaim=time)
        world.open("minruntime")
        assert may_reclaim(world, victim) == goes

    def test_a_top_queue_without_time_leaves_it_to_the_default(self, world):
        runtime(world, "c", reclaim=0)
        world.open("minruntime", defaultReclaimMinRuntime="10m")
        assert not may_reclaim(world, "run-c")

    def test_with_three_levels_the_child_of_the_lowest_common_ancestor_counts(self, world):
        world.queue("deep", parent="b")
        world.job("run-deep", "deep", ask(on="n"), last_start=world.now - 60)
        runtime(world, "deep", reclaim=1000)
        world.open("minruntime")
        assert may_reclaim(world, "run-deep")
        runtime(world, "b", reclaim=1000)
        runtime(world, "deep", reclaim=0)
        world.open("minruntime")
        assert not may_reclaim(world, "run-deep")

    def test_the_method_queue_asks_the_victims_own_queue_first(self, world):
        runtime(world, "d2", reclaim=1000)
        runtime(world, "c", reclaim=0)
        world.open("minruntime", reclaimResolveMethod="queue")
        assert may_reclaim(world, "run-c")
        runtime(world, "c")
        world.open("minruntime", reclaimResolveMethod="queue")
        assert not may_reclaim(world, "run-c")

    def test_an_unknown_method_is_lca(self, world):
        runtime(world, "c", reclaim=1000)
        world.open("minruntime", reclaimResolveMethod="nearest")
        assert may_reclaim(world, "run-c")


class TestElastic:
    def grown(self, world, minimum=1):
        world.job(
            "elastic",
            "b",
            *[ask(on="n")] * 3,
            min_member=minimum,
            last_start=world.now - 60,
        )
        for queue in ("b", "d1"):
            runtime(world, queue, preempt=1000, reclaim=1000)
        world.open("minruntime")

    def test_a_protected_job_may_still_be_asked_for_its_surplus(self, world):
        self.grown(world)
        assert may_reclaim(world, "elastic")
        assert may_preempt(world, "elastic", job="new-b")

    @pytest.mark.parametrize("point", ["reclaim", "preempt"])
    @pytest.mark.parametrize("taken,fine", [(1, True), (2, True), (3, False)])
    def test_a_protected_job_stays_at_its_minimum(self, world, point, taken, fine):
        self.grown(world)
        victims = [f"elastic-{i}" for i in range(taken)]
        validate = getattr(world.session.ask, f"{point}_scenario_validator")
        assert validate(world.scenario("new-a", *victims)) == fine

    def test_leaving_pods_still_count_as_its_own(self, world):
        self.grown(world, minimum=2)
        with world.session.statement() as statement:
            statement.evict(world.task("elastic-0"), "test")
            validate = world.session.ask.reclaim_scenario_validator
            assert validate(world.scenario("new-a", "elastic-0"))

    @pytest.mark.parametrize("point", ["reclaim", "preempt"])
    def test_an_unprotected_job_may_lose_all_tasks(self, world, point):
        world.job("elastic", "b", *[ask(on="n")] * 2, min_member=1)
        runtime(world, "b", reclaim=1000, preempt=1000)
        world.open("minruntime")
        validate = getattr(world.session.ask, f"{point}_scenario_validator")
        assert validate(world.scenario("new-a", "elastic-0", "elastic-1"))

    @pytest.mark.parametrize("point", ["reclaim", "preempt"])
    def test_a_gang_that_is_not_elastic_is_not_checked_again(self, world, point):
        runtime(world, "b", reclaim=1000, preempt=1000)
        world.open("minruntime")
        validate = getattr(world.session.ask, f"{point}_scenario_validator")
        assert validate(world.scenario("new-a", "run-b-0"))

    def test_every_pod_set_stays_at_its_own_minimum(self, world):
        pods = [ask(on="n", sub_group=name) for name in ("x", "x", "x", "y")]
        world.job("sets", "b", *pods, last_start=world.now - 60)
        world.inventory.groups["ns/sets"].sub_groups = [SubGroup("x"), SubGroup("y")]
        runtime(world, "b", reclaim=1000)
        world.open("minruntime")
        validate = world.session.ask.reclaim_scenario_validator
        assert validate(world.scenario("new-a", "sets-0", "sets-1"))
        assert not validate(world.scenario("new-a", "sets-0", "sets-3"))
