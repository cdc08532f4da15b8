"""The tree of hypernodes, and the topologies of jobs at the start of a cycle."""

import pytest

from pumice.model.cluster import build_cluster
from pumice.model.facts import HyperNode, NetworkTopology, SubGroupPolicy
from pumice.model.topology import ROOT, HyperNodeTree
from tests.framework._build import NOW, World, policy


def hyper(name, tier, *members, tier_name=""):
    """Members: a node name, a /pattern/, a label=value, or a ^hypernode."""
    listed = []
    for member in members:
        kind, selector = "Node", {"exactMatch": {"name": member}}
        if member.startswith("^"):
            kind, selector = "HyperNode", {"exactMatch": {"name": member[1:]}}
        elif member.startswith("/"):
            selector = {"regexMatch": {"pattern": member.strip("/")}}
        elif "=" in member:
            key, value = member.split("=")
            selector = {"labelMatch": {"matchLabels": {key: value}}}
        listed.append({"type": kind, "selector": selector})
    return HyperNode(name, tier, tier_name, listed)


def nodes(*names):
    world = World()
    for name in names:
        world.node(name, labels={"rack": name[0]})
    return list(world.inventory.nodes.values())


TWO_RACKS = [
    hyper("rack-a", 1, "a1", "a2"),
    hyper("rack-b", 1, "/^b/"),
    hyper("row", 2, "^rack-a", "^rack-b", tier_name="row"),
    hyper("hall", 3, "^row", "c1"),
]
NODES = nodes("a1", "a2", "b1", "b2", "c1", "d1")


@pytest.fixture
def tree():
    return HyperNodeTree(TWO_RACKS, NODES)


def test_a_hypernode_has_the_nodes_of_all_its_children(tree):
    assert tree.nodes["rack-a"] == ["a1", "a2"]
    assert tree.nodes["rack-b"] == ["b1", "b2"]
    assert tree.nodes["row"] == ["a1", "a2", "b1", "b2"]
    assert tree.nodes["hall"] == ["a1", "a2", "b1", "b2", "c1"]
    assert tree.ready
    assert tree.tier_names == {"row": 2}


def test_the_root_is_above_everything_and_has_all_nodes(tree):
    assert tree.tier[ROOT] == 4
    assert tree.children[ROOT] == ["hall"]
    assert tree.nodes[ROOT] == ["a1", "a2", "b1", "b2", "c1", "d1"]
    assert tree.ancestors("rack-a") == ["rack-a", "row", "hall", ROOT]


def test_a_chain_of_too_many_hypernodes_is_not_used():
    chain = [hyper(f"h{number:05}", 1, f"^h{number + 1:05}") for number in range(5000)]
    tree = HyperNodeTree(chain, NODES)
    assert not tree.ready
    assert tree.problem == "hypernodes are nested more than 100 deep"


def test_hypernodes_with_many_parents_cost_no_more_than_their_number():
    layers = [
        hyper(f"h{layer:02}{side}", 1, f"^h{layer + 1:02}a", f"^h{layer + 1:02}b")
        for layer in range(40)
        for side in "ab"
    ]
    assert not HyperNodeTree([*layers, hyper("h40a", 1), hyper("h40b", 1)], NODES).ready


def test_without_hypernodes_there_is_the_root_alone():
    tree = HyperNodeTree([], NODES)
    assert tree.tier == {ROOT: 1}
    assert tree.lowest_of_node("a1") == ROOT
    assert tree.lowest_containing(["a1", "d1"]) == ROOT


@pytest.mark.parametrize(
    "member, expected",
    [("a1", ["a1"]), ("/1$/", ["a1", "b1", "c1", "d1"]), ("rack=b", ["b1", "b2"]), ("zz", [])],
)
def test_members_are_named_matched_or_labelled(member, expected):
    assert HyperNodeTree([hyper("h", 1, member)], NODES).nodes["h"] == expected


def test_a_child_that_is_not_there_is_ignored():
    tree = HyperNodeTree([hyper("h", 2, "^gone", "a1")], NODES)
    assert tree.nodes["h"] == ["a1"]
    assert tree.ready


@pytest.mark.parametrize(
    "left, right, common",
    [
        ("rack-a", "rack-b", "row"),
        ("rack-a", "row", "row"),
        ("rack-a", "rack-a", "rack-a"),
        ("", "rack-a", "rack-a"),
        ("rack-a", "", "rack-a"),
        ("", "", ""),
        ("rack-a", ROOT, ROOT),
        ("rack-a", "unknown", ""),
    ],
)
def test_the_lowest_common_hypernode(tree, left, right, common):
    assert tree.lowest_common(left, right) == common


def test_the_lowest_hypernode_of_nodes(tree):
    assert tree.lowest_of_node("a1") == "rack-a"
    assert tree.lowest_of_node("c1") == "hall"
    assert tree.lowest_of_node("d1") == ROOT
    assert tree.lowest_of_node("unknown") == ROOT
    assert tree.lowest_containing(["a1", "a2"]) == "rack-a"
    assert tree.lowest_containing(["a1", "b1"]) == "row"
    assert tree.lowest_containing(["a1", "d1"]) == ROOT
    assert tree.lowest_containing([]) == ""


