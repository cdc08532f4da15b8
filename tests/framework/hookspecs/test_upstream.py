"""The names of Volcano and KAI lead to our extension points."""

import pytest

from pumice.config.importers.volcano.flags import FLAGS
from pumice.hookspecs import POINTS
from pumice.hookspecs.upstream import upstream_point


@pytest.mark.parametrize(
    "name, ours",
    [
        ("AddJobOrderFn", "job_order"),
        ("JobOrderFns", "job_order"),
        ("JobOrderCompareFn", "job_order"),
        ("GpuOrderFns", "gpu_order"),
        ("AddGPUOrderFn", "gpu_order"),
        ("IsJobOverCapacityFn", "is_job_over_queue_capacity"),
        ("NodeOrderMapFn", "node_map"),
        ("NodeMapFn", "node_map"),
        ("HyperNodeGradientForSubJobFn", "hyper_node_gradient_for_sub_job"),
        ("OnSessionOpen", "on_session_open"),
        ("AllocateFunc", "on_allocate"),
        ("PreBinder", "pre_bind"),
        ("AddHttpHandler", "http_handlers"),
    ],
)
def test_a_name_of_a_go_function(name, ours):
    assert upstream_point(name, POINTS) == ours


@pytest.mark.parametrize("flag, points", FLAGS.items())
def test_the_flag_of_a_volcano_configuration(flag, points):
    assert upstream_point(flag, POINTS) in points


@pytest.mark.parametrize("name", ["NamespaceOrderFn", "job_order", "", "Fn"])
def test_other_words_are_no_upstream_names(name):
    assert upstream_point(name, POINTS) is None


def test_every_point_answers_to_its_name_in_camel_case():
    for point in POINTS:
        camel = "".join(word.capitalize() for word in point.split("_"))
        assert upstream_point(f"Add{camel}Fn", POINTS) == point
