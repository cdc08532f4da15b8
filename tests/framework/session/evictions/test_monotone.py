"""Monotone: no eviction reverses an earlier one, so evictions come to an end."""

from dataclasses import replace

import pytest

from pumice import EvictionLog, PastEviction, Plugin, hookimpl
from pumice.config import EvictionSettings
from pumice.model.task import TaskStatus
from pumice_builtin_actions.allocate import Allocate
from pumice_builtin_actions.reclaim import Reclaim
from pumice_builtin_plugins.predicates import Predicates
from tests.framework._build import World, policy, task
from tests.framework.session.evictions._promises import (
    Cycles,
    evicted,
    gone,
    plan,
    promises,
    why,
)

NOW = World().now


def contest(*past, monotone=True, now=NOW, memory="1h", demand=None):
    """Whether ``want`` may evict ``has`` after these evictions (claimant, victim)."""
    world = World().nodes("a", "b", cpu=1).running("has", "a").running("third", "b").job("want")
    made = promises(monotone=monotone, memory=memory)
    if demand is None and monotone:
        demand = world.session(made).evictions.history.demand
    entries = tuple(PastEviction(f"ns/{c}", f"ns/{v}", NOW, demand or "") for c, v in past)
    world.now = now
    session = world.session(made, eviction_log=EvictionLog(past=entries))
    return plan(session, "want", ["has-t-0"], {"want-t-0": "a"}), session


class TestReversals:
    @pytest.mark.parametrize("monotone", [True, False])
    def test_a_job_is_not_evicted_for_one_that_it_took_from(self, monotone):
        done, session = contest(("has", "want"), monotone=monotone)
        assert done is not monotone
        if monotone:
            assert "ns/has has taken resources from it before" in why(session, "want")

    def test_nor_by_way_of_others(self):
        done, _ = contest(("has", "third"), ("third", "want"))
        assert not done

    def test_the_same_direction_again_is_no_reversal(self):
        done, session = contest(("want", "has"))
        assert done
        assert evicted(session) == ["has-t-0"]

    def test_others_do_not_matter(self):
        done, _ = contest(("third", "want"), ("want", "third"))
        assert done

    def test_jobs_that_are_gone_do_not_matter(self):
        done, session = contest(("has", "left"), ("left", "want"))
        assert done
        assert len(session.evictions.log().past) == 1

    def test_it_is_recorded_once(self):
        _, session = contest(("want", "has"))
        (past,) = session.evictions.log().past
        assert (past.claimant, past.victim) == ("ns/want", "ns/has")

    def test_preemption_inside_a_job_is_none(self):
        world = World().node("a", cpu=1).job("j", tasks=2, min_member=1, on=["a"])
        session = world.session(promises(monotone=True))
        assert plan(session, "j", ["j-t-0"], {"j-t-1": "a"})
        assert session.evictions.log().past == ()


class TestMemory:
    def test_within_its_time_an_eviction_is_remembered_whatever_has_changed(self):
        done, _ = contest(("has", "want"), now=NOW + 60, memory="2m", demand="another")
        assert not done

    def test_after_its_time_it_is_forgotten_if_the_demand_is_another(self):
        done, _ = contest(("has", "want"), now=NOW + 180, memory="2m", demand="another")
        assert done

    def test_after_its_time_it_is_remembered_on_the_same_demand(self):
        done, _ = contest(("has", "want"), now=NOW + 180, memory="2m")
        assert not done

    @pytest.mark.parametrize(
        "change",
        [
            pytest.param(lambda world: world.job("more"), id="job"),
            pytest.param(lambda world: world.node("b"), id="node"),
            pytest.param(lambda world: world.node("a", cpu=8), id="allocatable"),
            pytest.param(lambda world: world.node("a", unschedulable=True), id="cordoned"),
            pytest.param(lambda world: world.queue("q", weight=7), id="queue"),
            pytest.param(lambda world: world.job("want", tasks=2), id="tasks"),
            pytest.param(lambda world: world.job("want", priority=3), id="priority"),
        ],
    )
    def test_what_counts_as_another_demand(self, change):
        def demand():
            return world.session(promises(monotone=True)).evictions.history.demand

        world = World().node("a").job("want")
        before = demand()
        assert demand() == before
        change(world)
        assert demand() != before

    def test_where_a_job_runs_does_not(self):
        worlds = [World().nodes("a", "b").running("j", name) for name in ("a", "b")]
        first, second = (
            world.session(promises(monotone=True)).evictions.history.demand for world in worlds
        )
        assert first == second


@pytest.mark.parametrize("monotone", [True, False])
@pytest.mark.parametrize("settled", [True, False])
def test_no_task_is_evicted_in_the_cycle_in_which_it_was_placed(monotone, settled):
    world = World().node("a", cpu=1).job("new", on=["a"] if settled else ()).job("want")
    session = world.session(promises(monotone=monotone))
    if not settled:
        with session.statement() as statement:
            statement.allocate(task(session, "new-t-0"), 0)
            statement.keep()
        assert task(session, "new-t-0").status is TaskStatus.ALLOCATED
    done = plan(session, "want", ["new-t-0"], {"want-t-0": "a"})
    assert done is (settled or not monotone)
    claimant = session.jobs["ns/want"]
    evictable = session.evictions.evictable(claimant, [task(session, "new-t-0")])
    assert bool(evictable) or monotone


class Anyone(Plugin):
    """Every job is starving, and every task may be reclaimed: no share makes reclaim stop."""

    @hookimpl
    def job_starving(self, job):
        return True

    @hookimpl
    def reclaimable(self, candidates):
        return candidates


def evictions_of_each_other(**switches):
    """The victims of twelve cycles in which two jobs of different queues want one place."""
    world = World().node("a", cpu=1).running("u", "a", queue="x").job("v", queue="y")
    made = policy([Anyone, Predicates], actions=[Allocate, Reclaim])
    made = replace(made, evictions=EvictionSettings(**switches))
    return [gone(one) for one in Cycles(world, made, between="recreate").run(12)]


def test_two_jobs_do_not_evict_each_other_for_ever():
    victims = evictions_of_each_other()
    assert victims[0] == ["u-t-0"]
    assert not any(victims[1:])


def test_without_the_promise_they_do():
    last = evictions_of_each_other(monotone=False)[-4:]
    assert {name for victims in last for name in victims} == {"u-t-0", "v-t-0"}
