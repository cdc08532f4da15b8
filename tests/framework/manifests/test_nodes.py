"""Nodes: capacity, and all other fields that scheduling reads."""

import pytest

from pumice.model.resources import Resource
from tests.framework.manifests._pods import GPU, read


def test_everything_a_scheduler_reads_of_a_node():
    inventory = read(
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {
                "name": "n",
                "labels": {"zone": "a"},
                "annotations": {"x": "y"},
                "creationTimestamp": "1970-01-01T00:00:10Z",
            },
            "spec": {
                "unschedulable": True,
                "taints": [{"key": "k", "effect": "NoSchedule", "timeAdded": None}],
            },
            "status": {
                "capacity": {"cpu": "8", "memory": "1Gi", "pods": "110", GPU: "4"},
                "allocatable": {"cpu": "7500m", "memory": "1000Mi", "pods": "100", GPU: "4"},
                "conditions": [{"type": "Ready", "status": "False", "reason": "x"}],
                "images": [{"names": ["a:1"], "sizeBytes": 5}, {"names": None, "sizeBytes": 6}],
            },
        }
    )
    fact = inventory.nodes["n"]
    assert not inventory.problems
    assert fact.capacity == Resource(8000, 2**30, {"pods": 110, GPU: 4000})
    assert fact.allocatable == Resource(7500, 1000 * 2**20, {"pods": 100, GPU: 4000})
    assert fact.max_pods == 100
    assert fact.labels == {"zone": "a"}
    assert fact.taints[0]["effect"] == "NoSchedule"
    assert fact.unschedulable
    assert fact.conditions == {"Ready": "False"}
    assert fact.images == [{"names": ["a:1"], "sizeBytes": 5}, {"names": [], "sizeBytes": 6}]
    assert fact.created == 10.0


def test_a_node_that_reports_only_capacity_has_all_of_it_to_give():
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}
    fact = read({**node, "status": {"capacity": {"cpu": "2", "pods": "9"}}}).nodes["n"]
    assert (fact.allocatable.cpu, fact.max_pods) == (2000, 9)
    fact = read({**node, "status": {"capacity": {"cpu": "2"}, "allocatable": {}}}).nodes["n"]
    assert fact.allocatable == Resource()


@pytest.mark.parametrize("part", ["capacity", "allocatable"])
@pytest.mark.parametrize("value, words", [("-1", "is negative"), ("1e40", "is too large")])
def test_a_node_with_impossible_resources_is_left_out(part, value, words):
    inventory = read(
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": "n"},
            "status": {part: {"cpu": value}},
        }
    )
    assert not inventory.nodes
    (problem,) = inventory.problems
    assert str(problem).startswith(f"objects[0]: Node n: status.{part}.cpu: ")
    assert words in problem.message
