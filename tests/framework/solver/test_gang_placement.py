"""Gang placement: all tasks of a batch or none, node set by node set, with GPU fractions."""

import math

import numpy as np
import pytest

from pumice import Plugin, hookimpl
from pumice.config import policy_from_dict
from pumice.model.cluster import build_cluster
from pumice.model.facts import HyperNode, NetworkTopology, SubGroup, SubGroupPolicy
from pumice.model.task import TaskStatus
from pumice.session.nodes.gpu_devices import (
    fits_idle,
    fits_rows,
    ranked_devices,
)
from pumice.session.session import Session
from pumice.solver.gang_placement import GangPlacer
from pumice.testing.session_state import accounts
from pumice.verdicts import FitError, Refusal
from pumice_builtin_actions.fair_allocate import FairAllocate
from pumice_builtin_plugins.network_topology_aware.plugin import NetworkTopologyAware
from tests.framework._build import World, bound, policy
from tests.framework.solver._placement import cluster
from tests.plugins._fair import ask

S = TaskStatus


def opened(world, *plugins):
    """A session of local plugin classes."""
    world.session = Session(build_cluster(world.inventory, now=world.now), policy(plugins))
    return world.session


def place(world, name, rows=None, *, simulate=False, keep=False):
    """Place a job's next batch; the nodes of its tasks, or None."""
    session = world.session
    before = accounts(session)
    statement = session.statement()
    job = world.job_of(name)
    placed = GangPlacer(session).place(statement, job, rows, simulate=simulate)
    placement = {
        task.name: (task.status, task.node)
        for task in job.tasks.values()
        if task.status is not S.PENDING
    }
    if keep:
        statement.keep()
    else:
        statement.discard()
        assert accounts(session) == before
    if not placed:
        assert accounts(session) == before
    return placement if placed else None


class TestBatches:
    def test_a_batch_is_placed_whole_or_not_at_all(self):
        world = cluster(1, 1)
        world.job("two", "q", ask(), ask())
        world.job("three", "q", ask(), ask(), ask())
        world.open("elastic")
        assert place(world, "two") == {"two-0": (S.ALLOCATED, "n0"), "two-1": (S.ALLOCATED, "n1")}
        assert place(world, "three") is None

    def test_a_simulation_records_no_refusals(self):
        class Nowhere(Plugin):
            @hookimpl
            def subset_nodes(self, job):
                job.refusals.append(Refusal("Nowhere", "no set of nodes will do"))
                return []

        world = cluster(1)
        world.job("j", "q", ask())
        opened(world, Nowhere)
        assert place(world, "j", simulate=True) is None
        assert world.job_of("j").refusals == []
        assert place(world, "j") is None
        assert [refusal.reason for refusal in world.job_of("j").refusals] == ["Nowhere"]

    def test_only_the_given_rows_are_used(self):
        world = cluster(1, 1)
        world.job("j", "q", ask())
        world.open("elastic")
        assert place(world, "j", np.array([1])) == {"j-0": (S.ALLOCATED, "n1")}
        assert place(world, "j", np.array([], dtype=np.intp)) is None

    def test_a_task_is_pipelined_on_releasing_resources(self):
        world = cluster(1)
        world.job("old", "q", ask(on="n0", deleted=1.0))
        world.job("j", "q", ask())
        world.open("elastic")
        assert place(world, "j") == {"j-0": (S.PIPELINED, "n0")}

    def test_in_a_simulation_a_task_is_pipelined_on_idle_resources_too(self):
        world = cluster(1)
        world.job("j", "q", ask())
        world.open("elastic")
        assert place(world, "j", simulate=True) == {"j-0": (S.PIPELINED, "n0")}

    def test_a_victim_placed_back_on_its_node_is_no_longer_evicted(self):
        world = cluster(1)
        world.job("j", "q", ask(on="n0"))
        world.open("elastic")
        statement = world.session.statement()
        statement.evict(world.task("j-0"), "trial")
        assert GangPlacer(world.session).place(statement, world.job_of("j"), None, simulate=True)
        assert world.task("j-0").status is S.RUNNING
        assert not statement.has_evictions
        statement.discard()

    def test_the_best_score_wins_and_nan_is_excluded(self):
        class Taste(Plugin):
            @hookimpl(scope="static")
            def batch_node_order(self, task, nodes):
                return np.array([{"n0": math.nan, "n1": 1, "n2": 7}[name] for name in nodes.names])

        world = cluster(4, 4, 1)
        world.job("j", "q", ask(), ask(), ask())
        opened(world, Taste)
        assert [node for _, node in place(world, "j").values()] == ["n2", "n1", "n1"]

    def test_when_the_best_nodes_refuse_the_others_are_filtered_in_one_call(self):
        class Late(Plugin):
            @hookimpl(scope="cluster")
            def predicate(self, node):
                return None if node.name == "n7" else FitError.of("no")

        world = cluster(*[1] * 9)
        world.job("j", "q", ask())
        world.job("k", "q", ask(), ask())
        opened(world, Late)
        assert place(world, "j") == {"j-0": (S.ALLOCATED, "n7")}
        assert place(world, "k") is None
        assert "8 no" in str(world.job_of("k").fit_errors["k-1"])

    def test_fit_errors_are_recorded_outside_simulations(self):
        world = cluster(1)
        world.job("j", "q", ask(gpu=2))
        world.open("elastic")
        assert place(world, "j", simulate=True) is None
        assert world.job_of("j").fit_errors == {}
        assert place(world, "j") is None
        assert "Insufficient nvidia.com/gpu" in str(world.job_of("j").fit_errors["j-0"])

    def test_a_queue_at_its_limit_refuses_the_batch(self):
        class Full(Plugin):
            @hookimpl
            def is_job_over_queue_capacity(self, job, tasks):
                return Refusal("Full", f"{len(tasks)} are too many") if len(tasks) > 1 else None

        world = cluster(4)
        world.job("two", "q", ask(), ask())
        world.job("one", "q", ask())
        opened(world, Full)
        assert place(world, "two", simulate=True) is None
        assert world.job_of("two").refusals == []
        assert place(world, "two") is None
        assert [refusal.message for refusal in world.job_of("two").refusals] == ["2 are too many"]
        assert place(world, "one")

    def test_a_pod_that_cannot_be_prepared_fails_its_job(self):
        class Picky(Plugin):
            @hookimpl
            def pre_predicate(self, task):
                return "not this one" if task.name == "j-1" else None

        world = cluster(4)
        world.job("j", "q", ask(), ask())
        opened(world, Picky)
        assert place(world, "j") is None
        assert "not this one" in str(world.job_of("j").fit_errors["j-1"])


