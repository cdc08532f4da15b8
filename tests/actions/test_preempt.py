"""preempt: checks before, between and after evictions, and the state after a failure."""

import pytest

from pumice import Plugin, hookimpl
from pumice.verdicts import Code, FitError, NodeVerdicts
from pumice_builtin_actions.allocate import Allocate
from pumice_builtin_actions.preempt import Preempt
from pumice_builtin_plugins.conformance import Conformance
from pumice_builtin_plugins.drf.plugin import Drf
from pumice_builtin_plugins.gang import Gang
from pumice_builtin_plugins.nodeorder.plugin import NodeOrder
from pumice_builtin_plugins.predicates.plugin import Predicates
from pumice_builtin_plugins.priority import Priority
from pumice_builtin_plugins.proportion.plugin import Proportion
from tests.actions._evictions import crowded_world, evicted, outcome, try_every_node, with_options
from tests.framework._build import World, pipelined, plugin_entry, policy, reasons

TIER = [Priority, Gang, Conformance]
PLAIN = policy(TIER, actions=[Preempt])


def full_node(tasks: int = 3, name: str = "n", job: str = "v") -> World:
    """A node full of tasks of one CPU that are above any minimum and of low priority."""
    world = World().node(name, cpu=tasks)
    return world.job(job, tasks, min_member=0, on=[name] * tasks)


def test_an_eviction_names_the_action_and_the_claimant():
    decisions = full_node().job("w", priority=5).run(PLAIN)
    (eviction,) = decisions.evictions
    assert (eviction.action, eviction.claimant) == ("preempt", "ns/w")
    assert (eviction.uid, eviction.node) == ("v-t-2", "n")
    assert decisions.pipelined[0].eviction_occurred


def test_evicting_best_effort_tasks_alone_does_not_count_as_an_eviction():
    world = World().node("n", pods=1).job("v", min_member=0, cpu=0, memory=0, on=["n"])
    decisions = world.job("w", priority=5).run(PLAIN)
    assert evicted(decisions) == ["v-t-0"]
    assert not decisions.pipelined[0].eviction_occurred


def test_a_preemptor_that_has_lost_tasks_meanwhile_is_served_sooner():
    """Its share is smaller now, so c gets what b would have got."""
    world = World().node("n", cpu=3, labels={"room": "n"}).node("m", cpu=3, labels={"room": "m"})
    world.job("v", 3, on=["m"] * 3)
    for name in "abc":
        world.job(name, tasks=0, min_member=2, priority=5).pod(
            f"{name}-t-0", f"ns/{name}", node="n"
        )
        for number in range(1, 4):
            world.pod(f"{name}-t-{number}", f"ns/{name}", node_selector={"room": "m"})
    world.job("first", priority=20, pod={"node_selector": {"room": "n"}})
    tiers = policy(
        [
            Priority,
            plugin_entry(Gang, disable=["preemptable"]),
            plugin_entry(Drf, disable=["preemptable"]),
        ],
        [Predicates],
        actions=[Preempt],
    )
    gains = [(e.uid, e.claimant) for e in world.run(tiers).evictions]
    assert gains == [
        ("c-t-0", "ns/first"),
        ("v-t-2", "ns/a"),
        ("v-t-1", "ns/c"),
        ("v-t-0", "ns/c"),
    ]


class Crowded(Plugin):
    """Accepts a node that holds at most so many tasks which stay."""

    class Options(Plugin.Options):
        most: int = 1
        code: int = Code.UNSCHEDULABLE

    @hookimpl(scope="row")
    def predicate(self, task, node):
        staying = [other for other in node.tasks if other.status.label == "Running"]
        if len(staying) > self.options.most:
            return FitError.of("too crowded", Code(self.options.code))
        return None


def test_filters_are_asked_again_after_every_eviction():
    world = World().node("n", cpu=8).job("v", 3, min_member=0, on=["n"] * 3).job("w", priority=5)
    decisions = world.run(policy([*TIER, Crowded], actions=[Preempt]))
    assert evicted(decisions) == ["v-t-2", "v-t-1"]


def test_a_node_that_never_passes_rolls_back_its_evictions():
    world = World().node("n", cpu=8).job("v", 3, min_member=0, on=["n"] * 3).job("w", priority=5)
    decisions = world.run(policy([*TIER, plugin_entry(Crowded, most=-1)], actions=[Preempt]))
    assert evicted(decisions) == []
    assert pipelined(decisions) == {}


