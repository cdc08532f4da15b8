"""Node health from the cordon mark and the node's conditions."""

import pytest

from pumice.kube import is_healthy
from pumice.model.facts import Node
from pumice.model.resources import Resource


@pytest.mark.parametrize(
    "conditions, healthy",
    [
        ({}, True),
        ({"Ready": "True"}, True),
        ({"Ready": "False"}, False),
        ({"Ready": "Unknown"}, False),
        ({"DiskPressure": "False"}, True),
        ({"Ready": "True", "DiskPressure": "True"}, False),
        ({"Ready": "True", "Frozen": "True"}, True),
    ],
)
def test_a_missing_or_unknown_condition_counts_as_good(conditions, healthy):
    assert is_healthy(Node("n", Resource(), Resource(), conditions=conditions)) is healthy


def test_a_cordoned_node_is_not_healthy():
    assert not is_healthy(
        Node("n", Resource(), Resource(), unschedulable=True, conditions={"Ready": "True"})
    )
