"""KAI's filters: what refuses a node, and when other plugins are called."""

from typing import Any

import numpy as np
import pytest

from pumice import Plugin, hookimpl
from pumice.model.job import Job
from pumice.model.nodes import NodeView
from pumice.model.task import Task
from pumice.verdicts import Refusal
from pumice_builtin_plugins.kai_predicates.plugin import KaiPredicates
from tests.framework._build import policy
from tests.plugins._shares import HOST, SharedWorld


@pytest.fixture
def world() -> SharedWorld:
    return SharedWorld()


def refused(world: SharedWorld, task: str) -> list[str]:
    """The nodes that the plugin alone refuses."""
    return sorted(world.refusals(task))


def anti(app: str) -> dict[str, Any]:
    term = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": HOST}
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


class TestNodeKinds:
    @pytest.fixture
    def world(self, world: SharedWorld) -> SharedWorld:
        mig = {"nvidia.com/mig-1g.10gb": "4"}
        world.node("cpu")
        world.node("gpu", gpu=2)
        world.node("unlabelled", gpu=2, memory="")
        for strategy in ("single", "mixed", "none"):
            world.node(strategy, gpu=2, room=mig, labels={"nvidia.com/mig.strategy": strategy})
        world.pod("whole", gpu=1)
        world.pod("part", gpu=0.5)
        world.pod("memory", memory=100)
        world.pod("mig", requests={"nvidia.com/mig-1g.10gb": "1"})
        world.pod("plain")
        return world

    @pytest.mark.parametrize(
        "task, nodes",
        [
            ("whole", ["mixed"]),
            ("part", ["mixed", "single"]),
            ("memory", ["cpu", "mixed", "single", "unlabelled"]),
            ("mig", ["cpu", "gpu", "single", "unlabelled"]),
            ("plain", []),
        ],
    )
    def test_which_nodes_reject_which_tasks(
        self, world: SharedWorld, task: str, nodes: list[str]
    ) -> None:
        plugin = world.open("kai_predicates")
        assert refused(world, task) == nodes
        rejected = plugin.static_rejections(world.task(task))
        assert sorted(np.array(world.session.nodes.names)[rejected]) == nodes

    def test_instances_do_not_go_beside_pods_that_annotate_theirs(self, world: SharedWorld) -> None:
        world.pod("old", on="none", annotations={"nvidia.com/mig-1g.10gb": "1"})
        world.pod("another", annotations={"nvidia.com/mig-1g.10gb": "1"})
        world.open("kai_predicates")
        assert "none" in refused(world, "mig")
        assert "none" not in refused(world, "whole")
        assert len(refused(world, "another")) == 6

    def test_gpus_for_claims_are_for_claims(self, world: SharedWorld) -> None:
        world.add(
            "ResourceSlice",
            "resource.k8s.io/v1",
            "gpus",
            spec={"driver": "GPU.example.com", "nodeName": "cpu", "devices": [{"name": "0"}]},
        )
        world.open("kai_predicates")
        assert "cpu" in refused(world, "whole")
        assert "cpu" in refused(world, "part")
        assert "cpu" not in refused(world, "plain")


class TestPodCount:
    @pytest.mark.parametrize("pods, ok", [(0, False), (1, True)])
    def test_a_node_has_a_maximum_of_pods(self, world: SharedWorld, pods: int, ok: bool) -> None:
        world.node("n1", gpu=1, pods=pods)
        world.node("n2", gpu=1)
        world.pod("a", gpu=1)
        world.open("kai_predicates")
        assert (refused(world, "a") == []) is ok

    def test_pods_being_evicted_do_not_count_against_the_maximum(self, world: SharedWorld) -> None:
        world.node("n1", pods=1)
        world.pod("x", on="n1")
        world.pod("a")
        world.open("kai_predicates")
        assert refused(world, "a") == ["n1"]
        with world.session.statement() as statement:
            statement.evict(world.task("x"), "test")
            assert refused(world, "a") == []

    @pytest.mark.parametrize("group, ok", [("7", True), ("abc", False)])
    def test_only_a_numbered_group_has_its_reservation(
        self, world: SharedWorld, group: str, ok: bool
    ) -> None:
        world.node("n1", gpu=1, pods=2)
        world.pod("x", on="n1", gpu=0.5, shares=group)
        world.pod("a", gpu=0.5)
        world.pod("b")
        world.open("kai_predicates")
        assert (refused(world, "a") == []) is ok
        assert refused(world, "b") == []

    def test_every_device_counts(self, world: SharedWorld) -> None:
        world.node("n1", gpu=2, pods=2)
        world.pod("x", on="n1", gpu=0.5, shares="1")
        world.pod("a", gpu=0.5)
        world.pod("b", gpu=0.5, devices=2)
        world.open("kai_predicates")
        assert refused(world, "a") == []
        assert refused(world, "b") == ["n1"]