def test_two_parents_make_the_tree_unready():
    tree = HyperNodeTree([hyper("x", 1, "a1"), hyper("p", 2, "^x"), hyper("q", 2, "^x")], NODES)
    assert not tree.ready
    assert tree.problem == "hypernode x has two parents, p and q"


def test_a_cycle_makes_the_tree_unready():
    tree = HyperNodeTree([hyper("x", 1, "^y", "a1"), hyper("y", 2, "^x")], NODES)
    assert not tree.ready
    assert "cycle: x > y > x" in tree.problem
    assert tree.ancestors("x") == ["x", "y"]


# -- jobs


def cluster(on=(), topology=None, policies=(), pods=()):
    world = World()
    world.inventory.nodes = {node.name: node for node in NODES}
    world.inventory.hypernodes = {h.name: h for h in TWO_RACKS}
    world.job(
        "j",
        tasks=max(2, len(on)),
        on=on,
        network_topology=topology,
        sub_group_policies=policies,
    )
    for name, labels, node in pods:
        world.pod(name, "ns/j", labels=labels, node=node)
    return build_cluster(world.inventory, now=NOW), world


def job_of(**facts):
    return cluster(**facts)[0].jobs["ns/j"]


def test_a_soft_topology_becomes_a_hard_one_up_to_the_root():
    job = job_of(topology=NetworkTopology("soft"))
    assert (job.network_topology.mode, job.network_topology.highest_tier_allowed) == ("hard", 4)
    assert job.has_hard_topology
    assert job.has_network_topology


def test_a_tier_may_be_named():
    job = job_of(topology=NetworkTopology("hard", None, "row"))
    assert job.network_topology.highest_tier_allowed == 2


def test_an_unknown_tier_name_is_neither_hard_nor_a_limit():
    job = job_of(topology=NetworkTopology("hard", None, "nope"))
    assert job.network_topology.highest_tier_allowed is None
    assert not job.has_hard_topology
    assert job.has_network_topology


def test_the_facts_stay_as_they_were_read():
    topology = NetworkTopology("soft")
    job_of(topology=topology)
    assert (topology.mode, topology.highest_tier_allowed) == ("soft", None)


def test_a_soft_sub_job_stays_within_the_limit_of_its_job():
    policies = [
        SubGroupPolicy("p", match_label_keys=("part",), network_topology=NetworkTopology("soft"))
    ]
    job = job_of(
        topology=NetworkTopology("hard", 2),
        policies=policies,
        pods=[("x", {"part": "7"}, "")],
    )
    (sub_job,) = (s for s in job.sub_jobs.values() if s.name == "p")
    assert sub_job.network_topology.highest_tier_allowed == 2
    assert (sub_job.uid, sub_job.group_id, sub_job.match_index) == ("ns/j/p-7", "ns/j/p", 7)
    assert sub_job.min_available == 1


@pytest.mark.parametrize(
    "on, expected",
    [((), ""), (("a1",), "rack-a"), (("a1", "a2"), "rack-a"), (("a1", "b1"), "row")],
)
def test_a_job_knows_its_allocated_hypernode(on, expected):
    job = job_of(on=on, topology=NetworkTopology("hard", 3))
    assert job.allocated_hyper_node == expected


def test_a_job_without_topology_has_no_hypernode():
    assert job_of(on=("a1",)).allocated_hyper_node == ""


def test_pods_that_match_no_policy_stay_in_the_default_sub_job():
    policies = [
        SubGroupPolicy("p", {"matchLabels": {"role": "w"}}, ("part",), size=2, min_sub_groups=1),
        SubGroupPolicy("q", {"matchLabels": {"role": "w"}}),
        SubGroupPolicy("r", None, ("part", "index")),
    ]
    pods = [
        ("in-p", {"role": "w", "part": "1"}, ""),
        ("no-key", {"role": "w"}, ""),
        ("in-r", {"part": "1", "index": "x"}, ""),
        ("empty", {"part": "1", "index": ""}, ""),
    ]
    job = job_of(policies=policies, pods=pods)
    of = {uid: task.sub_job.uid for uid, task in job.tasks.items()}
    assert of["in-p"] == "ns/j/p-1"
    assert of["in-r"] == "ns/j/r-1-x"
    assert of["no-key"] == of["empty"] == of["j-t-0"] == "ns/j"
    assert job.sub_jobs["ns/j/p-1"].min_available == 2
    assert job.sub_jobs["ns/j"].min_available == 1
    assert job.min_sub_jobs == {"ns/j/p": 1, "ns/j/q": 0, "ns/j/r": 0}


def test_a_session_knows_the_rows_of_a_hypernode():
    _, world = cluster()
    session = world.session(policy([]))
    assert session.rows_of(ROOT) is None
    assert session.rows_of("row").tolist() == [0, 1, 2, 3]
    assert session.rows_of("rack-b").tolist() == [2, 3]
    assert session.rows_of("unknown").tolist() == []