class TestNodeSets:
    def test_node_sets_are_tried_in_order_and_undone(self):
        seen = []

        class Halves(Plugin):
            @hookimpl
            def subset_nodes(self, job, sub_group, pod_sets, tasks, nodes):
                seen.append((sub_group.name, sorted(pod_sets), len(tasks)))
                return None if sub_group.name else [nodes[:1], nodes[1:]]

        world = cluster(1, 1, 1)
        world.job("j", "q", ask(), ask())
        opened(world, Halves)
        assert [node for _, node in place(world, "j").values()] == ["n1", "n2"]
        inner = ("default", ["default"], 2)
        assert seen == [("", ["default"], 2), inner, inner]

    def test_without_a_node_set_the_job_is_not_placed(self):
        class Nowhere(Plugin):
            @hookimpl
            def subset_nodes(self, nodes):
                return []

        world = cluster(4)
        world.job("j", "q", ask())
        opened(world, Nowhere)
        assert place(world, "j") is None

    def test_each_sub_group_has_sets_of_its_own_inside_those_of_its_parent(self):
        class Places(Plugin):
            @hookimpl
            def subset_nodes(self, sub_group, nodes):
                keep = {"": [1, 2, 3], "inner": [2, 3], "a": [3], "b": [2], "c": [1, 2]}
                return [np.intersect1d(nodes, keep[sub_group.name])]

        world = cluster(*[4] * 4)
        pods = [ask(sub_group=name) for name in ("a", "b", "c")]
        world.job("j", "q", *pods)
        world.inventory.groups["ns/j"].sub_groups = [
            SubGroup("inner", 1),
            SubGroup("a", 1, parent="inner"),
            SubGroup("b", 1, parent="inner"),
            SubGroup("c", 1),
        ]
        opened(world, Places)
        assert {name: node for name, (_, node) in place(world, "j").items()} == {
            "j-0": "n3",
            "j-1": "n2",
            "j-2": "n1",
        }


