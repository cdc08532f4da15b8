"""Protected: a plugin's reason is final, whatever tier it stands in and whichever action asks."""

from dataclasses import replace

import pytest

from pumice import EvictionKind, Plugin, hookimpl
from pumice.config import load_policy, policy_from_dict
from pumice.discovery import Catalog
from tests.framework._build import World, task
from tests.framework.session.evictions._promises import (
    GREEDY,
    Cycles,
    evicted,
    gone,
    plan,
    promises,
    why,
)


class TenMinutes(Plugin):
    """Nothing that has started less than ten minutes ago is evicted."""

    @hookimpl
    def protected(self, task):
        started = task.pod.start_time
        if started is None or self.session.now - started >= 600:
            return None
        return "it has run for less than ten minutes"


class Watching(Plugin):
    """Records what it is asked."""

    @hookimpl
    def on_session_open(self):
        self.asked = []

    @hookimpl
    def protected(self, task, context):
        self.asked.append((task.name, context))


def catalog():
    found = Catalog()
    found.register_local("plugin", "tenminutes", TenMinutes)
    return found


def started(minutes):
    """A full node whose pod has run for so long; a job of higher priority waits."""
    world = World().node("a", cpu=1)
    pod = {"start_time": world.now - 60 * minutes}
    return world.running("low", "a", priority=1, pod=pod).job("want", priority=5)


@pytest.mark.parametrize("minutes, gone_", [(9, []), (11, ["low-t-0"])])
@pytest.mark.parametrize("first", [True, False])
def test_an_authors_never_is_heard_in_the_preset_volcano(minutes, gone_, first):
    """Volcano's own promises are all off there, and other tiers name the pod as a victim."""
    preset = load_policy(preset="volcano", env={}).raw
    own = {"plugins": ["tenminutes"]}
    tiers = [own, *preset["tiers"]] if first else [*preset["tiers"], own]
    policy = policy_from_dict({**preset, "tiers": tiers}, catalog=catalog())
    assert not policy.evictions.protected
    (decisions,) = Cycles(started(minutes), policy).run()
    assert gone(decisions) == gone_


CRITICAL = {"priority_class": "system-cluster-critical"}


@pytest.mark.parametrize("protected", [True, False])
def test_a_later_tier_does_not_overrule_it(protected):
    """conformance refuses all candidates of its tier, so the next tier is asked independently."""
    world = World().node("a", cpu=4)
    world.running("core", "a", tasks=2, cpu=2, min_member=1, queue="x", pod=CRITICAL)
    world.job("want", queue="y")
    tiers = [
        {"plugins": ["priority", "gang", "conformance"]},
        {"plugins": ["predicates", "proportion"]},
    ]
    policy = policy_from_dict({**GREEDY, "tiers": tiers, "evictions": {"protected": protected}})
    (decisions,) = Cycles(world, policy).run()
    assert gone(decisions) == ([] if protected else ["core-t-1"])


@pytest.mark.parametrize("protected", [True, False])
@pytest.mark.parametrize(
    "name", ["capacity", "cdp", "conformance", "fairshare", "minruntime", "pdb", "proportion"]
)
def test_built_in_plugins_answer_where_the_policy_says_so(name, protected):
    config = {"actions": ["allocate"], "tiers": [{"plugins": [name]}]}
    policy = policy_from_dict({**config, "evictions": {"protected": protected}})
    assert policy.plugins[0].answers("protected") is protected


class TestTheQuestion:
    def asked(self, claimant, victims, places, world, **switches):
        session = world.session(promises(Watching, atomic=True, **switches))
        assert plan(session, claimant, victims, places)
        return session.plugins["watching"].asked

    def test_a_job_of_the_same_queue_preempts(self):
        world = World().node("a", cpu=1).running("low", "a").job("want")
        ((name, context),) = self.asked("want", ["low-t-0"], {"want-t-0": "a"}, world)
        assert (name, context.kind) == ("low-t-0", EvictionKind.TASK_PREEMPT)
        assert context.job.name == "want"

    def test_a_job_of_another_queue_reclaims(self):
        world = World().node("a", cpu=1).running("low", "a").job("want", queue="other")
        ((_, context),) = self.asked("want", ["low-t-0"], {"want-t-0": "a"}, world)
        assert context.kind is EvictionKind.TASK_RECLAIM

    def test_a_victim_with_another_place_moves(self):
        world = World().nodes("a", "b", cpu=1).running("low", "a").job("want")
        places = {"low-t-0": "b", "want-t-0": "a"}
        ((_, context),) = self.asked("want", ["low-t-0"], places, world)
        assert context.kind is EvictionKind.MOVE

    def test_all_victims_of_the_plan_are_named(self):
        world = World().node("a", cpu=2).running("u", "a").running("v", "a").job("want", cpu=2)
        asked = self.asked("want", ["u-t-0", "v-t-0"], {"want-t-0": "a"}, world)
        assert [name for name, _ in asked] == ["u-t-0", "v-t-0"]
        for _, context in asked:
            assert [victim.name for victim in context.victims] == ["u-t-0", "v-t-0"]

    def test_spared_victims_are_not_asked_about(self):
        world = World().node("a", cpu=2).running("u", "a").running("v", "a").job("want")
        victims = ["u-t-0", "v-t-0"]
        asked = self.asked("want", victims, {"want-t-0": "a"}, world, minimal=True)
        assert len(asked) == 1

    def test_an_eviction_for_no_job(self):
        session = World().node("a").running("low", "a").session(promises(Watching))
        with session.statement() as statement:
            statement.evict(task(session, "low-t-0"), "rebalance")
            assert statement.commit()
        ((_, context),) = session.plugins["watching"].asked
        assert (context.kind, context.job) == (EvictionKind.NO_CLAIMANT, None)


def test_one_protected_victim_refuses_the_plan_and_the_reason_names_it():
    session = started(1).session(promises(TenMinutes))
    assert not plan(session, "want", ["low-t-0"], {"want-t-0": "a"})
    assert evicted(session) == []
    assert "ns/low-t-0 is protected: it has run for less than ten minutes" in why(session, "want")


def test_searching_actions_leave_it_out():
    world = started(1)
    session = world.session(promises(TenMinutes))
    low = task(session, "low-t-0")
    assert session.evictions.evictable(session.jobs["ns/want"], [low]) == []


@pytest.mark.parametrize("action", ["preempt", "gangpreempt", "solve_preempt"])
@pytest.mark.parametrize("minutes, gone_", [(9, []), (11, ["low-t-0"])])
def test_every_family_of_actions_asks(action, minutes, gone_):
    tiers = [{"plugins": ["priority", "tenminutes"]}, {"plugins": ["gang", "predicates"]}]
    tiers[1]["plugins"] += ["fairshare"] if action == "solve_preempt" else []
    policy = policy_from_dict({"actions": [action], "tiers": tiers}, catalog=catalog())
    world = started(minutes)
    world.inventory.groups["ns/low"] = replace(world.inventory.groups["ns/low"], min_member=0)
    (decisions,) = Cycles(world, policy).run()
    assert gone(decisions) == gone_
