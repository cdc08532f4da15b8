"""Malformed queues and pod groups of both families."""

import pytest

from tests.framework.manifests._objects import (
    kai_group,
    kai_queue,
    read,
    volcano_group,
    volcano_queue,
)


@pytest.mark.parametrize(
    "queue, message",
    [
        (volcano_queue("q", weight=-1), "spec.weight: expected a whole number >= 0"),
        (volcano_queue("q", capability={"cpu": "x"}), "spec.capability.cpu: 'x' is not a"),
        (volcano_queue("q", deserved={"cpu": "-1"}), "spec.deserved.cpu: -1 is negative"),
        (
            volcano_queue("q", capability={"deviceclass/x": "y"}),
            "spec.capability.deviceclass/x: 'y' is not a quantity",
        ),
        (volcano_queue("q", guarantee={"resource": []}), "spec.guarantee.resource: expected an"),
        (volcano_queue("q", parent=["p"]), "spec.parent: expected a string, got a list"),
        (
            kai_queue("q", resources={"gpu": {"quota": -2}}),
            "spec.resources.gpu.quota: -2 is negative",
        ),
        (
            kai_queue("q", resources={"gpu": {"quota": "2"}}),
            "spec.resources.gpu.quota: expected a whole number or a number, got a string",
        ),
        (kai_queue("q", preemptMinRuntime="soon"), "spec.preemptMinRuntime: 'soon' is not a"),
    ],
)
def test_a_malformed_queue_is_skipped_and_reported(queue, message):
    inventory = read(volcano_queue("other"), queue)
    assert "q" not in inventory.queues
    (problem,) = inventory.problems
    assert problem.message.startswith(message)
    assert (problem.where, problem.object) == ("objects[1]", "Queue q")


@pytest.mark.parametrize(
    "group, message",
    [
        (volcano_group("g", minMember=-1), "spec.minMember: expected a whole number >= 0"),
        (volcano_group("g", minMember="2"), "spec.minMember: expected a whole number, got a"),
        (volcano_group("g", minResources={"cpu": "?"}), "spec.minResources.cpu: '?' is not a"),
        (
            volcano_group("g", networkTopology={"mode": "firm"}),
            "spec.networkTopology.mode: invalid",
        ),
        (volcano_group("g", subGroupPolicy=[{}]), "spec.subGroupPolicy[0]: object missing"),
        (kai_group("g", queue="q", subGroups={"a": 1}), "spec.subGroups: expected a list"),
        (kai_group("g", queue="q", subGroups=[{}]), "spec.subGroups[0]: object missing"),
    ],
)
def test_a_malformed_group_is_skipped_and_reported(group, message):
    inventory = read(kai_queue("q"), group)
    assert not inventory.groups
    (problem,) = inventory.problems
    assert problem.message.startswith(message)