@pytest.mark.parametrize("code", [Code.UNRESOLVABLE, Code.ERROR, Code.WAIT, Code.SKIP])
def test_a_node_whose_refusal_no_eviction_resolves_is_not_tried(code):
    world = World().node("n", cpu=8).job("v", 3, min_member=0, on=["n"] * 3).job("w", priority=5)
    decisions = world.run(policy([*TIER, plugin_entry(Crowded, code=code)], actions=[Preempt]))
    assert evicted(decisions) == []


class TestErrorCache:
    """A node that failed for one task of a role stays out for the next ones of that role."""

    class Warms(Plugin):
        """Refuses every node at first, and none after the first question."""

        @hookimpl
        def on_session_open(self):
            self.asked = 0

        @hookimpl
        def predicate_nodes(self, task, nodes):
            self.asked += 1
            verdicts = NodeVerdicts.accept(len(nodes))
            if self.asked == 1:
                verdicts.codes[:] = Code.UNRESOLVABLE
            return verdicts

    def run(self, role, enabled="true"):
        world = full_node().job("w", 0, min_member=1, priority=5)
        for number in range(2):
            world.pod(f"w-{number}", "ns/w", role=role)
        wiring = policy([*TIER, self.Warms], actions=[Preempt])
        return evicted(
            world.run(
                with_options(wiring, Preempt, predicateErrorCacheEnable=enabled), verify=False
            )
        )

    def test_it_holds_for_the_whole_action(self):
        assert self.run(role="worker") == []

    def test_it_can_be_switched_off(self):
        assert self.run(role="worker", enabled="false") == ["v-t-2"]

    def test_tasks_without_a_role_are_asked_again(self):
        assert self.run(role="") == ["v-t-2"]


def test_a_failing_plugin_skips_the_job_and_no_other():
    class Moody(Plugin):
        """Raises for one job."""

        @hookimpl
        def preemptable(self, preemptor, candidates):
            if preemptor.job.name == "w1":
                raise RuntimeError("fell over")
            return candidates

    world = full_node().job("w1", priority=9).job("w2", priority=5)
    decisions = world.run(policy([*TIER, Moody], actions=[Preempt], on_plugin_error="isolate"))
    assert evicted(decisions) == ["v-t-2"]
    assert set(pipelined(decisions)) == {"w2-t-0"}
    assert "failed in preemptable: RuntimeError: fell over" in reasons(decisions)["w1"]


def test_preemptions_inside_a_job_before_the_first_failure_stay():
    world = World().node("n", cpu=1).job("j", 0, min_member=4)
    world.pod("j-a-0", "ns/j", node="n", priority=1)
    world.pod("j-a-1", "ns/j", priority=9).pod("j-a-2", "ns/j", priority=5, cpu=9)
    world.pod("j-a-3", "ns/j", priority=4)
    wiring = policy([Priority, plugin_entry(Gang, disable=["preemptable"])], actions=[Preempt])
    decisions = world.run(wiring)
    assert evicted(decisions) == ["j-a-0"]
    assert pipelined(decisions) == {"j-a-1": "n"}


def test_between_jobs_a_job_does_not_evict_its_own_tasks():
    """Inside the job the first pod fails, which ends the job's turn."""
    world = World().node("n", cpu=1).job("j", 0, min_member=0)
    world.pod("j-a-0", "ns/j", node="n", priority=1)
    world.pod("j-a-1", "ns/j", priority=9, cpu=99).pod("j-a-2", "ns/j", priority=8)
    assert evicted(world.run(policy([Priority], actions=[Preempt]))) == []


