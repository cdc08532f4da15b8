"""Atomic: nothing is evicted without a complete plan."""

import pytest

from pumice import Plugin, Refusal, hookimpl
from tests.framework._build import World
from tests.framework.session.evictions._promises import evicted, plan, promises, why

both = pytest.mark.parametrize("atomic", [True, False])


class Repelled(Plugin):
    """No node takes the tasks of ``want`` beside tasks of ``keep``."""

    @hookimpl
    def predicate(self, task, node):
        beside = any(uid.startswith("keep") for uid in node.table.held[node.row])
        return "repelled" if task.name.startswith("want") and beside else None


class Full(Plugin):
    """The queue of ``want`` may not be allocated anything."""

    @hookimpl
    def allocatable(self, queue, task):
        return queue.name != "full"


class FullOnNode(Plugin):
    @hookimpl
    def is_task_allocation_on_node_over_capacity(self, task, job, nodes, row):
        return Refusal("Full", "its quota is used up") if task.name.startswith("want") else None


def full_node(**want):
    """Node ``a`` is full: one task that must stay, one that may go."""
    world = World().node("a", cpu=2).running("keep", "a").running("go", "a")
    return world.job("want", **want)


class TestTheClaimant:
    @both
    def test_needs_a_place(self, atomic):
        session = full_node().session(promises(atomic=atomic))
        assert plan(session, "want", ["go-t-0"], {}) is not atomic
        assert evicted(session) == ([] if atomic else ["go-t-0"])

    @both
    def test_a_filter_refuses_the_node_after_the_evictions(self, atomic):
        session = full_node().session(promises(Repelled, atomic=atomic))
        assert plan(session, "want", ["go-t-0"], {"want-t-0": "a"}) is not atomic
        assert evicted(session) == ([] if atomic else ["go-t-0"])

    @both
    def test_its_queue_is_at_its_limit(self, atomic):
        session = full_node(queue="full").session(promises(Full, atomic=atomic))
        assert plan(session, "want", ["go-t-0"], {"want-t-0": "a"}) is not atomic

    @both
    def test_its_queue_has_no_quota_for_the_node(self, atomic):
        session = full_node().session(promises(FullOnNode, atomic=atomic))
        assert plan(session, "want", ["go-t-0"], {"want-t-0": "a"}) is not atomic

    @both
    def test_the_node_has_too_little_room_after_the_evictions(self, atomic):
        session = full_node(cpu=2).session(promises(atomic=atomic))
        assert plan(session, "want", ["go-t-0"], {"want-t-0": "a"}) is not atomic

    @both
    def test_its_gang_is_not_complete(self, atomic):
        session = full_node(tasks=2).session(promises(atomic=atomic))
        assert plan(session, "want", ["go-t-0"], {"want-t-0": "a"}) is not atomic

    def test_gets_the_reason_and_everything_is_undone(self):
        session = full_node(tasks=2).session(promises(atomic=True))
        session.current_action = "preempt"
        plan(session, "want", ["go-t-0"], {"want-t-0": "a"})
        assert why(session, "want") == (
            "preempt evicts nothing for it: the evictions would not complete the gang that they"
            " are for"
        )
        assert session.cluster.tasks["want-t-0"].status.name == "PENDING"
        assert session.cluster.tasks["go-t-0"].status.name == "RUNNING"

    def test_another_node_will_do(self):
        """The plan is made again where its node refuses the claimant and another does not."""
        world = full_node().node("b", cpu=1)
        session = world.session(promises(Repelled, atomic=True))
        assert plan(session, "want", ["go-t-0"], {"want-t-0": "a"})
        assert session.cluster.tasks["want-t-0"].node == "b"

    def test_verified_placements_are_not_asked_again(self):
        session = full_node().session(promises(Repelled, atomic=True))
        assert plan(session, "want", ["go-t-0"], {"want-t-0": "a"}, verified=True)

    def test_a_complete_plan_is_carried_out(self):
        session = full_node().session(promises(atomic=True))
        assert plan(session, "want", ["go-t-0"], {"want-t-0": "a"})
        assert evicted(session) == ["go-t-0"]


class TestGangsOfVictims:
    def gang(self, min_member=2, **facts):
        """A gang of two on nodes ``a`` and ``b``; one of its places is enough for ``want``."""
        world = World().nodes("a", "b", cpu=1)
        return world.running("gang", ["a", "b"], min_member=min_member, **facts).job("want")

    @pytest.mark.parametrize(
        "atomic, gone", [(True, ["gang-t-0", "gang-t-1"]), (False, ["gang-t-0"])]
    )
    def test_the_rest_goes_too(self, atomic, gone):
        session = self.gang().session(promises(atomic=atomic))
        assert plan(session, "want", ["gang-t-0"], {"want-t-0": "a"})
        assert evicted(session) == gone

    def test_what_it_has_beyond_its_minimum_goes_alone(self):
        session = self.gang(min_member=1).session(promises(atomic=True))
        assert plan(session, "want", ["gang-t-0"], {"want-t-0": "a"})
        assert evicted(session) == ["gang-t-0"]

    def test_a_rest_that_is_not_preemptable_refuses_the_plan(self):
        world = self.gang()
        world.inventory.pods["gang-t-1"].annotations["volcano.sh/preemptable"] = "false"
        session = world.session(promises(atomic=True))
        assert not session.cluster.tasks["gang-t-1"].preemptable
        assert not plan(session, "want", ["gang-t-0"], {"want-t-0": "a"})
        assert "a gang would be left below its minimum" in why(session, "want")

    @both
    def test_evictions_for_no_job_do_not_break_a_gang(self, atomic):
        session = self.gang().session(promises(atomic=atomic))
        with session.statement() as statement:
            statement.evict(session.cluster.tasks["gang-t-0"], "rebalance")
            assert statement.commit() is not atomic

    def test_evictions_for_no_job_may_end_a_gang(self):
        session = self.gang().session(promises(atomic=True))
        with session.statement() as statement:
            for name in ("gang-t-0", "gang-t-1"):
                statement.evict(session.cluster.tasks[name], "rebalance")
            assert statement.commit()
