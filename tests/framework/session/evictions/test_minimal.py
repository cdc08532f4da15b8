"""Minimal: every victim that a plan does not need is spared."""

import pytest

from tests.framework._build import World
from tests.framework.session.evictions._promises import (
    Cycles,
    evicted,
    gone,
    greedy,
    plan,
    promises,
)


def crowd(**jobs):
    """Node ``a`` of 3 cpu with a task for each job, of the cpu and priority given."""
    world = World().node("a", cpu=3)
    for created, (name, (cpu, priority)) in enumerate(jobs.items()):
        world.running(name, "a", cpu=cpu, priority=priority, created=float(created))
    return world


def run(world, victims, **switches):
    session = world.session(promises(**{"atomic": True, "minimal": True, **switches}))
    assert plan(session, "want", [f"{name}-t-0" for name in victims], {"want-t-0": "a"})
    return evicted(session)


@pytest.mark.parametrize("minimal, left", [(True, ["low-t-0"]), (False, ["high-t-0", "low-t-0"])])
def test_the_more_important_of_two_is_spared(minimal, left):
    world = crowd(high=(1, 9), low=(1, 1), other=(1, 5)).job("want")
    assert run(world, ["high", "low"], minimal=minimal) == left


def test_of_equal_priority_the_older_one_is_spared():
    world = crowd(older=(1, 1), newer=(1, 1), other=(1, 1)).job("want")
    assert run(world, ["newer", "older"]) == ["newer-t-0"]
    assert run(world, ["older", "newer"]) == ["newer-t-0"]


def test_what_is_needed_goes():
    world = crowd(high=(1, 9), low=(1, 1), other=(1, 5)).job("want", cpu=2)
    assert run(world, ["high", "low"]) == ["high-t-0", "low-t-0"]


def test_one_large_victim_instead_of_two_small_ones_is_not_sought():
    """Victims are spared, never exchanged."""
    world = crowd(large=(2, 1), small=(1, 5)).job("want", cpu=2)
    assert run(world, ["large", "small"]) == ["large-t-0"]


def test_no_victim_is_needed_where_another_node_is_free():
    world = crowd(high=(3, 9)).node("b", cpu=1).job("want")
    assert run(world, ["high"]) == []


def test_a_gang_is_spared_as_a_whole_or_down_to_its_minimum():
    world = World().nodes("a", "b", "c", cpu=1)
    world.running("gang", ["a", "b", "c"], min_member=2).job("want")
    session = world.session(promises(atomic=True, minimal=True))
    assert plan(session, "want", [f"gang-t-{i}" for i in range(3)], {"want-t-0": "a"})
    assert evicted(session) == ["gang-t-0"]


@pytest.mark.parametrize("minimal", [True, False])
def test_a_victim_that_moves_without_need_stays(minimal):
    """``high`` would move to node b, though ``want`` fits on it as well."""
    world = crowd(high=(3, 9)).node("b", cpu=3).job("want", cpu=3)
    session = world.session(promises(atomic=True, minimal=minimal))
    places = {"high-t-0": "b", "want-t-0": "a"}
    assert plan(session, "want", ["high-t-0"], places)
    assert evicted(session) == ([] if minimal else ["high-t-0"])
    assert session.cluster.tasks["want-t-0"].node == ("b" if minimal else "a")


@pytest.mark.parametrize("minimal", [True, False])
def test_greedy_actions_pass_through_it(minimal):
    """Volcano's preempt evicts the small one first and then finds that it needs the large one."""
    world = World().node("a", cpu=4)
    world.running("small", "a", cpu=1, priority=1).running("large", "a", cpu=3, priority=2)
    world.job("want", cpu=3, priority=9)
    (decisions,) = Cycles(world, greedy(minimal=minimal)).run()
    assert gone(decisions) == (["large-t-0"] if minimal else ["small-t-0", "large-t-0"])


@pytest.mark.parametrize("minimal", [True, False])
def test_there_is_one_plan_for_a_job_in_a_cycle(minimal):
    world = World().nodes("a", "b", cpu=1).running("u", "a").running("v", "b")
    world.job("want", tasks=2, min_member=1)
    session = world.session(promises(atomic=True, minimal=minimal))
    assert plan(session, "want", ["u-t-0"], {"want-t-0": "a"})
    assert plan(session, "want", ["v-t-0"], {"want-t-1": "b"}) is not minimal


def test_a_victim_that_gets_its_own_node_back_is_not_in_the_way():
    """If ``big`` is spared, ``web`` finds room on its own node only: too many for ``want``."""
    spread = {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
    }
    world = World()
    for name, cpu in (("a", 2), ("b", 8)):
        world.node(name, cpu=cpu, labels={"kubernetes.io/hostname": name})
    world.running("big", "a", cpu=2)
    world.running("web", ["b", "b"], cpu=2, min_member=1, pod={"labels": {"app": "web"}})
    world.job("want", cpu=3, pod={"topology_spread": [spread]})
    session = world.session(promises(atomic=True, minimal=True))
    places = {"want-t-0": "b", "big-t-0": "b", "web-t-0": "a"}
    assert plan(session, "want", ["big-t-0", "web-t-0"], places)
    assert evicted(session) == ["big-t-0", "web-t-0"]


def test_the_tasks_of_the_claimant_are_placed_in_another_order_to_spare_a_victim():
    """The second task may go to node b, where the first would be, which may go to c as well."""
    near = {"zone": "near"}
    world = World().node("a", cpu=2, labels=near).node("b", cpu=2, labels=near).node("c", cpu=2)
    world.running("low", "a", cpu=2).job("want", cpu=2, min_member=2)
    world.pod("want-t-1", "ns/want", cpu=2, node_selector=near)
    session = world.session(promises(atomic=True, minimal=True))
    assert plan(session, "want", ["low-t-0"], {"want-t-0": "b", "want-t-1": "a"})
    assert evicted(session) == []


def test_any_task_of_a_gang_of_one_may_be_the_one_that_is_spared():
    world = World().node("a", cpu=1).node("b", cpu=2).job("want", tasks=2)
    world.running("gang", "b", cpu=2, min_member=1).pod("gang-t-1", "ns/gang", node="a")
    session = world.session(promises(atomic=True, minimal=True))
    places = {"want-t-0": "a", "want-t-1": "b"}
    assert plan(session, "want", ["gang-t-0", "gang-t-1"], places)
    assert evicted(session) == ["gang-t-0"]
