"""Directions and weights of resources, scarce ones among them."""

import numpy as np
import pytest

from pumice.errors import PumiceError
from pumice_builtin_plugins.resource_strategy_fit.strategies import (
    LEAST,
    MOST,
    Override,
    Strategy,
    strategy_of,
)

NAME = "resource-strategy-fit"
TYPE = "volcano.sh/resource-strategy-scoring-type"
WEIGHT = "volcano.sh/resource-strategy-weight"


class TestStrategies:
    def test_its_own_name_then_the_longest_beginning(self):
        strategies = {name: Strategy() for name in ("a.com/x", "a.com/*", "a.com/xy*", "a*")}
        read = {
            name: next((n for n, s in strategies.items() if s is strategy_of(name, strategies)), "")
            for name in ("a.com/x", "a.com/xyz", "a.com/z", "abc", "b")
        }
        assert read == {
            "a.com/x": "a.com/x",
            "a.com/xyz": "a.com/xy*",
            "a.com/z": "a.com/*",
            "abc": "a*",
            "b": "",
        }

    def test_lenient_as_upstream(self):
        assert Strategy(type="Whatever", weight=0) == Strategy(type=LEAST, weight=1)

    def test_a_pod_overrides(self):
        override = Override.read({TYPE: MOST, WEIGHT: '{"cpu": 5, "gpu": 2}'})
        assert override.applied("cpu", Strategy(type=LEAST, weight=3)) == Strategy(
            type=MOST, weight=5
        )
        assert override.applied("memory", Strategy(weight=3)) == Strategy(type=MOST, weight=3)
        assert override.applied("gpu", None) == Strategy(type=MOST, weight=2)
        assert override.applied("disk", None) is None

    @pytest.mark.parametrize(
        "annotations, message",
        [
            ({TYPE: "most"}, "scoring-type: 'most' is neither"),
            ({WEIGHT: "cpu"}, "resource-strategy-weight: 'cpu' should be like"),
            ({WEIGHT: '{"cpu": "1"}'}, "resource-strategy-weight"),
            ({WEIGHT: "[1]"}, "resource-strategy-weight"),
        ],
    )
    def test_unreadable(self, annotations, message):
        with pytest.raises(ValueError, match=message):
            Override.read(annotations)


@pytest.fixture
def cluster(world):
    """n1 has 4 cpu and 8Gi, of which 1 cpu and 4Gi are used; n2 has 8 cpu, 8Gi and 4 gpus."""
    world.node("n1")
    world.node("n2", cpu=8, nvidia_com_gpu=4)
    world.job("busy", {"cpu": 1, "memory": "4Gi", "on": "n1"})
    world.job("j", {"cpu": 1, "memory": "2Gi"}, {"cpu": 4}, {"nvidia_com_gpu": 1})
    return world


def scores(world, plugin, name):
    """Scores of all nodes; the form for one node must agree with the other."""
    task, nodes = world.task(name), world.session.nodes
    vector = plugin.batch_node_order(task, nodes.view())
    assert vector.tolist() == [plugin.node_order(task, nodes.handle(row)) for row in range(2)]
    part = nodes.view(np.array([1]))
    assert plugin.batch_node_order(task, part).tolist() == vector[1:].tolist()
    return vector.tolist()


