"""Cooldown times."""

from datetime import UTC, datetime

import pytest

from pumice_builtin_plugins.cdp import COOLDOWN

PLACED = datetime(2026, 1, 1, 12, tzinfo=UTC)


def may_go(world, *, after, labels=None, annotations=None, at="2026-01-01T12:00:00Z", **facts):
    """Whether a pod placed at noon may be evicted so many seconds later."""
    condition = {"type": "PodScheduled", "status": "True", "lastTransitionTime": at}
    given = {
        "labels": labels or {},
        "annotations": annotations or {},
        "conditions": [condition],
        **facts,
    }
    world.node("n1")
    world.job("v", {"on": "n1", "facts": given})
    world.now = PLACED.timestamp() + after
    plugin, tasks = world.open("cdp"), world.tasks("v-0")
    assert plugin.preemptable(tasks) == plugin.reclaimable(tasks)
    return plugin.preemptable(tasks) == tasks


@pytest.mark.parametrize(
    "text, after, free",
    [
        ("10m", 599, False),
        ("10m", 600, True),
        ("1h30m", 5399, False),
        ("1.5h", 5400, True),
        ("0s", 0, True),
        ("-5m", 0, True),
        ("soon", 0, True),
        ("", 0, True),
    ],
)
def test_until_the_time_has_passed(world, text, after, free):
    assert may_go(world, after=after, annotations={COOLDOWN: text}) == free


def test_the_label_counts_first(world):
    assert not may_go(world, after=60, labels={COOLDOWN: "2m"}, annotations={COOLDOWN: "1s"})


@pytest.mark.parametrize("at", ["2026-01-01T14:00:00+02:00", "2026-01-01T12:00:00"])
def test_times_with_a_zone_and_without(world, at):
    assert not may_go(world, after=60, annotations={COOLDOWN: "2m"}, at=at)


@pytest.mark.parametrize("at", [None, "yesterday"])
def test_without_a_time_there_is_nothing_to_wait_for(world, at):
    assert may_go(world, after=0, annotations={COOLDOWN: "2m"}, at=at)


def test_a_pod_that_does_not_run_yet_is_not_cooling(world):
    assert may_go(world, after=0, annotations={COOLDOWN: "2m"}, phase="Pending")


@pytest.mark.parametrize("conditions", [(), [{"type": "PodScheduled", "status": "False"}]])
def test_a_pod_without_a_scheduled_condition_is_not_protected(world, conditions):
    assert may_go(world, after=0, annotations={COOLDOWN: "2m"}, conditions=conditions)