class TestHeldPods:
    def test_host_ports_stay_with_the_evicted_and_come_with_the_moved(
        self, world: SharedWorld
    ) -> None:
        ports = {"ports": [{"containerPort": 80, "hostPort": 80}]}
        world.node("n1")
        world.node("n2")
        world.pod("x", on="n1", container=ports)
        world.pod("a", container=ports)
        world.open("kai_predicates")
        assert refused(world, "a") == ["n1"]
        with world.session.statement() as statement:
            statement.evict(world.task("x"), "test")
            assert refused(world, "a") == ["n1"]
            assert refused(world, "x") == ["n1"]
            statement.pipeline(world.task("x"), world.session.nodes.row_of["n2"])
            assert refused(world, "a") == ["n1", "n2"]
        assert refused(world, "a") == ["n1"]

    def test_anti_affinity_stays_with_the_evicted(self, world: SharedWorld) -> None:
        world.node("n1")
        world.node("n2")
        world.pod("x", on="n1", affinity=anti("a"))
        world.pod("a", labels={"app": "a"})
        world.open("kai_predicates")
        assert refused(world, "a") == ["n1"]
        with world.session.statement() as statement:
            statement.evict(world.task("x"), "test")
            assert refused(world, "a") == ["n1"]

    def test_a_task_without_affinity_effect_is_not_filtered_again_in_the_cycle(
        self, world: SharedWorld
    ) -> None:
        world.node("n1")
        world.pod("x", affinity=anti("a"))
        world.pod("a", labels={"app": "a"})
        world.pod("b", labels={"app": "a"})
        world.open("kai_predicates")
        assert refused(world, "a") == []
        world.allocate("x", "n1")
        assert refused(world, "a") == []
        assert refused(world, "b") == ["n1"]


class TestBeforehand:
    def test_what_no_node_has_is_reported(self, world: SharedWorld) -> None:
        world.node("n1", gpu=1)
        world.node("n2", gpu=2)
        world.pod("a", gpu=3)
        world.pod("b", gpu=0.9, devices=3)
        world.pod("c", gpu=2, cpu=9)
        world.pod("d", requests={"example.com/thing": "1"})
        world.open("kai_predicates")
        assert world.refusals("a") == {"*": "no node has enough nvidia.com/gpu"}
        assert world.refusals("b") == {"*": "no node has enough nvidia.com/gpu"}
        assert world.refusals("c") == {"*": "no node has enough cpu"}
        assert world.refusals("d") == {"*": "no node has enough example.com/thing"}

    def test_a_dump_without_config_maps_leaves_them_out(self, world: SharedWorld) -> None:
        world.node("n1")
        world.pod("a", volumes=[{"name": "v", "configMap": {"name": "gone"}}])
        world.open("kai_predicates")
        assert world.refusals("a") == {}

    def test_config_maps_that_are_missing_are_named(self, world: SharedWorld) -> None:
        sources = [{"configMap": {"name": "one"}}, {"configMap": {"name": "two"}}]
        reference = {"name": "three", "key": "k"}
        world.node("n1")
        world.add("ConfigMap", "v1", "two")
        world.pod(
            "a",
            volumes=[{"name": "v", "projected": {"sources": sources}}],
            container={"env": [{"name": "E", "valueFrom": {"configMapKeyRef": reference}}]},
        )
        world.open("kai_predicates")
        assert world.refusals("a") == {"*": "ConfigMaps are missing: one, three"}

    def test_all_reasons_are_reported_together(self, world: SharedWorld) -> None:
        world.node("n1")
        world.add("ConfigMap", "v1", "here")
        world.pod("a", gpu=1, volumes=[{"name": "v", "configMap": {"name": "gone"}}])
        world.open("kai_predicates")
        reason = world.refusals("a")["*"]
        assert reason == "no node has enough nvidia.com/gpu; ConfigMaps are missing: gone"


def test_an_empty_cluster_refuses_nothing_and_takes_nothing(world: SharedWorld) -> None:
    world.pod("a")
    world.open("kai_predicates")
    assert world.refusals("a") == {"*": "no node has enough cpu; no node has enough pods"}


class Strict(Plugin):
    """Refuses tasks on nodes with small GPUs, and records for which it was called."""

    @hookimpl
    def on_session_open(self) -> None:
        self.asked: list[str] = []

    @hookimpl
    def is_task_allocation_on_node_over_capacity(
        self, task: Task, job: Job, nodes: NodeView, row: int
    ) -> Refusal | None:
        self.asked.append(nodes.table.names[row])
        small = nodes.table.shares(row).memory_per_gpu < 2000
        return Refusal("OverLimit", "too much") if small else None


class TestLimits:
    @pytest.fixture
    def strict(self, world: SharedWorld) -> Strict:
        for name, memory in (("n1", "1000"), ("n2", "4000"), ("n3", "1000"), ("n4", "4000")):
            world.node(name, gpu=1, memory=memory)
        world.pod("part", gpu=0.5)
        world.pod("whole", gpu=1)
        world.start(policy([KaiPredicates, Strict], actions=[]))
        plugin = world.session.plugins["strict"]
        assert isinstance(plugin, Strict)
        return plugin

    def test_parts_of_gpus_are_asked_for_once_for_each_size(
        self, world: SharedWorld, strict: Strict
    ) -> None:
        assert world.refusals("part") == {"n1": "OverLimit", "n3": "OverLimit"}
        assert strict.asked == ["n1", "n2"]

    def test_others_count_the_same_on_all_nodes(self, world: SharedWorld, strict: Strict) -> None:
        assert len(world.refusals("whole")) == 4
        assert strict.asked == ["n1"]

    def test_it_is_asked_again_every_time(self, world: SharedWorld, strict: Strict) -> None:
        world.refusals("whole")
        world.refusals("whole")
        assert strict.asked == ["n1", "n1"]
