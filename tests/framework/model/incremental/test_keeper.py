"""A cluster that is updated from cycle to cycle equals one built from scratch."""

import random
from dataclasses import replace

import pytest

from pumice import Plugin, hookimpl
from pumice.backends.memory import MemoryBackend
from pumice.config import policy_from_dict
from pumice.errors import InvariantError
from pumice.model.facts import HyperNode, NetworkTopology, PodGroup, PriorityClass, Queue
from pumice.model.incremental import refresh
from pumice.model.incremental.keeper import ClusterKeeper
from pumice.model.nodes import NodeTable
from pumice.model.task import Task, TaskStatus
from pumice.model.topology import ROOT
from pumice.scheduler import Scheduler
from pumice.testing.cluster import NOW
from tests.bench._cases import kai_allocate, volcano_allocate
from tests.framework._build import World, amount, bound, policy
from tests.framework._histories import FAMILIES, Life, claim, rack
from tests.plugins._fair import FairWorld, ask
from tests.sampling import few_and_all, sample

LOUD = {"scheduler": {"on_plugin_error": "raise"}}
POLICIES = {
    "volcano": policy_from_dict({"preset": "volcano", **LOUD}),
    "kai": policy_from_dict({"preset": "kai", **LOUD}),
    "mixed": policy_from_dict(
        {
            "actions": ["enqueue", "allocate", "fair_allocate", "solve_reclaim", "preempt"],
            "tiers": [{"plugins": ["gang", "fairshare", "predicates", "nodeorder"]}],
            "scheduler": {"on_plugin_error": "raise", "scheduler_names": ["volcano"]},
        }
    ),
}
CYCLES = 5
SEEDS = 80


def summary(decisions):
    return decisions.as_json(), decisions.jobs, decisions.task_states


def live(family, seed, *, nodes_move=False, **options):
    """The decisions of several random cycles; some sessions decide nothing."""
    inventory = FAMILIES[family](seed)
    if nodes_move:
        twins = [replace(node, name=f"{node.name}x") for node in inventory.nodes.values()]
        inventory.nodes.update({node.name: node for node in twins})
    backend = MemoryBackend(
        inventory,
        now=NOW,
        between=random.Random(seed).choice(["settle", "recreate", "none"]),
    )
    scheduler = Scheduler(backend, POLICIES[family], **options)
    life, dice = Life(seed), random.Random(seed)
    for _ in range(CYCLES):
        if dice.random() < 0.8:
            yield summary(scheduler.run_once())
        else:
            yield summary(scheduler.finish(scheduler.open_session()))
        if dice.random() < 0.1:
            scheduler.open_session()  # and never finished
        if dice.random() < 0.8:
            backend.advance()
        backend.step(dice.choice([0, 1, 100]))
        backend.replace(life.goes_on(backend.snapshot(), rate=dice.choice([0, 0.05, 0.2])))
        if nodes_move:
            backend.replace(life.moves_nodes(backend.snapshot()))


@few_and_all(8, SEEDS)
@pytest.mark.parametrize("family", FAMILIES)
def test_updated_clusters_give_the_decisions_of_rebuilt_ones(family, count):
    """Every updated cluster is also compared with a rebuilt one in every detail."""
    for seed in sample(f"keeper {family}", SEEDS, count):
        updated = list(live(family, seed, verify=True))
        assert updated == list(live(family, seed, fresh=True)), f"seed {seed}"


@few_and_all(8, SEEDS)
@pytest.mark.parametrize("family", FAMILIES)
def test_updated_clusters_follow_nodes_that_come_and_go(family, count, monkeypatch):
    """Nodes join and leave while pods run on them, with topology and hypernodes."""
    rearranged = []
    rearrange = NodeTable.rearrange
    monkeypatch.setattr(
        NodeTable, "rearrange", lambda *args: rearranged.append(1) or rearrange(*args)
    )
    for seed in sample(f"moving nodes {family}", SEEDS, count):
        updated = list(live(family, seed, nodes_move=True, verify=True))
        assert updated == list(live(family, seed, nodes_move=True, fresh=True)), f"seed {seed}"
    assert len(rearranged) > count


# -- what is rebuilt


def world():
    world = World().nodes("a", "b", "c", gpu=4).queue("q").queue("r")
    world.job("j", tasks=3, priority=5).job("k", tasks=2, queue="r").running("old", on=["a", "b"])
    return world