class TestScore:
    def test_least(self, cluster):
        plugin = cluster.open(NAME)
        # n1: cpu 2/4 and memory 6/8; n2: 1/8 and 2/8.
        assert scores(cluster, plugin, "j-0") == [
            1000 * (0.5 + 0.25) / 2,
            1000 * (0.875 + 0.75) / 2,
        ]

    def test_most_and_weights(self, cluster):
        resources = {"cpu": {"type": MOST, "weight": "3"}, "memory": {"weight": 1}}
        plugin = cluster.open(NAME, resourceStrategyFitWeight=2, resources=resources)
        n1, n2 = scores(cluster, plugin, "j-0")
        assert n1 == pytest.approx(200 * (3 * 0.5 + 0.25) / 4)
        assert n2 == pytest.approx(200 * (3 * 0.125 + 0.75) / 4)

    def test_an_overfull_node_has_nothing(self, cluster):
        plugin = cluster.open(NAME)
        assert scores(cluster, plugin, "j-1") == [0, 500]
        assert scores(cluster, plugin, "j-2") == [0, 0]

    def test_what_no_strategy_names_does_not_count(self, cluster):
        plugin = cluster.open(NAME, resources={"nvidia.com/*": {"type": MOST}})
        assert scores(cluster, plugin, "j-0") == [0, 0]
        assert scores(cluster, plugin, "j-2") == [0, 250]

    def test_a_negative_weight_is_the_default(self, cluster):
        plugin = cluster.open(NAME, resourceStrategyFitWeight=-1)
        assert plugin.options.weight == 10

    def test_tasks_with_other_annotations_are_of_another_class(self, cluster):
        facts = {"annotations": {TYPE: MOST}}
        cluster.job("k", {"cpu": 1}, {"cpu": 1, "facts": facts})
        plugin = cluster.open(NAME)
        queries = cluster.session.queries
        plain, other = cluster.tasks("k-0", "k-1")
        assert queries.class_id(plain) != queries.class_id(other)
        assert scores(cluster, plugin, "k-1") == [1000 * 2 / 4, 1000 / 8]

    def test_scarce_resources_are_avoided(self, cluster):
        scarce = {"enable": True, "resources": "nvidia.com/gpu, example.com/fpga"}
        scarce["resourceWeight"] = {"nvidia.com/gpu": 3}
        plugin = cluster.open(NAME, resourceStrategyFitWeight=0, sra={**scarce, "weight": 2})
        # n2 has three quarters of what is scarce; n1 has no gpu for the last task.
        assert scores(cluster, plugin, "j-0") == [200, 50]
        assert scores(cluster, plugin, "j-2") == [0, 50]


class TestProportional:
    def codes(self, cluster, name, **rates):
        options = {"enable": True, "resources": "nvidia.com/gpu", "resourceProportion": rates}
        plugin = cluster.open(NAME, proportional=options)
        verdicts = plugin.predicate_nodes(cluster.task(name), cluster.session.nodes.view())
        return None if verdicts is None else verdicts.codes.tolist()

    def test_cpu_is_reserved_for_idle_devices(self, cluster):
        # 4 idle gpus: one cpu each leaves room for 4, as asked; more does not.
        assert self.codes(cluster, "j-1", **{"nvidia.com/gpu.cpu": 1}) == [0, 0]
        assert self.codes(cluster, "j-1", **{"nvidia.com/gpu.cpu": 1.001}) == [0, 3]

    def test_memory_in_gigabytes(self, cluster):
        # 8Gi less 2Gi are 6.44 GB.
        assert self.codes(cluster, "j-0", **{"nvidia.com/gpu.memory": 1.6}) == [0, 0]
        assert self.codes(cluster, "j-0", **{"nvidia.com/gpu.memory": 1.62}) == [0, 3]

    def test_tasks_that_request_the_device_are_not_filtered(self, cluster):
        assert self.codes(cluster, "j-2", **{"nvidia.com/gpu.cpu": 9}) is None

    def test_off_by_default(self, cluster):
        plugin = cluster.open(NAME)
        assert plugin.predicate_nodes(cluster.task("j-0"), cluster.session.nodes.view()) is None


@pytest.mark.parametrize(
    "options, message",
    [
        ({"resources": {"*": {}}}, r"'\*' should be a resource"),
        ({"resources": {"a*b": {}}}, r"'a\*b' should be a resource"),
        ({"resources": {"cpu": {"kind": "x"}}}, "kind"),
        ({"sra": {"enabled": True}}, "enabled"),
    ],
)
def test_a_bad_option_is_named(world, options, message):
    world.node("n1")
    with pytest.raises(PumiceError, match=message):
        world.open(NAME, **options)
