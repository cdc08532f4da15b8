"""Revocable zones: windows of time, and how many tasks a job loses at once."""

from datetime import UTC, datetime

import pytest

from pumice import PERMIT, REJECT
from pumice.config import policy_from_dict
from pumice.errors import PolicyError
from pumice.model.cluster import build_cluster
from pumice.session.session import Session
from pumice.verdicts import Code
from pumice_builtin_plugins.tdm.disruption_budget import (
    MAX_UNAVAILABLE,
    MIN_AVAILABLE,
    max_evictions,
)
from pumice_builtin_plugins.tdm.plugin import ZONE, is_open

DAY = {"tdm.revocable-zone.day": "08:00-18:00"}


def at(clock):
    return datetime.fromisoformat(f"2026-03-04T{clock}").replace(tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    "window, clock, inside",
    [
        ("08:00-18:30", "07:59:59", False),
        ("08:00-18:30", "08:00:00", True),
        ("8:00 - 18:30", "18:30:00", True),
        ("08:00-18:30", "18:30:01", False),
        ("00:00-00:00", "00:00:00", True),
        ("00:00-00:00", "23:59:59", True),
        ("12:00-12:00", "11:59:59", False),
        ("22:00-06:00", "22:00:00", True),
        ("22:00-06:00", "23:59:59", True),
        ("22:00-06:00", "05:00:00", False),
    ],
)
def test_windows(window, clock, inside):
    assert is_open(window, at(clock)) == inside


@pytest.mark.parametrize("window", ["", "8-18", "08:00", "08:00-24:00", "08:60-09:00", "a:00-b:00"])
def test_an_invalid_window_is_refused_with_the_option_named(world, window):
    with pytest.raises(PolicyError, match=r"tdm\.revocable-zone\.day.*08:00-18:30"):
        world.open("tdm", **{"tdm.revocable-zone.day": window})


def test_an_invalid_period_is_refused(world):
    with pytest.raises(PolicyError, match=r"tdm\.evict\.period"):
        world.open("tdm", **{"tdm.evict.period": "often"})


@pytest.fixture
def zoned(world):
    for name, zone in {"n1": "day", "n2": "noon", "n3": ""}.items():
        world.node(name, cpu=9)
        world.inventory.nodes[name].labels = {ZONE: zone} if zone else {}
    world.now = at("12:00:00")
    return world


class TestNodes:
    def test_only_open_zones_and_only_pods_that_accept_them(self, zoned):
        zoned.job("x", {"facts": {"annotations": {ZONE: "*"}}}, {})
        zoned.open("tdm", **DAY)
        willing, other = zoned.tasks("x-0", "x-1")
        queries = zoned.session.queries
        assert queries.verdicts(willing).codes.tolist() == [Code.OK, Code.UNRESOLVABLE, Code.OK]
        assert queries.verdicts(other).codes.tolist() == [
            Code.UNRESOLVABLE,
            Code.UNRESOLVABLE,
            Code.OK,
        ]
        assert queries.scores(willing).tolist() == [100, 0, 0]
        assert queries.scores(other).tolist() == [0, 0, 0]

    def test_a_pod_that_says_it_is_preemptable_accepts_revocable_nodes(self, zoned):
        zoned.job("x", {"facts": {"annotations": {"volcano.sh/preemptable": "true"}}})
        zoned.open("tdm", **DAY)
        assert zoned.session.queries.verdicts(zoned.task("x-0")).ok[0]

    def test_without_zones_no_node_is_special(self, world):
        world.node("n1")
        world.job("x", {})
        world.open("tdm", **DAY)
        assert world.session.queries.verdicts(world.task("x-0")).ok.all()