class TestNominatedNode:
    """A task with a nominated node does not preempt again for it."""

    def run(self, *plugins, **lone):
        """With a pod of no job on the node, which is described by ``lone``."""
        world = World().node("n", cpu=1).job("v", min_member=0, on=["n"])
        world.pod("x", node="n", cpu=0, memory=0, **lone)
        world.job("w", priority=5, pod={"nominated_node": "n"})
        return evicted(world.run(policy([*TIER, *plugins], actions=[Preempt])))

    def test_it_waits_while_the_node_passes_the_filters(self):
        assert self.run() == []

    def test_it_preempts_where_the_node_does_not_pass_and_no_pod_is_terminating(self):
        assert self.run(Crowded) == ["v-t-0"]

    def test_it_tries_other_nodes_where_no_eviction_can_make_the_node_pass(self):
        world = full_node(1, "n").node("other", cpu=1).job("x", min_member=0, on=["other"])
        world.job("w", priority=5, pod={"nominated_node": "n"})

        class Dead(Plugin):
            """Refuses one node whatever is evicted."""

            @hookimpl(scope="static")
            def predicate(self, task, node):
                return FitError.of("dead", Code.UNRESOLVABLE) if node.name == "n" else None

        assert evicted(world.run(policy([*TIER, Dead], actions=[Preempt]))) == ["x-t-0"]

    @pytest.mark.parametrize(
        "reason, priority, taken",
        [
            pytest.param("PreemptionByScheduler", 0, [], id="preempted and lower"),
            pytest.param("PreemptionByScheduler", 7, ["v-t-0"], id="preempted and higher"),
            pytest.param("DeletionByTaintManager", 0, ["v-t-0"], id="leaves for another reason"),
        ],
    )
    def test_it_waits_for_a_pod_that_terminates_after_a_preemption(self, reason, priority, taken):
        condition = {"type": "DisruptionTarget", "status": "True", "reason": reason}
        lone = {"deleted": 1.0, "conditions": (condition,), "priority": priority}
        assert self.run(plugin_entry(Crowded, most=0), **lone) == taken


class Bound(Plugin):
    """Lets a queue hold so many tasks."""

    class Options(Plugin.Options):
        most: int = 2

    @hookimpl
    def allocatable(self, queue, task):
        running = [t for job in self.session.jobs.values() for t in job.tasks.values()]
        return sum(t.status.label in ("Running", "Pipelined") for t in running) < self.options.most


class FarSighted(Bound):
    """The same, with the simulation hooks."""

    @hookimpl
    def simulate_remove_task(self, cycle_state, task, removed):
        cycle_state[self.name] = cycle_state.get(self.name, 0) + 1

    @hookimpl
    def simulate_allocatable(self, cycle_state, queue, task):
        running = sum(len(job.by_status[5]) for job in self.session.jobs.values())
        return running - cycle_state.get(self.name, 0) < self.options.most


class TestFullQueue:
    """A queue above its limit: nodes whose victims cannot change that are skipped."""

    @pytest.mark.parametrize("plugin", [Bound, FarSighted])
    @pytest.mark.parametrize("most, taken", [(4, 1), (3, 2), (2, 0)])
    def test_evictions_on_one_node_must_be_enough(self, plugin, most, taken):
        world = World().node("n1", cpu=8).node("n2", cpu=8)
        world.job("v", 4, min_member=0, on=["n1", "n1", "n2", "n2"]).job("w", priority=5)
        decisions = world.run(policy([*TIER, plugin_entry(plugin, most=most)], actions=[Preempt]))
        assert len(evicted(decisions)) == taken
        assert len(decisions.pipelined) == bool(taken)

    @pytest.mark.parametrize("plugin, trials", [(Bound, 2), (FarSighted, 0)])
    def test_no_task_is_evicted_on_trial_where_the_queue_would_stay_full(self, plugin, trials):
        heard = []

        class Hears(Plugin):
            """Counts evictions, those on trial included."""

            @hookimpl
            def on_deallocate(self, task):
                heard.append(task.uid)

        world = World().node("n", cpu=8).job("v", 2, min_member=0, on=["n", "n"])
        world.job("w", priority=5)
        world.run(policy([*TIER, plugin_entry(plugin, most=0), Hears], actions=[Preempt]))
        assert len(heard) == trials


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("topology_aware", [False, True], ids=["plain", "topology-aware"])
def test_skipping_unreachable_nodes_changes_no_decision(seed, topology_aware, monkeypatch):
    wiring = with_options(
        policy(
            [Priority, plugin_entry(Gang, disable=["preemptable"]), Conformance],
            [plugin_entry(Drf, disable=["preemptable"]), Predicates, Proportion, NodeOrder],
            actions=[Allocate, Preempt],
        ),
        Preempt,
        enableTopologyAwarePreemption=topology_aware,
    )
    sums = outcome(crowded_world(seed).run(wiring))
    try_every_node(monkeypatch)
    assert outcome(crowded_world(seed).run(wiring)) == sums
