"""The shared parts of kube/ that plugins are made of."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pumice_builtin_plugins.kube.resource_weights import resource_weights
from pumice_builtin_plugins.kube.task_filters import TaskFilters
from pumice_builtin_plugins.nodeplacement.free_range import FreeRange
from tests.plugins._kube import Kube, node, pod


@pytest.mark.parametrize(
    "arguments, weights",
    [
        ((1, 2, "", {}), {"cpu": 1, "memory": 2}),
        ((1, 1, " gpu , , rdma", {"gpu": 5}), {"cpu": 1, "memory": 1, "gpu": 5, "rdma": 1}),
        ((0, 1, "gpu", {"gpu": 0, "other": 3}), {"cpu": 0, "memory": 1, "gpu": 0}),
        ((-1, 1, "gpu", {"gpu": -3}), {"cpu": 1, "memory": 1, "gpu": 1}),
    ],
)
def test_weights_of_resources(arguments, weights):
    assert resource_weights(*arguments) == weights


@pytest.mark.parametrize("name", ["affinity", "spread", "volumes", "claims"])
def test_filters_that_look_beyond_the_node_are_not_node_local(name):
    assert TaskFilters(np.zeros(2, np.int64), ports=[("TCP", "", 80)]).node_local
    assert not TaskFilters(np.zeros(2, np.int64), **{name: True}).node_local


def test_the_range_of_free_amounts_follows_changes_of_single_nodes():
    kube = Kube(
        *[node(name, cpu=cpu) for name, cpu in (("a", 4), ("b", 8), ("c", 6), ("d", 0))],
        pod("p", requests={"cpu": 1}),
        pod("q", requests={"cpu": 5}),
    )
    free = FreeRange(kube.session.nodes, 0)
    assert free.least_and_most() == (4000, 8000)  # d has no CPU at all
    first = kube.place("p", "c")
    assert free.least_and_most() == (4000, 8000)
    second = kube.place("q", "b")
    assert free.least_and_most() == (3000, 5000)
    second.discard()
    first.discard()
    assert free.least_and_most() == (4000, 8000)


@given(
    st.lists(st.integers(1, 4), min_size=1, max_size=5),
    st.lists(st.tuples(st.integers(0, 4), st.booleans())),
)
def test_the_range_is_that_of_the_free_amounts_after_every_change(sizes, steps):
    names = "abcde"[: len(sizes)]
    kube = Kube(
        *[node(name, cpu=cpu) for name, cpu in zip(names, sizes, strict=True)],
        *[pod(f"p{number}", requests={"cpu": 1}) for number in range(len(steps))],
    )
    nodes = kube.session.nodes
    free, placed = FreeRange(nodes, 0), []
    for number, (row, places) in enumerate(steps):
        if not places and placed:
            placed.pop().discard()
        elif row < len(sizes) and nodes.idle[row, 0] >= 1000:
            placed.append(kube.place(f"p{number}", names[row]))
        column = nodes.future_idle[:, 0]
        assert free.least_and_most() == (column.min(), column.max())
