"""Which tasks share a class, and with it their cached answers."""

import pytest

from pumice import Plugin, hookimpl
from pumice.errors import PluginError
from pumice_builtin_plugins.binpack import Binpack
from tests.framework._build import World, policy, task


def test_tasks_with_equal_requests_are_one_class():
    world = World().node("a").job("i", tasks=2).job("k", tasks=1).job("big", cpu=2)
    world.job("picky", pod={"node_selector": {"zone": "a"}})
    world.job("labelled", pod={"labels": {"app": "x"}})
    session = world.session(policy([Binpack]))
    ids = {n: session.queries.class_id(t) for n, t in session.cluster.tasks.items()}
    assert ids["i-t-0"] == ids["i-t-1"] == ids["k-t-0"] == ids["labelled-t-0"]
    assert len({ids["i-t-0"], ids["big-t-0"], ids["picky-t-0"]}) == 3


@pytest.mark.parametrize(
    "read, classes",
    [("labels", 2), ("job", 3), ("queue", 2), ("role", 1), ("priority", 2), ("annotations", 1)],
)
def test_attributes_read_by_a_plugin_distinguish_classes(read, classes):
    class Reader(Plugin):
        reads = frozenset({read})

        @hookimpl(scope="static")
        def predicate_nodes(self, nodes):
            return None

    world = World().node("a").job("i").job("k", queue="r", priority=5)
    world.job("l", pod={"labels": {"app": "x"}})
    session = world.session(policy([Reader]))
    assert len({session.queries.class_id(t) for t in session.cluster.tasks.values()}) == classes


def test_a_class_key_distinguishes_classes_and_its_failure_names_the_plugin():
    class Keyed(Plugin):
        def class_key(self, task):
            return 1 // len(task.name.removeprefix("bad-t-0"))

        @hookimpl
        def node_order(self):
            return 0.0

    session = World().node("a").job("i").job("j").job("bad").session(policy([Keyed]))
    queries = session.queries
    assert queries.class_id(task(session, "i-t-0")) == queries.class_id(task(session, "j-t-0"))
    with pytest.raises(PluginError, match=r"plugin keyed .* failed in class_key"):
        queries.class_id(task(session, "bad-t-0"))
