"""Hypernodes to try, and how near and how full they are."""

import numpy as np
import pytest

from pumice.errors import PumiceError
from pumice.model.facts import HyperNode, NetworkTopology, Node
from pumice.model.topology import ROOT, HyperNodeTree
from pumice_builtin_plugins.network_topology_aware.gradient import gradient, widest_first
from pumice_builtin_plugins.network_topology_aware.hyper_nodes import break_ties

NAME = "network-topology-aware"


def member(name, kind="Node"):
    return {"type": kind, "selector": {"exactMatch": {"name": name}}}


def racks():
    """r1 has n1 and n2, r2 n3 and n4, row both; n5 is in none."""
    return [
        HyperNode("r1", 1, members=[member("n1"), member("n2")]),
        HyperNode("r2", 1, members=[member("n3"), member("n4")]),
        HyperNode("row", 2, members=[member("r1", "HyperNode"), member("r2", "HyperNode")]),
    ]


@pytest.fixture
def tree():
    nothing = None
    return HyperNodeTree(racks(), [Node(f"n{i}", nothing, nothing) for i in range(1, 6)])


def room(*names):
    return lambda name: name in names


class TestGradient:
    def test_lowest_tier_first_and_only_where_there_is_room(self, tree):
        tried = gradient(tree, ROOT, 2, "", room("r2", "r1", "row", ROOT))
        assert tried == [["r1", "r2"], ["row"]]
        assert gradient(tree, ROOT, 3, "", room("r2", ROOT)) == [["r2"], [ROOT]]

    def test_what_is_placed_ties_to_the_widest_hypernode_allowed(self, tree):
        assert gradient(tree, ROOT, 1, "r2", room()) == [["r2"]]
        assert gradient(tree, ROOT, 2, "r2", room()) == [["r1", "r2"], ["row"]]

    def test_below_the_given_hypernode_only(self, tree):
        assert gradient(tree, "r1", 2, "r2", room()) == [["r1"]]
        assert gradient(tree, "r1", 1, "r2", room()) == []

    def test_no_tier_is_low_enough(self, tree):
        assert gradient(tree, ROOT, 0, "r2", room()) == []

    def test_a_cycle_ends(self):
        tree = HyperNodeTree(
            [
                HyperNode("a", 3, members=[member("b", "HyperNode")]),
                HyperNode("b", 2, members=[member("c", "HyperNode")]),
                HyperNode("c", 1, members=[member("b", "HyperNode")]),
            ],
            [],
        )
        assert not tree.ready
        assert gradient(tree, "a", 3, "", lambda name: True) == [["c"], ["b"], ["a"]]

    @pytest.mark.parametrize(
        "most, left",
        [(9, [["row"], ["r1", "r2"]]), (2, [["row"], ["r1"]]), (1, [["row"]])],
    )
    def test_for_evictions_the_widest_first(self, most, left):
        assert widest_first([["r1", "r2"], ["row"]], most) == left


def test_ties_are_broken_by_what_is_there():
    scores = np.array([0.5, 0.9, 0.9])
    assert break_ties(scores, np.array([1, 0, 3]), 4).tolist() == [0.5, 0.9, 0.9 + 0.75]
    assert break_ties(scores[:2], np.array([1, 1]), 4).tolist() == [0.5, 0.9]


@pytest.fixture
def cluster(world):
    """Nodes of 4 cpu and 8Gi; ``busy`` holds 2 cpu and 1Gi on n4."""
    for index in range(1, 6):
        world.node(f"n{index}")
    world.inventory.hypernodes = {h.name: h for h in racks()}
    world.job("busy", {"cpu": 2, "memory": "1Gi", "on": "n4"})
    return world


def hard(tier=1):
    return NetworkTopology("hard", tier)


def all_nodes(world):
    return world.session.nodes.view()


