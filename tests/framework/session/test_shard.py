"""Sessions that prefer or require the nodes of their shard."""

from dataclasses import replace

import pytest

from pumice_builtin_actions.allocate import Allocate
from pumice_builtin_plugins.predicates.plugin import Predicates
from tests.framework._build import World, bound, policy, reasons
from tests.framework.session.nodes._plugins import Favourite


def sharded(world, wiring, mode, nodes):
    """A session with a sharding mode, whose shard has these nodes."""
    status = {"status": {"nodesInUse": nodes}}
    world.inventory.others["NodeShard"] = {wiring.scheduler.shard: status}
    settings = wiring.scheduler.model_copy(update={"sharding_mode": mode})
    return replace(wiring, scheduler=settings)


@pytest.mark.parametrize(
    "mode, nodes, expected",
    [
        pytest.param("none", ["a"], "b", id="none: all nodes"),
        pytest.param("hard", ["a"], "a", id="hard: only its own"),
        pytest.param("soft", ["a"], "a", id="soft: its own first"),
        pytest.param("soft", ["full"], "b", id="soft: others if it must be"),
        pytest.param("hard", ["full"], None, id="hard: else nowhere"),
    ],
)
def test_nodes_of_a_shard(mode, nodes, expected):
    world = World().node("a").node("b").node("full", cpu=0).job("j")
    decisions = world.run(sharded(world, policy([Favourite], actions=[Allocate]), mode, nodes))
    assert bound(decisions).get("j-t-0") == expected
    if expected is None:
        assert "2 node isn't in scheduler node shard" in reasons(decisions)["j"]


def test_idle_nodes_outside_a_soft_shard_are_preferred_to_pipelining_inside():
    world = World().node("a", cpu=1).node("b", cpu=1).job("j")
    world.job("leaves", on=["a"], pod={"deleted": 1.0})
    wiring = sharded(world, policy([Predicates], actions=[Allocate]), "soft", ["a"])
    assert bound(world.run(wiring)) == {"j-t-0": "b"}
