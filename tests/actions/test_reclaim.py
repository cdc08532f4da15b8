"""reclaim: what a queue may take from other queues, and the state after a failure."""

import pytest

from pumice import Plugin, hookimpl
from pumice_builtin_actions.allocate import Allocate
from pumice_builtin_actions.reclaim import Reclaim
from pumice_builtin_plugins.conformance import Conformance
from pumice_builtin_plugins.drf.plugin import Drf
from pumice_builtin_plugins.gang import Gang
from pumice_builtin_plugins.predicates.plugin import Predicates
from pumice_builtin_plugins.priority import Priority
from pumice_builtin_plugins.proportion.plugin import Proportion
from tests.actions._evictions import crowded_world, evicted, outcome, try_every_node
from tests.framework._build import World, pipelined, policy, reasons

FREE = policy([Gang, Conformance], actions=[Reclaim])


def full_node(tasks: int = 3) -> World:
    """A node that the queue ``a`` fills with tasks of one CPU, above any minimum."""
    world = World().node("n", cpu=tasks)
    return world.job("v", tasks, queue="a", min_member=0, on=["n"] * tasks)


def test_an_eviction_names_the_action_and_the_claimant():
    decisions = full_node().job("w", queue="b").run(FREE)
    (eviction,) = decisions.evictions
    assert (eviction.action, eviction.claimant) == ("reclaim", "ns/w")
    assert (eviction.uid, eviction.node) == ("v-t-2", "n")


@pytest.mark.parametrize("cpu, occurred", [(3, False), (4, True)], ids=["room", "no room"])
def test_a_pipelined_task_records_whether_a_task_was_evicted_for_it(cpu, occurred):
    world = World().node("n", cpu=4).job("v", queue="a", min_member=0, on=["n"])
    (pipelined_task,) = world.job("w", queue="b", cpu=cpu).run(FREE).pipelined
    assert pipelined_task.eviction_occurred is occurred


class TestOverused:
    """Whether a queue is overused is asked once, before its first job."""

    def run(self, answer):
        asked = []

        class Shares(Plugin):
            """Says whether a queue is overused."""

            @hookimpl
            def overused(self, queue):
                asked.append(queue.name)
                return answer(len(asked))

        world = full_node().job("w1", queue="b").job("w2", queue="b")
        decisions = world.run(
            policy([Gang, Conformance, Shares], actions=[Reclaim], on_plugin_error="isolate")
        )
        return asked, pipelined(decisions), reasons(decisions)

    def test_it_is_not_asked_between_the_jobs_of_a_queue(self):
        asked, served, _ = self.run(lambda times: times > 1)
        assert asked == ["b"]
        assert set(served) == {"w1-t-0", "w2-t-0"}

    def test_an_overused_queue_is_skipped(self):
        asked, served, _ = self.run(lambda times: True)
        assert asked == ["b"]
        assert served == {}

    def test_where_the_answer_fails_it_is_asked_again_for_the_next_job(self):
        asked, served, why = self.run(lambda times: 1 // (times - 1) if times == 1 else False)
        assert asked == ["b", "b"]
        assert set(served) == {"w2-t-0"}
        assert "plugin shares (pumice-tests 1.0) failed in overused" in why["w1"]


def test_a_failing_plugin_skips_the_job_and_no_other():
    class Moody(Plugin):
        """Fails for one job, after it has been asked once."""

        asked = 0

        @hookimpl
        def reclaimable(self, reclaimer, candidates):
            if reclaimer.job.name == "w1":
                Moody.asked += 1
                if Moody.asked > 1:
                    raise RuntimeError("fell over")
            return candidates

    world = full_node().job("w1", 2, queue="b").job("w2", queue="b", created=1.0)
    decisions = world.run(
        policy([Gang, Conformance, Moody], actions=[Reclaim], on_plugin_error="isolate")
    )
    assert evicted(decisions) == ["v-t-2"]
    assert set(pipelined(decisions)) == {"w2-t-0"}
    assert "failed in reclaimable: RuntimeError: fell over" in reasons(decisions)["w1"]


def test_a_placement_that_a_plugin_refuses_is_tried_on_the_next_node():
    class Fussy(Plugin):
        """Refuses allocations on one node."""

        @hookimpl
        def on_allocate(self, task):
            return "not there" if task.node == "n1" and task.job.name == "w" else None

    world = World().node("n1", cpu=1).node("n2", cpu=1)
    world.job("v", 2, queue="a", min_member=0, on=["n1", "n2"]).job("w", queue="b")
    decisions = world.run(policy([Gang, Conformance, Fussy], actions=[Reclaim]))
    assert pipelined(decisions) == {"w-t-0": "n2"}
    assert evicted(decisions) == ["v-t-1"]


def test_victims_of_several_queues_go_by_queue_then_job_then_task():
    world = World().node("n", cpu=6)
    for queue in ("a", "c"):
        for number, job in enumerate((f"{queue}1", f"{queue}2")):
            world.job(job, queue=queue, min_member=0, on=["n"], priority=number, cpu=1.5, memory=0)
    decisions = world.job("w", queue="b", cpu=6, memory=0).run(
        policy([Gang, Conformance, Priority], actions=[Reclaim])
    )
    # c would be served after a, and within a queue the job of priority 0 after that of 1.
    assert evicted(decisions) == ["c1-t-0", "c2-t-0", "a1-t-0", "a2-t-0"]


@pytest.mark.parametrize("seed", range(40))
def test_skipping_unreachable_nodes_changes_no_decision(seed, monkeypatch):
    wiring = policy(
        [Priority, Gang, Conformance], [Drf, Predicates, Proportion], actions=[Allocate, Reclaim]
    )
    sums = outcome(crowded_world(seed).run(wiring))
    try_every_node(monkeypatch)
    assert outcome(crowded_world(seed).run(wiring)) == sums