class TestGradientOfJobs:
    def test_a_job_needs_room_for_its_minimum_resources(self, cluster):
        cluster.job("j", {"cpu": 1}, min_resources={"cpu": 7}, network_topology=hard())
        plugin = cluster.open(NAME)
        job = cluster.job_of("j")
        assert plugin.hyper_node_gradient_for_job(job, ROOT, "allocate") == [["r1"]]
        assert plugin.hyper_node_gradient_for_job(job, ROOT, "evict") == [["r1", "r2"]]

    def test_a_resource_that_no_node_has_is_nowhere(self, cluster):
        job = {"cpu": 1, "example.com/fpga": 1}
        cluster.job("j", {"cpu": 1}, min_resources=job, network_topology=hard())
        plugin = cluster.open(NAME)
        assert plugin.hyper_node_gradient_for_job(cluster.job_of("j"), ROOT, "evict") == []

    def test_a_sub_job_needs_room_for_its_pending_tasks(self, cluster):
        cluster.job("j", {"cpu": 4}, {"cpu": 3}, network_topology=hard(2))
        plugin = cluster.open(NAME)
        (sub_job,) = cluster.job_of("j").sub_jobs.values()
        tried = plugin.hyper_node_gradient_for_sub_job(sub_job, "row", "allocate")
        assert tried == [["r1"], ["row"]]

    def test_without_a_hard_topology_the_given_one(self, cluster):
        cluster.job("j", {"cpu": 1})
        plugin = cluster.open(NAME)
        assert plugin.hyper_node_gradient_for_job(cluster.job_of("j"), "r2", "evict") == [["r2"]]

    def test_how_many_are_looked_at_for_evictions(self, cluster):
        cluster.job("j", {"cpu": 1}, network_topology=hard())
        plugin = cluster.open(NAME, **{"hypernode.gradient.evict.max-hypernodes": 1})
        job = cluster.job_of("j")
        assert plugin.hyper_node_gradient_for_job(job, ROOT, "evict") == [["r1"]]
        assert plugin.hyper_node_gradient_for_job(job, ROOT, "allocate") == [["r1", "r2"]]


class TestHyperNodeOrder:
    def order(self, cluster, plugin, *names):
        (sub_job,) = cluster.job_of("j").sub_jobs.values()
        views = {n: cluster.session.nodes.view(cluster.session.rows_of(n)) for n in names}
        return plugin.hyper_node_order(sub_job, views)

    def test_the_mean_of_how_full_it_would_be(self, cluster):
        cluster.job("j", {"cpu": 2, "memory": "3Gi"}, network_topology=hard())
        plugin = cluster.open(NAME)
        # r2: (2+2)/8 cpu and (1+3)/16 memory; r1: 2/8 and 3/16.
        expected = {"r1": 100 * (0.25 + 0.1875) / 2, "r2": 100 * (0.5 + 0.25) / 2}
        assert self.order(cluster, plugin, "r1", "r2") == pytest.approx(expected)

    def test_all_tasks_count_and_an_overfull_hypernode_has_nothing(self, cluster):
        cluster.job("j", {"cpu": 4}, {"cpu": 3, "on": "n1"}, network_topology=hard())
        plugin = cluster.open(NAME)
        # 7 more cpu than the 3 that run already: both overflow, half of the tasks is in r1.
        assert self.order(cluster, plugin, "r1", "r2") == {"r1": 50.0, "r2": 0.0}

    def test_weights(self, cluster):
        cluster.job("j", {"cpu": 2, "memory": "4Gi"}, network_topology=hard())
        options = {"hypernode.binpack.cpu": 0, "hypernode.binpack.memory": 3, "weight": 2}
        plugin = cluster.open(NAME, **options)
        assert self.order(cluster, plugin, "r1") == {"r1": 50.0}

    def test_a_further_resource(self, cluster):
        cluster.node("n1", nvidia_com_gpu=4)
        cluster.job("j", {"cpu": 4, "nvidia_com_gpu": 1}, network_topology=hard())
        options = {
            "hypernode.binpack.resources": "nvidia.com/gpu",
            "hypernode.binpack.resources.nvidia.com/gpu": 3,
        }
        plugin = cluster.open(NAME, **options)
        assert self.order(cluster, plugin, "r1") == {"r1": pytest.approx(100 * (0.5 + 0.75) / 4)}

    def test_follows_and_undo_restores(self, cluster):
        cluster.job("j", {"cpu": 1}, {"cpu": 1}, network_topology=hard())
        plugin = cluster.open(NAME)
        before = self.order(cluster, plugin, "r1", "r2")
        statement = cluster.allocate("j-0", node="n1")
        statement.evict(cluster.task("busy-0"), "test")
        during = self.order(cluster, plugin, "r1", "r2")
        assert during["r1"] > before["r1"]
        assert during["r2"] < before["r2"]
        statement.discard()
        assert self.order(cluster, plugin, "r1", "r2") == before