class TestJobs:
    def test_jobs_that_are_not_preemptable_come_first_and_may_starve(self, zoned):
        zoned.job("a", {}, annotations={"volcano.sh/preemptable": "true"})
        zoned.job("b", {})
        plugin = zoned.open("tdm")
        a, b = zoned.job_of("a"), zoned.job_of("b")
        assert plugin.job_order(b, a) < 0 < plugin.job_order(a, b)
        assert plugin.job_order_key(b) < plugin.job_order_key(a)
        assert plugin.job_starving(b)
        assert not plugin.job_starving(a)

    def test_a_job_without_pending_tasks_does_not_starve(self, zoned):
        zoned.job("b", {"on": "n3"}, min_member=2)
        assert not zoned.open("tdm").job_starving(zoned.job_of("b"))

    def test_pipelined_is_a_vote(self, zoned):
        zoned.job("a", {"cpu": 1})
        zoned.job("b", {"on": "n3"})
        plugin = zoned.open("tdm")
        assert plugin.job_pipelined(zoned.job_of("a")) == REJECT
        assert plugin.job_pipelined(zoned.job_of("b")) == PERMIT


@pytest.mark.parametrize(
    "annotations, most",
    [
        ({}, 1),
        ({MAX_UNAVAILABLE: "3"}, 2),
        ({MAX_UNAVAILABLE: "1"}, 0),
        ({MAX_UNAVAILABLE: "0"}, 0),
        ({MAX_UNAVAILABLE: "26%"}, 1),
        ({MAX_UNAVAILABLE: "100%"}, 5),
        ({MIN_AVAILABLE: "1"}, 2),
        ({MIN_AVAILABLE: "3"}, 0),
        ({MIN_AVAILABLE: "4"}, 1),
        ({MIN_AVAILABLE: "30%"}, 1),
        ({MIN_AVAILABLE: "2", MAX_UNAVAILABLE: "0"}, 1),
        ({MIN_AVAILABLE: "few"}, 0),
        ({MAX_UNAVAILABLE: "-1"}, 0),
        ({MAX_UNAVAILABLE: ""}, 0),
    ],
)
def test_budgets_of_jobs(zoned, annotations, most):
    """Six tasks: three run, one is pending, two are done; so one is unavailable."""
    done = [{"facts": {"phase": phase}} for phase in ("Succeeded", "Failed")]
    zoned.job("v", *[{"on": "n1"}] * 3, {}, *done, annotations=annotations)
    zoned.open("tdm")
    assert max_evictions(zoned.job_of("v")) == most


class TestVictims:
    def test_only_a_pod_that_is_not_preemptable_preempts(self, zoned):
        no = {"facts": {"annotations": {"volcano.sh/preemptable": "false"}}}
        zone = {"volcano.sh/preemptable": "false", ZONE: "*"}
        zoned.job("v", {"on": "n3"}, {"on": "n3"}, {"on": "n1"})
        zoned.job("x", no, {}, {"facts": {"annotations": zone}})
        plugin = zoned.open("tdm", **DAY)
        candidates = zoned.tasks("v-2", "v-1", "v-0")
        victims = [
            plugin.preemptable(task, candidates) for task in zoned.tasks("x-0", "x-1", "x-2")
        ]
        assert victims == [zoned.tasks("v-1"), [], []]

    def test_the_last_round_is_remembered_beyond_the_cycle(self, zoned):
        zoned.job("v", *[{"on": "n1"}] * 3)
        data = {"actions": ["shuffle"], "tiers": [{"plugins": ["tdm"]}], "plugin": {"tdm": DAY}}
        policy, memory = policy_from_dict(data), {}

        def round_at(clock):
            cluster = build_cluster(zoned.inventory, now=at(clock))
            session = Session(cluster, policy, memory=memory)
            return len(session.ask.victim_tasks(list(cluster.tasks.values())))

        clocks = ("19:00:00", "19:00:59", "19:01:00", "19:01:30")
        assert [round_at(clock) for clock in clocks] == [1, 0, 1, 0]

    def test_zones_without_a_window_are_not_emptied(self, zoned):
        zoned.job("v", {"on": "n2"})
        zoned.now = at("20:00:00")
        assert zoned.open("tdm", **DAY).victim_tasks(zoned.tasks("v-0")) == []
