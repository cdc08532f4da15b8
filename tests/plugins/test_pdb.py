"""Disruption budgets of pods against evictions."""

import pytest

from pumice.model.facts import DisruptionBudget


@pytest.fixture
def web(world):
    """Five running pods: three of ``app: web``, one of ``app: db`` and one without labels."""
    world.node("n1", cpu=9)
    labels = [{"app": "web"}, {"app": "web"}, {"app": "web"}, {"app": "db"}, {}]
    world.job("v", *[{"on": "n1", "facts": {"labels": each}} for each in labels])
    return world


def budget(world, name, allowed, selector, namespace="ns", disrupted=()):
    world.inventory.budgets[f"{namespace}/{name}"] = DisruptionBudget(
        name, namespace, selector, allowed, frozenset(disrupted)
    )


def allowed(world, *names):
    plugin = world.open("pdb")
    tasks = world.tasks(*names)
    answer = plugin.preemptable(tasks)
    assert answer == plugin.reclaimable(tasks) == plugin.victim_tasks(tasks)
    return None if answer is None else [task.name for task in answer]


ALL = ("v-0", "v-1", "v-2", "v-3", "v-4")
WEB = {"matchLabels": {"app": "web"}}


def test_without_budgets_all_labelled_pods_may_go(web):
    assert allowed(web, *ALL) == ["v-0", "v-1", "v-2", "v-3"]


def test_a_budget_lets_the_first_ones_go(web):
    budget(web, "b", 2, WEB)
    assert allowed(web, *ALL) == ["v-0", "v-1", "v-3"]


def test_every_question_starts_anew(web):
    budget(web, "b", 1, WEB)
    assert allowed(web, "v-0") == ["v-0"]
    assert allowed(web, "v-1") == ["v-1"]


def test_a_negative_allowance_spares_all(web):
    budget(web, "b", -1, WEB)
    assert allowed(web, *ALL) == ["v-3"]


def test_all_budgets_must_agree_and_a_spared_pod_uses_them_up(web):
    budget(
        web, "none", 0, {"matchExpressions": [{"key": "app", "operator": "In", "values": ["db"]}]}
    )
    budget(web, "one", 1, {"matchExpressions": [{"key": "app", "operator": "Exists"}]})
    assert allowed(web, "v-0", "v-1") == ["v-0"]
    assert allowed(web, "v-3", "v-0") == []


@pytest.mark.parametrize("selector", [None, {}, {"matchLabels": {}}, {"matchExpressions": []}])
def test_a_budget_that_selects_nothing_in_particular_protects_no_pod(web, selector):
    budget(web, "b", 0, selector)
    assert allowed(web, "v-0") == ["v-0"]


def test_other_namespaces_and_disruptions_that_are_counted_already(web):
    budget(web, "b", 0, WEB, namespace="other")
    budget(web, "c", 0, WEB, disrupted=["v-0"])
    assert allowed(web, "v-0", "v-1") == ["v-0"]


@pytest.mark.parametrize("value", [False, "false"])
def test_switched_off_it_abstains(web, value):
    web.inventory.feature_gates = {"PodDisruptionBudgetsSupport": value}
    assert allowed(web, *ALL) is None
