"""Reserved: what evictions free is held for the claimant across cycles."""

from dataclasses import replace

import pytest

from pumice import EvictionLog, Plugin, Reservation, ReservedTask, hookimpl
from pumice.config import SchedulerSettings
from pumice.model.task import TaskStatus
from pumice.session.evictions import honour_reservations
from tests.framework._build import World, bound, pipelined, reasons
from tests.framework.session.evictions._promises import (
    Cycles,
    evicted,
    gone,
    greedy,
    plan,
    promises,
)

HELD = {"want-t-0": "a"}


def preempting(**switches):
    """``want`` preempts ``low`` on node ``a``, which takes three cycles to go."""
    world = World().node("a", cpu=1).running("low", "a", priority=1).job("want", priority=5)
    return Cycles(world, greedy(**switches), eviction_takes=3)


def let_urgent_arrive(cycles):
    """A job that ranks before ``want``."""
    urgent = World().job("urgent", priority=9).inventory
    facts = cycles.backend.snapshot()
    cycles.alter(
        pods={**facts.pods, **urgent.pods},
        groups={**facts.groups, **urgent.groups},
        priority_classes={**facts.priority_classes, **urgent.priority_classes},
    )


def log(cycles):
    return cycles.backend.snapshot().eviction_log


class TestTheLog:
    def test_a_plan_leaves_a_reservation(self):
        cycles = preempting(reservation="1m")
        now = cycles.backend.now()
        cycles.run()
        task = ReservedTask("want-t-0", "a")
        assert log(cycles).reservations == {"ns/want": Reservation("ns/want", (task,), now + 60)}

    def test_no_reservation_is_left_when_the_task_is_bound(self):
        cycles = preempting()
        decisions = cycles.run(6)
        assert bound(decisions[4]) == HELD
        assert not log(cycles).reservations

    def test_without_the_promise_there_is_none(self):
        cycles = preempting(reserved=False)
        cycles.run()
        assert not log(cycles).reservations

    def test_a_plan_that_grows_counts_the_generation_up(self):
        world = World().nodes("a", "b", cpu=1).running("u", "a").running("v", "b")
        world.job("want", tasks=2, min_member=1)
        session = world.session(promises(reserved=True))
        assert plan(session, "want", ["u-t-0"], {"want-t-0": "a"})
        assert session.evictions.log().reservations["ns/want"].generation == 1
        assert plan(session, "want", ["v-t-0"], {"want-t-1": "b"})
        reservation = session.evictions.log().reservations["ns/want"]
        assert reservation.generation == 2
        assert [one.node for one in reservation.tasks] == ["a", "b"]

    def test_the_scheduler_remembers_it_for_a_backend_that_stores_nothing(self):
        cycles = preempting()
        cycles.run()
        cycles.alter(eviction_log=None)
        (second,) = cycles.run()
        assert pipelined(second) == HELD


class TestWhileTheVictimTerminates:
    def test_the_claimant_is_pipelined_again_and_nothing_more_is_evicted(self):
        cycles = preempting()
        decisions = cycles.run(5)
        assert [gone(one) for one in decisions] == [["low-t-0"], [], [], [], []]
        assert [pipelined(one) for one in decisions[:4]] == [HELD] * 4
        assert bound(decisions[4]) == HELD

    @pytest.mark.parametrize("reserved", [True, False])
    def test_nothing_else_is_placed_there(self, reserved):
        """A job that comes later and ranks before the claimant does not get its resources."""
        cycles = preempting(reserved=reserved)
        cycles.run()
        let_urgent_arrive(cycles)
        decisions = cycles.run(4)
        (winner,) = {name for one in decisions for name in bound(one)}
        assert winner == ("want-t-0" if reserved else "urgent-t-0")

    @pytest.mark.parametrize("reserved, victims", [(True, 1), (False, 2)])
    def test_one_victim_is_enough_for_one_claim(self, reserved, victims):
        """Without a reservation a job that comes later takes the first victim's place."""
        world = World().nodes("a", "b", cpu=1).running("u", "a", priority=1)
        world.running("v", "b", priority=2).job("want", priority=5)
        cycles = Cycles(world, greedy(reserved=reserved), between="recreate", eviction_takes=3)
        cycles.run()
        let_urgent_arrive(cycles)
        cycles.run(6)
        evictions = [one for cycle in cycles.backend.history for one in cycle.evictions]
        assert [one.claimant for one in evictions].count("ns/want") == victims