def changed(inventory, **tables):
    """An inventory in which some objects are other ones; None: gone."""
    result = {}
    for kind, objects in tables.items():
        table = {**getattr(inventory, kind), **objects}
        result[kind] = {name: fact for name, fact in table.items() if fact is not None}
    return replace(inventory, **result)


def a_pod(inventory, **facts):
    return {"pods": {"j-t-0": replace(inventory.pods["j-t-0"], **facts)}}


RENEWED = {
    "nothing": lambda i: {},
    "a label": lambda i: a_pod(i, labels={"app": "db"}),
    "a pod is gone": lambda i: {"pods": {"j-t-0": None}},
    "a pod has come": lambda i: {"pods": {"new": replace(i.pods["j-t-0"], uid="new", name="new")}},
    "a pod has another name": lambda i: a_pod(i, name="zz"),
    "a pod runs": lambda i: a_pod(i, phase="Running", node_name="c"),
    "a pod asks for a thing that is known": lambda i: a_pod(i, request=amount(1, 1, gpu=1)),
    "a group is gone": lambda i: {"groups": {"ns/j": None}},
    "a queue of KAI": lambda i: {"queues": {"x": Queue("x", family="kai")}},
    "a queue is gone": lambda i: {"queues": {"r": None}},
    "a class has another value": lambda i: {"priority_classes": {"p5": PriorityClass("p5", 9)}},
    "a node is closed": lambda i: {"nodes": {"a": replace(i.nodes["a"], unschedulable=True)}},
    "a node is gone": lambda i: {"nodes": {"c": None}},
    "a node with tasks is gone": lambda i: {"nodes": {"a": None}},
    "a node has come": lambda i: {"nodes": {"d": replace(i.nodes["c"], name="d")}},
    "a node has come between others": lambda i: {"nodes": {"aa": replace(i.nodes["c"], name="aa")}},
    "a tree has grown": lambda i: {"hypernodes": {"h": HyperNode("h", 1)}},
}
BUILT = {
    "most nodes are gone": lambda i: {"nodes": {"c": None, "b": None}},
    "a new resource": lambda i: a_pod(i, request=amount(1, 1, fabric=1)),
    "the last trace of a thing": lambda i: {
        "nodes": {name: replace(i.nodes[name], allocatable=amount(4, 8)) for name in "abc"}
    },
    "the first KAI job": lambda i: {"groups": {"ns/x": PodGroup("ns/x", "x", "ns", "kai")}},
    "two pods of one name": lambda i: {"pods": {"new": replace(i.pods["j-t-0"], uid="new")}},
    "a pod under a wrong name": lambda i: {"pods": {"new": i.pods["j-t-0"]}},
    "most pods": lambda i: {"pods": {uid: replace(pod) for uid, pod in i.pods.items()}},
}


@pytest.mark.parametrize("what", [*RENEWED, *BUILT])
def test_a_cluster_is_rebuilt_only_where_it_must_be(what):
    inventory = world().inventory
    keeper = ClusterKeeper(verify=True)
    first = keeper.cluster(inventory, now=NOW)
    keeper.take_back(first)
    other = changed(inventory, **(RENEWED | BUILT)[what](inventory))
    second = keeper.cluster(other, now=NOW)
    assert (second.nodes is first.nodes) == (what in RENEWED)
    keeper.take_back(second)
    assert keeper.cluster(inventory, now=NOW).inventory is inventory


def renewed(*inventories):
    """The cluster of the last of several cycles, each compared with a rebuilt one."""
    keeper, nodes = ClusterKeeper(verify=True), None
    for inventory in inventories:
        cluster = keeper.cluster(inventory, now=NOW)
        assert nodes is None or cluster.nodes is nodes
        nodes = cluster.nodes
        keeper.take_back(cluster)
    return cluster


def test_the_hypernode_of_a_job_follows_the_tree():
    world = World().node("a", labels={"rack": "0"}).node("b", labels={"rack": "0"})
    world.running("j", on=["a"], network_topology=NetworkTopology("hard", 1))
    first = changed(world.inventory, hypernodes={"rack-0": rack(0)})
    assert renewed(first).jobs["ns/j"].allocated_hyper_node == "rack-0"
    renamed = replace(rack(0), name="other")
    second = changed(first, hypernodes={"rack-0": None, "other": renamed})
    assert renewed(first, second).jobs["ns/j"].allocated_hyper_node == "other"
    moved = changed(first, nodes={"a": replace(first.nodes["a"], labels={})})
    assert renewed(first, moved).jobs["ns/j"].allocated_hyper_node == ROOT


