"""Changes with which a job would run, found by deciding the cluster again."""

from pumice.explain import run_explained
from pumice.explain.counterfactuals import find_changes
from pumice_builtin_actions.allocate import Allocate
from pumice_builtin_actions.preempt import Preempt
from pumice_builtin_plugins.gang import Gang
from pumice_builtin_plugins.predicates.plugin import Predicates
from pumice_builtin_plugins.priority import Priority
from tests.framework._build import World, policy
from tests.framework.explain._scheduler import scheduler_of

POLICY = policy([Priority, Gang], [Predicates], actions=[Allocate, Preempt])


def found_for(world, *, budget=60.0, policy_=POLICY):
    scheduler = scheduler_of(world, policy_)
    inventory = scheduler.backend.snapshot()
    explanation = run_explained(scheduler).explain("ns/j")
    tried = []
    result = find_changes(
        explanation,
        inventory,
        policy_,
        now=scheduler.backend.now(),
        budget=budget,
        progress=tried.append,
    )
    assert result.tried == len(tried)
    return result


def changes(world, **options):
    return {c.kind: (c.change, c.result) for c in found_for(world, **options).found}


def test_a_smaller_request():
    world = World().node("a", cpu=4).job("v", cpu=3, on=["a"]).job("j", cpu=2)
    assert changes(world)["request"] == ("its tasks ask for 1 cpu instead of 2", "it starts")


def test_the_end_of_a_job():
    world = World().node("a", cpu=4).job("v", cpu=4, on=["a"]).job("j", cpu=4)
    text, result = changes(world)["victim"]
    assert text.startswith("job ns/v ends (1 pods, 4 cpu")
    assert result == "it starts"


def test_a_higher_priority_and_a_vote():
    world = World().node("a", cpu=4).job("v", tasks=4, min_member=1, on=["a"] * 4).job("j", cpu=1)
    found = changes(world)
    assert found["priority"][1] == "it starts after 1 eviction"
    assert found["vote"] == (
        "policy: priority without preemptable (disable = ['preemptable'])",
        "it starts after 1 eviction",
    )


def test_a_smaller_gang():
    world = World().node("a", cpu=3).job("v", on=["a"]).job("j", tasks=3)
    assert changes(world)["gang"] == ("2 tasks instead of 3 at once (minMember)", "it starts")


def test_what_the_budget_leaves_out_is_said():
    world = World().node("a", cpu=4).job("v", cpu=3, on=["a"]).job("j", cpu=2)
    result = found_for(world, budget=0)
    assert not result.found
    assert result.tried == 0
    assert result.not_tried
    assert "not tried, as the time ran out: its tasks ask for" in result.text
