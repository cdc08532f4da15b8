"""gangreclaim: what a queue may reclaim for whole jobs, and from which queues."""

import pytest

from pumice import Plugin, hookimpl
from pumice.verdicts import EvictionKind
from pumice_builtin_actions.gangreclaim import Gangreclaim
from pumice_builtin_plugins.capacity.plugin import Capacity
from pumice_builtin_plugins.conformance import Conformance
from pumice_builtin_plugins.gang import Gang
from pumice_builtin_plugins.predicates.plugin import Predicates
from pumice_builtin_plugins.priority import Priority
from tests.actions._evictions import crowded_world, evicted
from tests.framework._build import World, pipelined, policy, reasons

TIER = [Priority, Gang, Conformance]


def busy(**facts) -> World:
    """Two jobs of queue ``a`` fill a node; a job of queue ``b`` requests half of it."""
    world = World().node("n", cpu=4)
    for name in ("v1", "v2"):
        world.job(name, 2, queue="a", on=["n", "n"], priority=9)
    return world.job("w", 2, queue="b", **facts)


def run(world, *plugins, **settings):
    return world.run(policy([*TIER, *plugins], actions=[Gangreclaim], **settings))


def test_an_eviction_names_the_action_and_the_claimant():
    decisions = run(busy())
    assert {(e.action, e.claimant) for e in decisions.evictions} == {("gangreclaim", "ns/w")}
    assert evicted(decisions) == ["v1-t-0", "v1-t-1"]
    assert set(pipelined(decisions)) == {"w-t-0", "w-t-1"}


def test_plugins_are_asked_about_all_pending_tasks_together():
    asked, contexts = [], []

    class Listens(Plugin):
        """Allows everything."""

        @hookimpl
        def preemptive(self, queue, tasks):
            asked.append((queue.name, [task.name for task in tasks]))
            return True

        @hookimpl
        def unified_evictable(self, context, candidates):
            contexts.append((context.kind, context.job.name))
            return candidates

    run(busy(), Listens)
    assert asked == [("b", ["w-t-0", "w-t-1"])]
    assert contexts == [(EvictionKind.GANG_RECLAIM, "w")]


def test_a_failing_plugin_skips_the_job_and_no_other():
    class Moody(Plugin):
        """Raises when asked whether the first job's queue is overused."""

        @hookimpl
        def on_session_open(self):
            self.asked = 0

        @hookimpl
        def overused(self, queue):
            self.asked += 1
            return 1 // 0 if self.asked == 1 else False

    world = busy(created=1.0).job("x", queue="b", created=2.0)
    decisions = run(world, Moody, on_plugin_error="isolate")
    assert set(pipelined(decisions)) == {"x-t-0"}
    assert "failed in overused" in reasons(decisions)["w"]


@pytest.mark.parametrize("seed", range(40))
def test_accounts_stay_consistent_in_random_clusters(seed):
    decisions = crowded_world(seed).run(policy(TIER, [Capacity, Predicates], actions=[Gangreclaim]))
    claimants = {one.task.rpartition("-t-")[0] for one in decisions.pipelined}
    assert {eviction.claimant for eviction in decisions.evictions} <= claimants