class TestTheEnd:
    def test_after_the_deadline(self):
        cycles = preempting(reservation="15s")
        cycles.run(2)
        (third,) = cycles.run()
        assert "it has taken too long" in reasons(third)["want"]
        assert not log(cycles).reservations

    def test_the_node_is_gone(self):
        world = World().node("a", cpu=1).node("b", cpu=1).running("low", "a", priority=1)
        world.running("top", "b", priority=7).job("want", priority=5)
        cycles = Cycles(world, greedy(), eviction_takes=3)
        cycles.run()
        facts = cycles.backend.snapshot()
        nodes = {name: node for name, node in facts.nodes.items() if name != "a"}
        cycles.alter(nodes=nodes)
        (second,) = cycles.run()
        assert "node a is gone" in reasons(second)["want"]
        assert not log(cycles).reservations

    def test_the_node_does_not_take_the_task_any_more(self):
        cycles = preempting()
        cycles.run()
        facts = cycles.backend.snapshot()
        cycles.alter(nodes={"a": replace(facts.nodes["a"], unschedulable=True)})
        (second,) = cycles.run()
        assert "what was freed for it is no longer held: node a" in reasons(second)["want"]

    def test_a_reservation_that_was_used_ends_silently(self):
        """The job has another task, which waits: nothing failed, and more may be evicted for it."""
        world = World().nodes("a", "b", cpu=1).running("low", "a", priority=1)
        world.running("top", "b", priority=9).job("want", tasks=2, min_member=1, priority=5)
        cycles = Cycles(world, greedy(), eviction_takes=3)
        decisions = cycles.run(7)
        assert bound(decisions[4]) == HELD
        assert not any("no longer held" in reasons(one)["want"] for one in decisions)
        assert not log(cycles).reservations
        assert not log(cycles).failed

    def test_the_fault_of_a_plugin_does_not_end_it(self):
        class Fails(Plugin):
            @hookimpl
            def pre_predicate(self, task):
                raise RuntimeError("not today")

        world = World().node("a", cpu=1).running("low", "a").job("want")
        isolating = SchedulerSettings(on_plugin_error="isolate")
        policy = replace(promises(Fails, reserved=True, monotone=True), scheduler=isolating)
        reservation = Reservation("ns/want", (ReservedTask("want-t-0", "a"),), world.now + 60)
        known = EvictionLog(reservations={"ns/want": reservation})
        session = world.session(policy, eviction_log=known)
        honour_reservations(session)
        assert session.plugin_errors
        assert session.evictions.log() == known

    def test_the_rest_of_the_gang_was_evicted_meanwhile(self):
        """One of its two tasks was to move to ``a``; the other lost its place and finds none."""
        world = World().node("a", cpu=1).job("gang", tasks=2).job("other")
        reservation = Reservation("ns/gang", (ReservedTask("gang-t-0", "a"),), world.now + 60)
        known = EvictionLog(reservations={"ns/gang": reservation})
        session = world.session(promises(reserved=True, monotone=True), eviction_log=known)
        honour_reservations(session)
        assert session.cluster.tasks["gang-t-0"].status is TaskStatus.PENDING
        assert session.evictions.log() == EvictionLog()

    def test_the_job_is_gone(self):
        cycles = preempting()
        cycles.run()
        facts = cycles.backend.snapshot()
        groups = {uid: group for uid, group in facts.groups.items() if uid != "ns/want"}
        cycles.alter(groups=groups, pods={"low-t-0": facts.pods["low-t-0"]})
        cycles.run()
        assert not log(cycles)

    def test_nothing_more_is_evicted_for_the_job_until_something_changes(self):
        session = World().node("a", cpu=1).running("low", "a").job("want")
        policy = promises(reserved=True, monotone=True)
        demand = session.session(policy).evictions.history.demand
        failed = EvictionLog(failed={"ns/want": demand})
        opened = session.session(policy, eviction_log=failed)
        assert not plan(opened, "want", ["low-t-0"], HELD)
        changed = EvictionLog(failed={"ns/want": "another"})
        opened = session.session(policy, eviction_log=changed)
        assert plan(opened, "want", ["low-t-0"], HELD)
        assert evicted(opened) == ["low-t-0"]

    @pytest.mark.parametrize("change", [{"labels": {"zone": "x"}}, {"taints": ({"key": "k"},)}])
    def test_a_change_of_what_a_node_admits_is_a_change(self, change):
        world = World().node("a", cpu=1).job("want")
        policy = promises(monotone=True)
        before = world.session(policy).evictions.history.demand
        nodes = world.inventory.nodes
        nodes["a"] = replace(nodes["a"], **change)
        assert world.session(policy).evictions.history.demand != before


