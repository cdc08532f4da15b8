"""gangpreempt: node domains, sub-jobs, nominations, and the state after a failure."""

import pytest

from pumice import Plugin, hookimpl
from pumice.model.facts import HyperNode, NetworkTopology, SubGroupPolicy
from pumice.verdicts import EvictionKind
from pumice_builtin_actions.gangpreempt import Gangpreempt
from pumice_builtin_plugins.conformance import Conformance
from pumice_builtin_plugins.drf.plugin import Drf
from pumice_builtin_plugins.gang import Gang
from pumice_builtin_plugins.predicates.plugin import Predicates
from pumice_builtin_plugins.priority import Priority
from pumice_builtin_plugins.proportion.plugin import Proportion
from tests.actions._evictions import crowded_world, evicted, with_options
from tests.framework._build import World, pipelined, policy, reasons

TIER = [Priority, Gang, Conformance]
RACKS = {"left": ["n1", "n2"], "right": ["n3", "n4"]}


class Racks(Plugin):
    """Tries the hypernodes of a list, one after the other."""

    class Options(Plugin.Options):
        order: tuple[str, ...] = ("left", "right")

    @hookimpl
    def hyper_node_gradient_for_job(self, job, root, purpose):
        assert purpose == "evict"
        return [[name] for name in self.options.order]

    @hookimpl
    def hyper_node_gradient_for_sub_job(self, sub_job, root, purpose):
        return [[root]]


def exactly(node):
    return {"type": "Node", "selector": {"exactMatch": {"name": node}}}


def racks(**claim) -> World:
    """Two racks of two nodes, each node full of one task of a job of its own."""
    world = World()
    world.inventory.hypernodes = {
        name: HyperNode(name, 1, members=[exactly(node) for node in nodes])
        for name, nodes in RACKS.items()
    }
    for number in range(1, 5):
        world.node(f"n{number}", cpu=2)
        world.job(f"v{number}", cpu=2, on=[f"n{number}"], created=float(number))
    return world.job("w", 2, cpu=2, priority=5, **claim)


def run(world, *plugins, options=None, **settings):
    wiring = policy([*TIER, *plugins], actions=[Gangpreempt], **settings)
    return world.run(with_options(wiring, Gangpreempt, **(options or {})))


def test_without_domains_the_jobs_served_last_go():
    assert evicted(run(racks())) == ["v4-t-0", "v3-t-0"]


def test_an_eviction_names_the_action_and_the_claimant():
    recorded = {(e.action, e.claimant) for e in run(racks()).evictions}
    assert recorded == {("gangpreempt", "ns/w")}


def test_victims_and_nodes_are_of_the_first_domain_that_can_be_freed():
    decisions = run(racks(), Racks)
    assert evicted(decisions) == ["v2-t-0", "v1-t-0"]
    assert sorted(pipelined(decisions).values()) == ["n1", "n2"]


def test_a_domain_with_too_few_victims_is_skipped():
    world = racks()
    world.inventory.groups["ns/v1"].annotations = {"volcano.sh/preemptable": "false"}
    decisions = run(world, Racks)
    assert evicted(decisions) == ["v4-t-0", "v3-t-0"]


@pytest.mark.parametrize(
    "most, taken", [(1, []), (2, ["v4-t-0", "v3-t-0"]), (0, ["v4-t-0", "v3-t-0"])]
)
def test_at_most_max_domains_are_tried(most, taken):
    world = racks()
    world.inventory.groups["ns/v1"].annotations = {"volcano.sh/preemptable": "false"}
    assert evicted(run(world, Racks, options={"maxDomains": most})) == taken


def test_a_hard_topology_without_a_domain_skips_the_job():
    class Nowhere(Plugin):
        """Knows no hypernode for any job."""

        @hookimpl
        def hyper_node_gradient_for_job(self, job, root, purpose):
            return []

    hard = NetworkTopology("hard", 1)
    assert evicted(run(racks(network_topology=hard), Nowhere)) == []
    assert evicted(run(racks(), Nowhere)) == ["v4-t-0", "v3-t-0"]


