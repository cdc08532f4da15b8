"""The extension points: complete, documented, typed, and each of them called."""

import inspect
import re
from typing import get_type_hints

import pytest

from pumice.combine import RULES
from pumice.hookspecs import POINTS, SPECS
from pumice.session.dispatch import Dispatch

VOLCANO = """
    job_order queue_order victim_queue_order task_order sub_job_order cluster_order predicate
    pre_predicate best_node node_order batch_node_order node_map node_reduce hyper_node_order
    preemptable reclaimable unified_evictable overused preemptive allocatable job_ready
    job_pipelined sub_job_ready sub_job_pipelined job_starving job_valid job_enqueueable
    job_enqueued target_job reserved_nodes victim_tasks simulate_add_task simulate_remove_task
    simulate_predicate simulate_allocatable hyper_node_gradient_for_job
    hyper_node_gradient_for_sub_job on_allocate on_deallocate setup_bind_context pre_bind
    pre_bind_rollback
"""

KAI = """
    gpu_order node_pre_order node_order job_order task_order pod_set_order sub_group_set_order
    queue_order can_reclaim_resources reclaim_victim_filter preempt_victim_filter
    reclaim_scenario_validator preempt_scenario_validator on_job_solution_start
    get_queue_allocated_resources get_queue_deserved_resources get_queue_fair_share
    is_non_preemptible_job_over_queue_quota is_job_over_queue_capacity
    is_task_allocation_on_node_over_capacity subset_nodes pre_predicate predicate
    bind_request_mutate pre_job_allocation on_allocate on_deallocate http_handlers
"""

FORMS = {
    "predicate_nodes": "predicate",
    "batch_node_order": "node_order",
    "job_order_key": "job_order",
    "queue_order_key": "queue_order",
    "task_order_key": "task_order",
}
ASKED_BY_THE_QUESTIONS = {"pre_predicate", "predicate", "node_order", "node_reduce"}
"""Called through ``session.queries``, which caches answers."""
NEVER_CALLED = {"sub_group_set_order", "cluster_order", "target_job", "reserved_nodes"}

BRIEF = {
    "sub_job_ready",
    "sub_job_pipelined",
    "hyper_node_gradient_for_sub_job",
    "get_queue_allocated_resources",
    "get_queue_deserved_resources",
    "get_queue_fair_share",
    "simulate_predicate",
    "simulate_allocatable",
    "setup_bind_context",
    "pre_bind",
    "pre_bind_rollback",
    "bind_request_mutate",
}
"""Their first sentence refers to another point, or states the moment and the answer."""

points = pytest.mark.parametrize("point", POINTS.values(), ids=POINTS)


def spec_of(point):
    return next(vars(spec)[point.name] for spec in SPECS if point.name in vars(spec))


def test_the_points_are_the_union_of_both_families():
    upstream = {*VOLCANO.split(), *KAI.split()}
    assert set(POINTS) >= upstream
    ours = {"on_session_open", "on_session_close", "protected"}
    ours |= {"refuses_reclaim", "refuses_larger_plans"}
    assert set(POINTS) - upstream == ours | (FORMS.keys() - {"batch_node_order"})


def test_no_two_specs_declare_the_same_point():
    names = [name for spec in SPECS for name in vars(spec) if name in POINTS]
    assert sorted(names) == sorted(POINTS)


def test_forms_count_as_the_point_they_are_a_form_of():
    assert {p.name: p.form_of for p in POINTS.values() if p.form_of} == FORMS
    for form, base in FORMS.items():
        assert POINTS[form].base == base
        assert POINTS[form].gated == POINTS[base].gated


def test_only_the_points_named_here_are_declared_and_never_asked():
    assert {p.name for p in POINTS.values() if not p.asked} == NEVER_CALLED
    for name in NEVER_CALLED:
        assert "Declared for completeness" in POINTS[name].doc


def test_life_cycle_points_are_never_gated():
    assert {p.name for p in POINTS.values() if not p.gated} == {
        p.name for p in POINTS.values() if p.group == "lifecycle"
    }


@points
def test_a_docstring_states_what_when_and_the_default(point):
    paragraphs = point.doc.split("\n\n")
    assert point.summary.endswith("."), "the first paragraph is a sentence"
    assert paragraphs[-1].startswith("Default: "), "the last paragraph states the default"
    assert paragraphs[-1].endswith(".")
    if point.name in BRIEF:
        assert len(paragraphs) == 2
        return
    middle = " ".join(paragraphs[1:-1])
    when = r"\b(Asked|Called|Give it|Declare|Declared|A FitError)\b"
    assert re.search(when, middle), "the middle states when it is called, and the answers"


@points
def test_signatures_are_complete(point):
    function = spec_of(point)
    signature = inspect.signature(function)
    assert signature.return_annotation is not inspect.Signature.empty
    for parameter in list(signature.parameters.values())[1:]:
        assert parameter.annotation is not inspect.Parameter.empty, parameter.name
        assert parameter.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
        assert parameter.default is inspect.Parameter.empty
    assert point.args == tuple(list(signature.parameters)[1:])
    assert point.signature.startswith(f"{point.name}(")
    assert "self" not in point.signature


@points
def test_a_point_says_how_answers_combine(point):
    assert type(point.rule) in RULES
    assert point.rule.meaning
    assert point.rule.default


@points
def test_a_point_is_a_typed_function_of_the_dispatch(point):
    annotated = point.name in Dispatch.__annotations__
    exempt = (
        point.name in FORMS or point.name in ASKED_BY_THE_QUESTIONS or point.name in NEVER_CALLED
    )
    assert annotated != exempt


def test_the_dispatch_annotates_nothing_else():
    assert set(Dispatch.__annotations__) <= set(POINTS)


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.__name__)
def test_annotations_can_be_resolved(spec):
    """The types that a spec names under TYPE_CHECKING exist."""
    import collections.abc
    import typing

    import numpy

    from pumice import combine, verdicts
    from pumice.model import facts, job, nodes, resources, task
    from pumice.solver import plan

    names = {"np": numpy}
    for module in (
        collections.abc,
        typing,
        combine,
        verdicts,
        facts,
        job,
        nodes,
        resources,
        task,
        plan,
    ):
        names.update(vars(module))
    for name in vars(spec):
        if name in POINTS:
            get_type_hints(vars(spec)[name], globalns=names)
