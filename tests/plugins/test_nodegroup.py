"""Which groups of nodes a queue may use, and how much of them."""

import numpy as np
import pytest

from pumice.config import policy_from_dict
from pumice.model.cluster import build_cluster
from pumice.session.session import Session
from pumice.verdicts import Code
from pumice_builtin_plugins.nodegroup import GROUP, LIMITS, GroupAffinity

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
RULES = GroupAffinity(("red",), ("green", "blue"), ("blue", "black"), ("black", "grey"))


def affinity(*required, preferred=()):
    return {"nodeGroupAffinity": {REQUIRED: list(required), PREFERRED: list(preferred)}}


@pytest.fixture
def grouped(world):
    for name, group in {"n1": "red", "n2": "blue", "n3": ""}.items():
        world.node(name, cpu=9)
        world.inventory.nodes[name].labels = {GROUP: group} if group else {}
    return world


@pytest.mark.parametrize(
    "group, allowed, score",
    [
        ("red", True, 100),
        ("green", True, 50),
        ("blue", False, 50),
        ("black", True, -1),
        ("grey", True, -1),
        ("white", False, 0),
    ],
)
def test_rules(group, allowed, score):
    assert RULES.allows(group) == allowed
    assert RULES.score(group, by_position=False) == score


def test_preferred_groups_by_position():
    rules = GroupAffinity(("a",), ("b", "a", "c", "d"))
    scores = {group: rules.score(group, by_position=True) for group in "abcd"}
    assert scores == {"a": 137.5, "b": 50, "c": 25, "d": 12.5}


def test_a_wrong_group_is_not_resolved_by_evictions(grouped):
    grouped.queue("q", affinity=affinity("red"))
    grouped.job("x", {"cpu": 1}, queue="q")
    grouped.open("nodegroup")
    verdicts = grouped.session.queries.verdicts(grouped.task("x-0"))
    assert verdicts.codes.tolist() == [Code.OK, Code.UNRESOLVABLE, Code.UNRESOLVABLE]
    assert str(verdicts.error(1)) == "node group blue is not for queue q"


def test_a_queue_of_nothing_but_empty_lists_has_rules(grouped):
    grouped.queue("q", affinity=affinity())
    grouped.job("x", {"cpu": 1}, queue="q")
    grouped.open("nodegroup", strict=False)
    assert not grouped.session.queries.verdicts(grouped.task("x-0")).ok.any()


def test_parents_in_a_circle_end_somewhere(grouped):
    grouped.queue("q", parent="p")
    grouped.queue("p", parent="q")
    grouped.job("x", {"cpu": 1}, queue="q")
    assert grouped.open("nodegroup", hierarchy=True)._queues["q"].affinity is None


@pytest.mark.parametrize(
    "text, ok",
    [
        ("", True),
        ("{}", True),
        ('{"red": {}}', True),
        ('{"red": {"cpu": "1"}}', True),
        ('{"red": {"cpu": "900m"}}', False),
        ('{"red": {"example.com/none": "0"}}', True),
        ('{"red": {"pods": 0}}', False),
        ('{"red": {"cpu": "-1"}}', False),
        ('{"red": {"cpu": []}}', False),
        ('{"red": 1}', False),
        ("[]", False),
        ("null", False),
        ("{", False),
    ],
)
def test_limits(grouped, text, ok):
    grouped.queue("q", affinity=affinity("red"), annotations={LIMITS: text})
    grouped.job("x", {"cpu": 1}, queue="q")
    grouped.open("nodegroup")
    assert grouped.session.queries.verdicts(grouped.task("x-0")).ok[0] == ok


def test_a_limit_counts_what_the_queue_holds_already_also_of_what_is_not_asked_for(grouped):
    limits = '{"red": {"memory": "1Gi"}}'
    grouped.queue("q", affinity=affinity("red"), annotations={LIMITS: limits})
    grouped.job("r", {"cpu": 1, "memory": "2Gi", "on": "n1"}, queue="q")
    grouped.job("x", {"cpu": 1}, queue="q")
    grouped.open("nodegroup")
    error = grouped.session.queries.predicate(grouped.task("x-0"), 0)
    assert str(error) == "queue q is at its limit in node group red"


def test_what_is_held_is_exact_after_an_undo(grouped):
    grouped.queue("q", affinity=affinity("red"), annotations={LIMITS: '{"red": {"cpu": 3}}'})
    grouped.job("r", {"cpu": 1, "on": "n1"}, queue="q")
    grouped.job("x", {"cpu": 2}, queue="q")
    plugin = grouped.open("nodegroup")
    before = {key: held.copy() for key, held in plugin._allocated.items()}
    statement = grouped.allocate("x-0", node="n1")
    statement.evict(grouped.task("r-0"), "test")
    assert plugin._allocated["q", "red"][0] == 2000
    statement.discard()
    assert plugin._allocated.keys() == before.keys()
    assert all(np.array_equal(plugin._allocated[key], held) for key, held in before.items())


def test_cached_answers_equal_fresh_ones(grouped):
    """With a limit the answer follows every placement; the session compares both."""
    grouped.queue("q", affinity=affinity("red", preferred=["blue"]))
    grouped.queue("p", affinity=affinity("red"), annotations={LIMITS: '{"red": {"cpu": 2}}'})
    grouped.job("x", *[{"cpu": 1}] * 3, queue="q")
    grouped.job("y", *[{"cpu": 1}] * 3, queue="p")
    policy = policy_from_dict({"actions": ["enqueue"], "tiers": [{"plugins": ["nodegroup"]}]})
    session = Session(build_cluster(grouped.inventory, now=0.0), policy, verify=True)
    placed = []
    statement = session.statement()
    for name in ("x-0", "y-0", "x-1", "y-1", "x-2", "y-2"):
        task = session.cluster.tasks[name]
        choice = session.queries.best(task)
        if choice is not None:
            statement.allocate(task, choice.row)
            placed.append(name)
    assert placed == ["x-0", "y-0", "x-1", "y-1", "x-2"]