def test_a_pod_without_a_job_waits_for_its_group_to_come():
    first = world().pod("stray", "ns/late").inventory
    group = replace(first.groups["ns/j"], uid="ns/late", name="late")
    second = changed(first, groups={"ns/late": group})
    assert list(renewed(first, second).jobs["ns/late"].tasks) == ["stray"]
    gone = changed(first, pods={"stray": None})
    third = changed(gone, groups={"ns/late": group})
    assert not renewed(first, gone, third).jobs["ns/late"].tasks


class TestTheKaiFamily:
    def inventory(self):
        world = FairWorld()
        world.node("n")
        world.queue("q")
        world.job("j", "q", ask(resource_claims=({"resourceClaimName": "claim"},)), ask(), ask())
        world.job("k", "q", ask(), last_start=NOW - 10)
        inventory = world.inventory
        inventory.others |= {"ResourceClaim": {"ns/claim": claim(1)}, "ResourceSlice": {}}
        return inventory

    def test_a_changed_claim_changes_the_pods_that_use_it(self):
        first = self.inventory()
        second = changed(first, others={"ResourceClaim": {"ns/claim": claim(3)}})
        assert renewed(first).tasks["j-0"].gpu.claimed == 1
        assert renewed(first, second).tasks["j-0"].gpu.claimed == 3

    def test_a_pending_bind_request_changes_its_pod(self):
        first = self.inventory()
        second = changed(first, others={"BindRequest": {"ns/j-1": {"spec": {"selectedNode": "n"}}}})
        assert renewed(first, second).tasks["j-1"].status is TaskStatus.BINDING

    def test_added_devices_force_a_rebuild(self):
        first, keeper = self.inventory(), ClusterKeeper(verify=True)
        keeper.take_back(keeper.cluster(first, now=NOW))
        spec = {"driver": "gpu.example.com", "nodeName": "n", "devices": [{"name": "gpu-0"}]}
        second = changed(first, others={"ResourceSlice": {"s": {"spec": spec}}})
        assert keeper.cluster(second, now=NOW).nodes.claimable.tolist() == [1]


def test_other_scheduler_names_force_a_rebuild():
    inventory, keeper = world().inventory, ClusterKeeper()
    first = keeper.cluster(inventory, now=NOW, scheduler_names=["us"])
    keeper.take_back(first)
    assert keeper.cluster(inventory, now=NOW, scheduler_names=["them"]).nodes is not first.nodes


def test_objects_stored_under_other_names_force_a_rebuild():
    inventory, keeper = world().inventory, ClusterKeeper()
    inventory.pods["other"] = inventory.pods.pop("j-t-0")
    first = keeper.cluster(inventory, now=NOW)
    keeper.take_back(first)
    assert keeper.cluster(inventory, now=NOW).nodes is not first.nodes


@pytest.mark.parametrize("fresh", [False, True])
def test_a_scheduler_may_rebuild_every_cluster(fresh):
    scheduler = Scheduler(MemoryBackend(world().inventory), policy([]), fresh=fresh)
    first = scheduler.open_session()
    scheduler.finish(first)
    assert (scheduler.open_session().nodes is first.nodes) is not fresh


@pytest.mark.parametrize(
    "case",
    [volcano_allocate(200, 20, 10), kai_allocate(200, 20, 10, gpu=1)],
    ids=lambda case: case.family,
)
def test_only_changed_objects_are_refreshed(case, monkeypatch):
    """Of 200 pods and 200 nodes two each have changed: nothing else is rebuilt."""
    backend = MemoryBackend(case.cluster(case))
    scheduler = Scheduler(backend, policy_from_dict(case.policy))
    first = scheduler.open_session()
    for action in scheduler.holder.actions:
        scheduler.run_action(first, action)
    scheduler.finish(first)
    inventory = backend.snapshot()
    pods = {uid: replace(inventory.pods[uid]) for uid in list(inventory.pods)[:2]}
    nodes = {name: replace(inventory.nodes[name]) for name in list(inventory.nodes)[:2]}
    backend.replace(changed(inventory, pods=pods, nodes=nodes))
    made, described = [], []
    init, describe = Task.__init__, type(first.nodes).describe
    monkeypatch.setattr(Task, "__init__", lambda *args: made.append(1) or init(*args))
    monkeypatch.setattr(
        type(first.nodes), "describe", lambda *args: described.extend(args[1]) or describe(*args)
    )
    second = scheduler.open_session()
    assert second.nodes is first.nodes
    assert (len(made), len(described)) == (2, 2)


