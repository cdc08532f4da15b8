"""The log has the words of an explanation, and only what is asked for."""

import pytest

from pumice.explain.log import concerns, line, log_ledger, log_points
from pumice.hookspecs import POINTS
from pumice.log import logger
from pumice_builtin_actions.allocate import Allocate
from pumice_builtin_actions.preempt import Preempt
from pumice_builtin_plugins.gang import Gang
from pumice_builtin_plugins.priority import Priority
from tests.framework._build import World, policy

POLICY = policy([Priority, Gang], actions=[Allocate, Preempt])


def lines(level, job=""):
    world = World().node("a", cpu=1).job("v", on=["a"]).job("j").job("k")
    found = []
    logger.enable("pumice")
    sink = logger.add(lambda message: found.append(message.record["message"]), level="DEBUG")
    try:
        world.run(POLICY, ledger=log_ledger(level, list(POINTS), job=job), verify=False)
    finally:
        logger.remove(sink)
        logger.disable("pumice")
    return [text for text in found if text.startswith("cycle 1 ns/")]


def test_no_ledger_without_need():
    assert log_ledger(0, list(POINTS)) is None
    assert log_ledger(1, list(POINTS)) is None


def test_each_level_adds_to_the_one_before():
    counts = [len(lines(level)) for level in (2, 3, 4, 5)]
    assert counts == sorted(counts)
    assert counts[0] < counts[1] < counts[2]
    assert "queue_order" not in log_points(4, list(POINTS))
    assert "queue_order" in log_points(5, list(POINTS))


def test_skips_have_the_reason_code():
    said = lines(2)
    assert (
        "cycle 1 ns/j: skip: preempt: VictimsProtected: "
        "the plugins allow no victim where it would help"
    ) in said
    assert not any("answers" in text for text in said)


def test_votes_name_plugin_and_tier():
    assert "cycle 1 ns/j: gang (tier 1) answers job_starving(ns/j): True" in lines(3)


@pytest.mark.parametrize("job", ["ns/j", "j"])
def test_only_one_job(job):
    said = lines(3, job)
    assert said
    assert all(text.startswith("cycle 1 ns/j: ") for text in said)


def test_an_event_of_another_job_that_evicts_for_it_concerns_it():
    assert concerns({"job": None, "claimant": "ns/j"}, "j")
    assert not concerns({"job": "ns/jj"}, "j")


def test_a_discard_says_what_it_undid():
    event = {"event": "discard", "cycle": 3, "job": "ns/j", "kinds": {"evict": 2, "pipeline": 1}}
    assert line(event) == "cycle 3 ns/j: discard 2 evict, 1 pipeline"