class TestNodeOrder:
    def scores(self, cluster, plugin, task):
        vector = plugin.batch_node_order(cluster.task(task), all_nodes(cluster))
        return None if vector is None else vector.tolist()

    def test_nodes_near_the_placed_tasks_score_higher(self, cluster):
        cluster.job("j", {"cpu": 1}, {"cpu": 1}, network_topology=hard(3))
        plugin = cluster.open(NAME)
        task = cluster.task("j-0")
        assert self.scores(cluster, plugin, "j-0") is None
        task.job_hyper_node = "r1"
        # The root is tier 3: one tier up is half as near, n5 is nowhere near.
        assert self.scores(cluster, plugin, "j-0") == [100, 100, 50, 50, 0]
        task.job_hyper_node = "row"
        assert self.scores(cluster, plugin, "j-0") == [50, 50, 50, 50, 0]

    def test_among_the_nearest_those_with_tasks_of_the_sub_job(self, cluster):
        cluster.job("j", {"cpu": 1}, {"cpu": 1}, {"cpu": 1, "on": "n4"}, network_topology=hard())
        plugin = cluster.open(NAME)
        task = cluster.task("j-0")
        task.job_hyper_node = "r2"
        assert self.scores(cluster, plugin, "j-0")[2:] == pytest.approx([100, 400 / 3, 0])
        statement = cluster.allocate("j-1", node="n3")
        assert self.scores(cluster, plugin, "j-0")[2:] == pytest.approx([400 / 3, 400 / 3, 0])
        statement.discard()
        assert self.scores(cluster, plugin, "j-0")[2:] == pytest.approx([100, 400 / 3, 0])

    def test_an_evicted_task_is_still_there(self, cluster):
        cluster.job("j", {"cpu": 1}, {"cpu": 1, "on": "n4"}, network_topology=hard())
        plugin = cluster.open(NAME)
        cluster.task("j-0").job_hyper_node = "r2"
        before = self.scores(cluster, plugin, "j-0")
        statement = cluster.session.statement()
        statement.evict(cluster.task("j-1"), "test")
        assert self.scores(cluster, plugin, "j-0") == before
        statement.discard()
        assert self.scores(cluster, plugin, "j-0") == before

    def test_without_a_topology_by_how_full_the_tiers_are(self, cluster):
        cluster.job("j", {"cpu": 2})
        plugin = cluster.open(NAME)
        weights = np.array([1, 0.8, 0.64])
        # cpu alone is asked for: r1 2/8, r2 4/8, row 4/16, all nodes 4/20; n5 is in the root only.
        near = [np.array([part, 0.25, 0.2]) for part in (0.25, 0.25, 0.5, 0.5)]
        expected = [100 * (tier @ weights) / weights.sum() for tier in (*near, [1, 1, 0.2])]
        assert self.scores(cluster, plugin, "j-0") == pytest.approx(expected)

    def test_without_a_topology_the_score_may_be_off(self, cluster):
        cluster.job("j", {"cpu": 2})
        plugin = cluster.open(NAME, **{"hypernode.binpack.normal-pod.enable": "false"})
        assert self.scores(cluster, plugin, "j-0") is None

    def test_without_hypernodes_there_is_no_score(self, world):
        world.node("n1")
        world.job("j", {"cpu": 2})
        plugin = world.open(NAME)
        assert self.scores(world, plugin, "j-0") is None


def test_a_bad_option_is_named(world):
    world.node("n1")
    with pytest.raises(PumiceError, match="fading"):
        world.open(NAME, **{"hypernode.binpack.normal-pod.fading": -1})
    with pytest.raises(PumiceError, match=r"did you mean 'hypernode\.binpack\.cpu'"):
        world.open(NAME, **{"hypernode.binpack.cpus": 1})