def test_a_new_pod_takes_the_place_of_one_that_was_replaced():
    cycles = preempting()
    cycles.run()
    facts = cycles.backend.snapshot()
    pods = dict(facts.pods)
    pods["new"] = replace(pods.pop("want-t-0"), uid="new", name="new")
    cycles.alter(pods=pods)
    decisions = cycles.run(4)
    assert [pipelined(one) for one in decisions[:3]] == [{"new": "a"}] * 3
    assert not any(gone(one) for one in decisions)
    assert bound(decisions[3]) == {"new": "a"}


class TestWhileATaskThatMovesTerminates:
    """``moves`` leaves node ``a``; its place on ``b`` is held. ``want`` runs beside none of it."""

    def session(self, **second):
        world = World().nodes("a", "b", cpu=1).running("moves", "a", tasks=2, min_member=1)
        world.job("want")
        for name, node in world.inventory.nodes.items():
            world.inventory.nodes[name] = replace(node, labels={"host": name})
        pods, made = world.inventory.pods, world.now - 30
        pods["moves-t-0"] = replace(pods["moves-t-0"], deleted=made, labels={"app": "moves"})
        pods["moves-t-1"] = replace(
            pods["moves-t-1"], node_name="", phase="Pending", start_time=None, **second
        )
        term = {"labelSelector": {"matchLabels": {"app": "moves"}}, "topologyKey": "host"}
        rule = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
        pods["want-t-0"] = replace(pods["want-t-0"], affinity={"podAntiAffinity": rule})
        policy = promises(reserved=True, atomic=True)
        deadline = made + policy.evictions.reservation
        held = Reservation("ns/moves", (ReservedTask("moves-t-0", "b"),), deadline)
        session = world.session(policy, eviction_log=EvictionLog({"ns/moves": held}))
        honour_reservations(session)
        return session

    def test_its_place_is_held(self):
        session = self.session(created=0)
        task = session.cluster.tasks["moves-t-0"]
        assert (task.status, task.node) == (TaskStatus.PIPELINED, "b")
        assert session.cluster.tasks["moves-t-1"].status is TaskStatus.PENDING
        assert not session.decisions.binds
        assert "ns/moves" in session.evictions.log().reservations

    def test_plans_are_made_for_when_it_has_left_its_old_node(self):
        session = self.session(created=0)
        want, rows = session.cluster.tasks["want-t-0"], session.nodes.row_of

        def refused():
            assert session.queries.prepare(want) is None
            return [node for node in "ab" if session.queries.predicate(want, rows[node])]

        assert refused() == ["a", "b"]
        with session.evictions.leaving.gone():
            assert refused() == ["b"]
        assert refused() == ["a", "b"]

    def test_a_pod_that_its_controller_made_meanwhile_takes_the_place(self):
        session = self.session(created=World().now - 20)
        assert session.cluster.tasks["moves-t-0"].status is TaskStatus.RELEASING
        assert [(bind.uid, bind.node) for bind in session.decisions.binds] == [("moves-t-1", "b")]