def test_the_hypernode_is_nominated_once_the_evictions_are_decided():
    seen = {}

    class Looks(Plugin):
        """Looks at the job when the cycle ends."""

        @hookimpl
        def on_session_close(self):
            (sub_job,) = self.session.jobs["ns/w"].sub_jobs.values()
            seen["nominated"] = sub_job.nominated_hyper_node

    run(racks(network_topology=NetworkTopology("hard", 1)), Racks, Looks)
    assert seen["nominated"] == "left"


def test_plugins_are_asked_with_the_job_and_the_domain():
    contexts = []

    class Listens(Plugin):
        """Allows everything."""

        @hookimpl
        def unified_evictable(self, context, candidates):
            contexts.append((context.kind, context.job.name, context.hyper_node))
            return candidates

    run(racks(), Racks, Listens)
    assert contexts == [(EvictionKind.GANG_PREEMPT, "w", "left")]


def test_without_a_vote_no_task_is_evicted():
    world = racks()
    decisions = world.run(policy([Drf, Proportion], [Starving], actions=[Gangpreempt]))
    assert evicted(decisions) == []


class Starving(Plugin):
    """Every job starves."""

    @hookimpl
    def job_starving(self, job):
        return True


def divided(min_groups: int) -> World:
    """A starving job of two sub-jobs of one task, on two nodes that hold one job each."""
    rule = SubGroupPolicy("g", match_label_keys=("group",), size=1, min_sub_groups=min_groups)
    world = World()
    for number in (1, 2):
        world.node(f"n{number}", cpu=1).job(f"v{number}", on=[f"n{number}"], created=float(number))
    world.job("w", 0, min_member=min_groups, priority=5, sub_group_policies=[rule])
    for group in ("1", "2"):
        world.pod(f"w-{group}", "ns/w", labels={"group": group})
    return world


def test_all_sub_jobs_are_needed_in_sum_before_any_is_placed():
    decisions = run(divided(2))
    assert evicted(decisions) == ["v2-t-0", "v1-t-0"]
    assert set(pipelined(decisions)) == {"w-1", "w-2"}


def test_a_sub_job_that_does_not_fit_rolls_back_the_others():
    """The sum is enough for both one bundle before any node is enough for the second."""
    rule = SubGroupPolicy("g", match_label_keys=("group",), size=1, min_sub_groups=2)
    world = World().node("n1", cpu=2).node("n2", cpu=1).node("n3", cpu=1)
    for number, (name, node) in enumerate((("a", "n1"), ("b", "n1"), ("c", "n3"))):
        world.job(name, on=[node], created=float(number))
    world.job("w", 0, min_member=2, priority=5, sub_group_policies=[rule])
    world.pod("w-1", "ns/w", labels={"group": "1"}).pod("w-2", "ns/w", cpu=2, labels={"group": "2"})
    decisions = run(world)
    assert evicted(decisions) == ["c-t-0", "b-t-0", "a-t-0"]
    assert pipelined(decisions) == {"w-1": "n2", "w-2": "n1"}


def test_placing_stops_with_the_sub_job_that_completes_the_minimum():
    decisions = run(divided(1))
    # The request was summed up for both, so both victims go.
    assert evicted(decisions) == ["v2-t-0", "v1-t-0"]
    assert set(pipelined(decisions)) == {"w-1"}


def test_a_failing_plugin_skips_the_job_and_no_other():
    class Moody(Plugin):
        """Raises for one job."""

        @hookimpl
        def unified_evictable(self, context, candidates):
            if context.job.name == "w":
                raise RuntimeError("fell over")
            return candidates

    world = racks().job("x", cpu=2, priority=3)
    decisions = run(world, Moody, on_plugin_error="isolate")
    assert evicted(decisions) == ["v4-t-0"]
    assert set(pipelined(decisions)) == {"x-t-0"}
    assert "failed in unified_evictable" in reasons(decisions)["w"]


@pytest.mark.parametrize("seed", range(40))
def test_accounts_stay_consistent_in_random_clusters(seed):
    wiring = policy(TIER, [Drf, Predicates, Proportion], actions=[Gangpreempt])
    decisions = crowded_world(seed).run(wiring)
    claimants = {one.task.rpartition("-t-")[0] for one in decisions.pipelined}
    assert {eviction.claimant for eviction in decisions.evictions} <= claimants
