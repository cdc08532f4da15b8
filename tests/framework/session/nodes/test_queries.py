"""Node queries: preparing a task, choosing a node, and whether a request fits."""

import numpy as np
import pytest

from pumice import SKIP, Plugin, hookimpl
from pumice.model.task import TaskStatus
from pumice.verdicts import FitError, NodeVerdicts
from pumice_builtin_plugins.binpack import Binpack
from tests.framework._build import World, policy, task
from tests.framework.session.nodes._plugins import Favourite

_S = TaskStatus


# -- preparing


class Skipper(Plugin):
    """Objects to all nodes, but leaves tasks of role "free" alone; role "never" fits nowhere."""

    @hookimpl
    def pre_predicate(self, task, job):
        assert job is task.job
        return {"free": SKIP, "never": FitError.of("nowhere"), "text": "no way"}.get(task.role)

    @hookimpl(scope="static")
    def predicate_nodes(self, nodes):
        return NodeVerdicts.accept(len(nodes)).reject(np.ones(len(nodes), bool), "closed")


@pytest.fixture
def skipping():
    world = World().node("a").job("j", tasks=0, min_member=0)
    for role in ("free", "bound", "never", "text"):
        world.pod(role, "ns/j", role=role)
    return world.session(policy([Skipper], [Binpack]), verify=True)


def test_skip_leaves_the_plugin_out_for_this_task_alone(skipping):
    queries = skipping.queries
    for name in ("free", "bound", "free"):
        assert queries.prepare(task(skipping, name)) is None
        expected = (0, True) if name == "free" else None
        assert queries.best(task(skipping, name)) == expected
    assert queries.class_id(task(skipping, "free")) == queries.class_id(task(skipping, "bound"))


def test_an_objection_to_a_task_ends_the_attempt(skipping):
    assert str(skipping.queries.prepare(task(skipping, "never"))) == "nowhere"
    assert str(skipping.queries.prepare(task(skipping, "text"))) == "no way"


def test_idle_nodes_are_preferred_to_nodes_with_releasing_resources():
    world = World().node("a", cpu=2).node("b", cpu=2).job("j", cpu=2)
    world.job("leaves", on=["b"], cpu=2, pod={"deleted": 1.0})
    session = world.session(policy([Favourite]))
    waiting = task(session, "j-t-0")
    assert session.queries.best(waiting) == (0, True)
    only_b = session.queries.best(waiting, np.array([1]))
    assert only_b == (1, False)
    assert session.queries.best(waiting, exclude=np.array([True, False])) == (1, False)
    assert session.queries.best(waiting, exclude=np.array([True, True])) is None
    assert session.queries.best(waiting, np.array([], int)) is None


def test_ties_go_to_the_first_name():
    session = World().node("b").node("c").node("a").job("j").session(policy([Binpack]))
    assert session.queries.best(task(session, "j-t-0")) == (0, True)
    assert session.nodes.names == ["a", "b", "c"]


def test_a_single_node_is_taken_without_scoring():
    class Fails(Plugin):
        @hookimpl
        def batch_node_order(self, nodes):
            raise RuntimeError("asked")

    session = World().node("a").node("b", cpu=0).job("j").session(policy([Fails]))
    assert session.queries.best(task(session, "j-t-0")) == (0, True)


def test_best_node_decides_among_the_scored():
    class Chooser(Plugin):
        seen = None

        @hookimpl
        def best_node(self, task, scores):
            self.seen = scores
            return "b"

    class Quiet(Plugin):
        @hookimpl
        def best_node(self):
            return None

    world = World().node("a").node("b").node("c").job("j")
    session = world.session(policy([Quiet, Chooser], [Favourite]))
    assert session.queries.best(task(session, "j-t-0")) == (1, True)
    assert session.plugins["chooser"].seen == {97.0: ["a"], 98.0: ["b"], 99.0: ["c"]}
    silent = world.session(policy([Quiet], [Favourite]))
    assert silent.queries.best(task(silent, "j-t-0")) == (2, True)


def test_mapped_scores_count_when_the_same_plugin_reduces_them():
    class Mapper(Plugin):
        @hookimpl
        def node_map(self, nodes):
            return np.array([1.9, 9.9])[nodes.rows]

    class Reducer(Mapper):
        @hookimpl
        def node_reduce(self, scores):
            return 10.0 - scores

    world = World().node("a").node("b").job("j")
    session = world.session(policy([Mapper]))
    assert session.queries.scores(task(session, "j-t-0")).tolist() == [0.0, 0.0]
    session = world.session(policy([Reducer]))
    assert session.queries.scores(task(session, "j-t-0")).tolist() == [9.0, 1.0]


def test_normalised_scores_are_given_exactly_the_feasible_nodes():
    seen = []

    class Relative(Plugin):
        @hookimpl
        def batch_node_order(self, nodes):
            seen.append(nodes.names)
            return np.arange(len(nodes), dtype=float)

    session = World().node("a").node("b", cpu=0).node("c").job("j").session(policy([Relative]))
    assert session.queries.best(task(session, "j-t-0")) == (2, True)
    assert seen == [["a", "c"]]


# -- fitting


@pytest.mark.parametrize(
    "node, request_, fits",
    [
        pytest.param({"cpu": 2}, {"cpu": 2}, True, id="exactly"),
        pytest.param({"cpu": 2}, {"cpu": 2.001}, False, id="a thousandth short"),
        pytest.param({"gpu": 0}, {"gpu": 1}, False, id="a resource the node has not"),
        pytest.param({"pods": 0}, {}, False, id="no room for pods"),
        pytest.param({"memory": 0}, {"memory": 0}, True, id="nothing of nothing"),
    ],
)
def test_a_request_fits_a_node(node, request_, fits):
    session = World().node("a", **node).job("j", **request_).session(policy([]))
    asking = task(session, "j-t-0")
    assert session.queries.fits_idle(asking).tolist() == [fits]
    assert session.queries.fits_future(asking).tolist() == [fits]
    assert session.queries.feasible(asking).tolist() == [fits]


def test_an_overcommitted_node_takes_no_task_even_without_a_cpu_request():
    world = World().node("a", cpu=1).job("run", cpu=2, on=["a"]).job("j", cpu=0, memory=1)
    session = world.session(policy([]))
    assert session.queries.fits_idle(task(session, "j-t-0")).tolist() == [False]
