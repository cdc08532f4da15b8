"""Resources of terminating pods are counted on for a while, then not any more."""

from dataclasses import replace

import pytest

from pumice.config import EvictionSettings, policy_from_dict
from pumice_builtin_actions.allocate import Allocate
from tests.framework._build import World, pipelined, policy
from tests.framework.session.evictions._promises import Cycles, promises


def waiting(world, seconds):
    """``old`` should have been gone so many seconds ago; ``want`` waits for its resources."""
    world.node("a", cpu=1).running("old", "a").job("want")
    pods = world.inventory.pods
    pods["old-t-0"] = replace(pods["old-t-0"], deleted=world.now - seconds)
    return world


@pytest.mark.parametrize("seconds, expected", [(60, {"want-t-0": "a"}), (61, {})])
def test_they_are_counted_on_until_the_limit(seconds, expected):
    settings = EvictionSettings(terminating=60)
    wiring = replace(policy([], actions=[Allocate]), evictions=settings)
    decisions = waiting(World(), seconds).run(wiring)
    assert pipelined(decisions) == expected


def test_0_is_no_limit():
    wiring = replace(policy([], actions=[Allocate]), evictions=EvictionSettings(terminating=0))
    assert pipelined(waiting(World(), 1e6).run(wiring)) == {"want-t-0": "a"}


def test_it_is_used_and_not_ready():
    session = waiting(World(), 100).session(promises(terminating=60), verify=True)
    assert session.nodes.idle[0].tolist() == session.nodes.future_idle[0].tolist()
    assert session.jobs["ns/old"].ready_count == 0


def test_a_claimant_takes_other_resources_then():
    """The reservation on a node that does not answer ends; another victim serves the claimant."""
    world = World().nodes("a", "b", cpu=1).running("low", "a", priority=1)
    world.running("mid", "b", priority=2).job("want", priority=5)
    settings = {"reservation": "20s", "terminating": "40s"}
    wiring = policy_from_dict({"preset": "pumice", "evictions": settings})
    cycles = Cycles(world, wiring, eviction_takes=1000)
    decisions = cycles.run(10)
    assert [one.uid for cycle in decisions for one in cycle.evictions] == ["low-t-0", "mid-t-0"]
    assert pipelined(decisions[5]) == {"want-t-0": "b"}