def test_unused_requests_are_dropped_from_the_cache(monkeypatch):
    monkeypatch.setattr(refresh, "_MAX_UNUSED_VECTORS", 0)
    inventory, keeper = world().inventory, ClusterKeeper()
    keeper.take_back(keeper.cluster(inventory, now=NOW))
    for _ in range(20):
        inventory = changed(inventory, **a_pod(inventory, request=amount(1, 1)))
        keeper.take_back(keeper.cluster(inventory, now=NOW))
    assert len(keeper._cached._vectors) <= 2 * len(inventory.pods) + 1


def test_a_handle_shows_the_node_as_it_is_now():
    inventory, keeper = world().inventory, ClusterKeeper()
    first = keeper.cluster(inventory, now=NOW)
    assert not first.nodes.get("a").labels
    keeper.take_back(first)
    node = replace(inventory.nodes["a"], labels={"zone": "z"})
    second = keeper.cluster(changed(inventory, nodes={"a": node}), now=NOW)
    assert second.nodes.get("a").labels == {"zone": "z"}


# -- sessions that are over, and sessions that are not


def test_a_session_that_is_not_finished_is_left_alone():
    scheduler = Scheduler(MemoryBackend(world().inventory), policy([]), verify=True)
    first = scheduler.open_session()
    statement = first.statement()
    statement.allocate(first.cluster.tasks["j-t-0"], 2)
    second = scheduler.open_session()
    assert second.nodes is not first.nodes
    assert first.cluster.tasks["j-t-0"].status is TaskStatus.ALLOCATED
    assert second.cluster.tasks["j-t-0"].status is TaskStatus.PENDING
    scheduler.finish(second)
    scheduler.finish(first)  # too late: another cluster has been handed out since
    third = scheduler.open_session()
    assert third.nodes is not first.nodes
    assert first.cluster.tasks["j-t-0"].node == "c"


def test_a_finished_session_can_be_looked_at_until_the_next_is_opened():
    world = World().node("a").job("j")
    scheduler = Scheduler(MemoryBackend(world.inventory, now=NOW), POLICIES["volcano"])
    session = scheduler.open_session()
    for action in scheduler.holder.actions:
        scheduler.run_action(session, action)
    decisions = scheduler.finish(session)
    assert session.jobs["ns/j"].allocated_count == 1
    following = scheduler.open_session()
    assert following.jobs["ns/j"] is session.jobs["ns/j"]
    assert following.jobs["ns/j"].allocated_count == 0
    assert bound(decisions) == {"j-t-0": "a"}


class Meddler(Plugin):
    """Writes to everything that it can reach."""

    @hookimpl
    def on_session_open(self):
        for job in self.session.jobs.values():
            job.priority, job.min_available, job.queue, job.preemptible = 77, 99, "r", False
            job.phase, job.reason, job.spared = "Odd", "because", True
            job.state["mine"] = job.fit_errors["mine"] = job
            job.refusals.append("no")
            job.conditions.append({})
            job.plugin_errors.append("oh")
            for sub_job in job.sub_jobs.values():
                sub_job.min_available, sub_job.priority = 42, 42
                sub_job.nominated_hyper_node = "here"
        for task in self.session.cluster.tasks.values():
            task.priority, task.gated, task.role, task.node = 77, True, "odd", "b"
            task.state["mine"], task.class_id, task.nominated_node = task, 5, "a"
            task.preemptable, task.best_effort, task.virtual = False, True, True


def test_changes_made_by_plugins_end_with_the_cycle():
    """The scheduler compares each cluster with a rebuilt one before the plugins see it."""
    scheduler = Scheduler(MemoryBackend(world().inventory), policy([Meddler]), verify=True)
    for _ in range(3):
        scheduler.finish(scheduler.open_session())


def test_facts_changed_in_place_are_reported():
    world = World().node("a").job("j")
    scheduler = Scheduler(MemoryBackend(world.inventory, now=NOW), policy([]), verify=True)
    scheduler.run_once()
    world.inventory.pods["j-t-0"].priority = 9
    with pytest.raises(InvariantError, match=r"out of date: task ns/j-t-0: priority is 0"):
        scheduler.run_once()


def test_tables_may_be_changed_in_place():
    world = World().node("a").job("j")
    scheduler = Scheduler(MemoryBackend(world.inventory, now=NOW), policy([]), verify=True)
    scheduler.run_once()
    world.job("k")
    assert {bind.uid for bind in scheduler.run_once().binds} >= {"k-t-0"}
