"""The effective request of a pod, as Volcano and as KAI compute it."""

import pytest

from pumice.model.resources import Resource
from tests.framework.manifests._pods import (
    GPU,
    KAI,
    VOLCANO,
    asks,
    container,
    only,
    pod,
    read,
    request,
)

FAMILIES = pytest.mark.parametrize("family", [VOLCANO, KAI], ids=["volcano", "kai"])


@FAMILIES
def test_a_pod_asks_for_the_sum_of_its_containers_and_one_pod(family):
    containers = [container(cpu="1", gpu="1"), container("d", cpu="500m", memory="1Gi")]
    assert request(family, containers=containers) == asks(1500, 2**30, gpu=1000)


@FAMILIES
def test_a_pod_without_containers_still_is_a_pod(family):
    assert request(family) == asks()
    assert request(family, containers=[]) == asks()
    assert request(family, containers=None, initContainers=None) == asks()


@FAMILIES
def test_the_largest_init_container_counts_where_it_is_larger(family):
    init = [container("i", cpu="3", memory="1"), container("j", cpu="2", memory="5")]
    assert request(
        family, containers=[container(cpu="1", memory="3")], initContainers=init
    ) == asks(3000, 5)


@FAMILIES
def test_overhead_is_added_last(family):
    spec = {"containers": [container(cpu="1")], "initContainers": [container("i", cpu="2")]}
    assert request(family, **spec, overhead={"cpu": "250m"}) == asks(2250)


def test_volcano_counts_sidecars_all_along():
    spec = {
        "containers": [container(cpu="1")],
        "initContainers": [
            container("early", cpu="5"),
            container("side", "Always", cpu="2"),
            container("late", cpu="3500m"),
        ],
    }
    # While it runs 1 + 2; to start, the most of 5, 2 and 2 + 3.5.
    assert request(VOLCANO, **spec) == asks(5500)
    assert request(None, **spec) == asks(5500)
    assert request(KAI, **spec) == asks(5000)


def test_volcano_lets_pod_level_requests_stand_for_the_containers():
    spec = {
        "containers": [container(cpu="1", memory="1Gi", gpu="1")],
        "resources": {"requests": {"cpu": "3", GPU: "9", "hugepages-2Mi": "2"}},
        "overhead": {"cpu": "1"},
    }
    assert request(VOLCANO, **spec) == Resource(
        4000, 2**30, {GPU: 1000, "pods": 1, "hugepages-2Mi": 2000}
    )
    assert request(KAI, **spec) == asks(2000, 2**30, gpu=1000)


@pytest.mark.parametrize(
    "status, cpu",
    [
        ({"containerStatuses": [{"name": "c"}]}, 2000),
        ({"containerStatuses": [{"name": "c", "allocatedResources": {"cpu": "2"}}]}, 2000),
        ({"containerStatuses": [{"name": "c", "allocatedResources": {"cpu": "3"}}]}, 3000),
        ({"containerStatuses": [{"name": "c", "resources": {"requests": {"cpu": "4"}}}]}, 4000),
        ({"containerStatuses": [{"name": "x", "allocatedResources": {"cpu": "9"}}]}, 2000),
        (
            {
                "resize": "Infeasible",
                "containerStatuses": [{"name": "c", "allocatedResources": {"cpu": "1"}}],
            },
            1000,
        ),
        (
            {
                "conditions": [{"type": "PodResizePending", "reason": "Infeasible"}],
                "containerStatuses": [{"name": "c", "allocatedResources": {"cpu": "1"}}],
            },
            1000,
        ),
    ],
)
def test_volcano_counts_what_a_container_holds_while_it_is_resized(status, cpu):
    assert only(pod(containers=[container(cpu="2")], status=status)).request == asks(cpu)


def test_equal_requests_are_one_object():
    first, second = (
        read(pod("a", containers=[container(cpu="1")]), pod("b", containers=[container(cpu="1")]))
    ).pods.values()
    assert first.request is second.request
    assert first.containers is second.containers
