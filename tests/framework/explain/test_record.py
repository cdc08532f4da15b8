"""The ledger of explanations: objections only, counted, bounded, and no decision changes."""

from dataclasses import replace

import pytest

from pumice import Plugin, hookimpl
from pumice.explain import JobLedger, run_explained
from pumice.explain.record import _MOST_QUESTIONS
from pumice.verdicts import VoteDetails
from pumice_builtin_actions.allocate import Allocate
from pumice_builtin_actions.preempt import Preempt
from pumice_builtin_plugins.gang import Gang
from pumice_builtin_plugins.predicates.plugin import Predicates
from pumice_builtin_plugins.priority import Priority
from tests.framework._build import World, plugin_entry, policy
from tests.framework._worlds import seeded_world
from tests.framework.explain._scheduler import scheduler_of

POLICY = policy(
    [Priority, Gang],
    [plugin_entry(Predicates, disable=Predicates.beyond_upstream)],
    actions=[Allocate, Preempt],
)


class Strict(Plugin):
    """Lets no queue hold anything."""

    @hookimpl
    def allocatable(self, queue, task):
        return False

    def vote_details(self, point, *args):
        return VoteDetails("it is strict", {"asked": args[1].request})


class Unsure(Strict):
    def vote_details(self, point, *args):
        raise RuntimeError("no idea")


def recorded(world, policy_, jobs=None):
    cycle = run_explained(scheduler_of(world, policy_), JobLedger(jobs))
    return cycle, cycle.ledger.by_job


def test_equal_objections_are_one_row():
    world = World().node("a").job("j", tasks=3, min_member=1)
    _, found = recorded(world, policy([Strict], actions=[Allocate]))
    (row,) = found["ns/j"].objections.values()
    assert (row.action, row.point, row.plugin, row.tier) == ("allocate", "allocatable", "strict", 1)
    assert row.count == 3
    assert row.details.text == "it is strict"


def test_details_that_fail_cost_nothing():
    world = World().node("a").job("j")
    _, found = recorded(world, policy([Unsure], actions=[Allocate]))
    (row,) = found["ns/j"].objections.values()
    assert row.details is None


def test_only_the_jobs_that_are_asked_for():
    world = World().node("a").job("j").job("k")
    cycle, found = recorded(world, policy([Strict], actions=[Allocate]), ["ns/k"])
    assert [*found] == ["ns/k"]
    assert cycle.explain("ns/j").code == "QueueShare", "the verdict needs no ledger"


def test_votes_on_victims_are_bounded():
    world = World()
    for number in range(_MOST_QUESTIONS + 5):
        world.node(f"n{number:03}", cpu=1).job(f"v{number:03}", on=[f"n{number:03}"], priority=9)
    world.job("j", priority=9)
    _, found = recorded(world, POLICY)
    record = found["ns/j"]
    assert len(record.asked_rows) == _MOST_QUESTIONS
    assert record.not_stored["preempt"] >= 5


def crowded():
    """Three jobs of one priority, for none of which the plugins allow a victim."""
    world = World()
    for number in range(4):
        world.node(f"n{number}", cpu=1).job(f"v{number}", on=[f"n{number}"], priority=9)
    for name in ("one", "three", "two"):
        world.job(name, tasks=2, priority=9)
    return world


def without_shortcuts(policy_):
    settings = policy_.scheduler.model_copy(update={"plain": ("all",)})
    return replace(policy_, scheduler=settings)


def test_votes_that_are_not_asked_again_are_those_about_another_task():
    _, found = recorded(crowded(), POLICY)
    assert found["ns/one"].asked_rows
    for name in ("ns/two", "ns/three"):
        record = found[name]
        assert not record.asked_rows
        questions = record.all_questions()
        assert {question.subject.job.uid for question in questions} == {name}
        assert record.asked["preempt"] == len(questions) == len(found["ns/one"].asked_rows)


def test_if_only_some_jobs_are_recorded_their_votes_are_asked():
    _, found = recorded(crowded(), POLICY, ["ns/two"])
    assert found["ns/two"].asked_rows


def test_votes_that_are_not_asked_again_change_no_list_of_victims():
    cycle, _ = recorded(crowded(), POLICY)
    plain, _ = recorded(crowded(), without_shortcuts(POLICY))
    for job in ("ns/one", "ns/two", "ns/three"):
        assert cycle.explain(job).victims == plain.explain(job).victims
        assert len(cycle.explain(job).victims) == 4


@pytest.mark.parametrize("seed", range(25))
def test_shortcuts_change_no_verdict(seed):
    cycle, _ = recorded(seeded_world(seed), POLICY)
    plain, _ = recorded(seeded_world(seed), without_shortcuts(POLICY))
    for job in cycle.session.jobs:
        one, other = cycle.explain(job), plain.explain(job)
        assert (one.verdict, one.code, one.binding) == (other.verdict, other.code, other.binding)


def test_a_cycle_forgets_the_last_one():
    scheduler = scheduler_of(World().node("a").job("j", cpu=99), POLICY)
    ledger = JobLedger()
    first = run_explained(scheduler, ledger)
    assert first.ledger.served
    run_explained(scheduler, ledger)
    assert ledger.cycle == 2
    assert ledger.served["allocate"].count("ns/j") <= 2


@pytest.mark.parametrize("seed", range(30))
def test_it_changes_no_decision(seed):
    plain = seeded_world(seed).run(POLICY)
    cycle, _ = recorded(seeded_world(seed), POLICY)
    assert cycle.decisions == plain