class TestFractions:
    def test_groups_with_room_and_fresh_devices_in_the_order_of_the_plugins(self):
        world = cluster(2)
        world.job("old", "q", ask(fraction=0.5, on="n0", labels={"runai-gpu-group": "g"}))
        world.job("j", "q", ask(fraction=0.5))
        world.open("gpupack")
        task = world.task("j-0")
        assert ranked_devices(world.session, task, 0) == ["g", ""]
        place(world, "j", keep=True)
        assert task.gpu_groups == ("g",)
        world.open("gpuspread")
        task = world.task("j-0")
        assert ranked_devices(world.session, task, 0) == ["", "g"]
        place(world, "j", keep=True)
        assert task.gpu_groups == ("n0/shared-1",)

    def test_several_devices_are_several_groups(self):
        world = cluster(3)
        world.job("j", "q", ask(fraction=0.4, annotations={"gpu-fraction-num-devices": "3"}))
        world.open("gpupack")
        place(world, "j", keep=True)
        assert world.task("j-0").gpu_groups == ("n0/shared-1", "n0/shared-2", "n0/shared-3")

    def test_more_devices_than_there_are_fit_nowhere(self):
        world = cluster(2)
        world.job("j", "q", ask(fraction=0.4, annotations={"gpu-fraction-num-devices": "3"}))
        world.open("gpupack")
        assert place(world, "j") is None
        assert "Insufficient room on shared GPUs" in str(world.job_of("j").fit_errors["j-0"])

    def test_a_device_that_a_plugin_drops_is_not_used(self):
        class NotFresh(Plugin):
            @hookimpl
            def gpu_order(self, gpu_group):
                return 0.0 if gpu_group else math.nan

        world = cluster(2)
        world.job("j", "q", ask(fraction=0.5))
        opened(world, NotFresh)
        assert place(world, "j") is None

    def test_a_task_is_pipelined_on_a_group_that_is_being_released(self):
        world = cluster(1)
        group = {"runai-gpu-group": "g"}
        world.job("old", "q", ask(fraction=0.5, on="n0", labels=group))
        world.job("going", "q", ask(fraction=0.5, on="n0", labels=group, deleted=1.0))
        world.job("j", "q", ask(fraction=0.5))
        world.open("gpupack")
        assert place(world, "j") == {"j-0": (S.PIPELINED, "n0")}

    @pytest.mark.parametrize("asked, fits", [(500, True), (1000, True), (1500, False)])
    def test_memory_must_be_that_of_one_device(self, asked, fits):
        world = cluster(2)
        world.job("j", "q", ask(gpu_memory=asked))
        world.open("gpupack")
        assert (place(world, "j") is not None) is fits

    @pytest.mark.parametrize("pod", [ask(), ask(fraction=0.5), ask(gpu_memory=300), ask(gpu=9)])
    def test_cached_fits_equal_computed_ones(self, pod):
        world = cluster(1, 2, 0)
        world.job("old", "q", ask(fraction=0.7, on="n0", labels={"runai-gpu-group": "g"}))
        world.job("j", "q", pod)
        world.open("gpupack")
        task, rows = world.task("j-0"), np.arange(3)
        fresh = fits_idle(world.session.nodes, task, rows)
        assert fits_rows(world.session, task, None, idle=True).tolist() == fresh.tolist()


class TestHyperNodes:
    """Volcano jobs with a hard network topology."""

    def world(self, *racks, tasks=2, **facts):
        """Racks of nodes with one CPU each; ``tier`` 2 is everything."""
        world = World()
        names = []
        for number, size in enumerate(racks):
            members = [f"r{number}-{i}" for i in range(size)]
            for name in members:
                world.node(name, cpu=1)
            named = [{"type": "Node", "selector": {"exactMatch": {"name": n}}} for n in members]
            world.inventory.hypernodes[f"r{number}"] = HyperNode(f"r{number}", 1, members=named)
            names.append(f"r{number}")
        inner = [{"type": "HyperNode", "selector": {"exactMatch": {"name": n}}} for n in names]
        world.inventory.hypernodes["all"] = HyperNode("all", 2, members=inner)
        world.job("j", tasks=tasks, network_topology=NetworkTopology("hard", 1), **facts)
        return world

    def run(self, world):
        return bound(world.run(policy([NetworkTopologyAware], actions=[FairAllocate])))

    def test_a_gang_goes_where_it_fits_whole(self):
        assert set(self.run(self.world(1, 2)).values()) == {"r1-0", "r1-1"}

    def test_a_gang_that_fits_into_no_hypernode_waits(self):
        assert self.run(self.world(1, 1)) == {}

    def test_a_job_grows_in_its_hypernode(self):
        world = self.world(2, 3, tasks=3, min_member=1)
        assert sorted(self.run(world).values()) == ["r1-0", "r1-1", "r1-2"]
        world = self.world(2, 3, tasks=3, min_member=1, on=["r1-2"])
        assert sorted(self.run(world).values()) == ["r1-0", "r1-1"]

    def test_sub_jobs_have_hypernodes_of_their_own(self):
        world = self.world(2, 2, tasks=0)
        group = world.inventory.groups["ns/j"]
        group.network_topology = NetworkTopology("hard", 2)
        group.min_member = 4
        group.sub_group_policies = [
            SubGroupPolicy(
                "part",
                match_label_keys=("part",),
                size=2,
                min_sub_groups=2,
                network_topology=NetworkTopology("hard", 1),
            )
        ]
        for number in range(4):
            world.pod(f"j-{number}", "ns/j", labels={"part": str(number % 2)})
        placement = self.run(world)
        racks = {name: node.partition("-")[0] for name, node in placement.items()}
        assert len(placement) == 4
        assert racks["j-0"] == racks["j-2"] != racks["j-1"] == racks["j-3"]

    def test_a_simulation_respects_hypernodes_too(self):
        world = self.world(2, 1)
        world.queue("q", weight=9)
        for name in ("r0-0", "r0-1", "r1-0"):
            world.job(f"old-{name}", on=[name], phase="Running", queue="b")
        made = policy_from_dict(
            {
                "actions": ["solve_reclaim"],
                "tiers": [{"plugins": ["fairshare", "network-topology-aware"]}],
            }
        )
        decisions = world.run(made)
        assert {simulate.node for simulate in decisions.pipelined} == {"r0-0", "r0-1"}
        assert len(decisions.evictions) == 2
