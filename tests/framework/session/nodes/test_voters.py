"""How the filters and scores of several plugins combine, and how bad answers are reported."""

import numpy as np
import pytest

from pumice import Plugin, hookimpl
from pumice.errors import PluginError
from pumice.verdicts import Code, FitError, NodeVerdicts, Status
from tests.framework._build import World, plugin_entry, policy, task
from tests.framework.session.nodes._plugins import Zone, filter_plugin


@pytest.mark.parametrize("scopes", [("row", "cluster", "row"), ("cluster", "row", "static")])
@pytest.mark.parametrize("form", ["predicate", "predicate_nodes"])
def test_the_first_objection_in_policy_order_counts(scopes, form):
    plugins = [
        filter_plugin(f"P{number}", f"no {number}", scope=scope, form=form)
        for number, scope in enumerate(scopes)
    ]
    session = World().node("a").node("b").job("j").session(policy(plugins[:1], plugins[1:]))
    for row in (0, 1):
        assert str(session.queries.predicate(task(session, "j-t-0"), row)) == "no 0"


def test_a_fit_error_with_success_codes_is_no_objection():
    class Fine(Plugin):
        @hookimpl(scope="row")
        def predicate(self, node):
            return FitError((Status(Code.OK, "fine"),))

    other = filter_plugin("Other", "no")
    session = World().node("a").job("j", tasks=2).session(policy([Fine, other]), verify=True)
    assert str(session.queries.predicate(task(session, "j-t-0"), 0)) == "no"
    with session.statement() as statement:
        statement.pipeline(task(session, "j-t-1"), 0)
        assert str(session.queries.predicate(task(session, "j-t-0"), 0)) == "no"


def test_a_text_is_an_objection_that_evictions_may_resolve():
    class Text(Plugin):
        @hookimpl
        def predicate(self):
            return "just no"

    session = World().node("a").job("j").session(policy([Text]))
    error = session.queries.predicate(task(session, "j-t-0"), 0)
    assert error == FitError.of("just no", Code.UNSCHEDULABLE, "text")


@pytest.mark.parametrize("answer", [NodeVerdicts.accept(1), 7])
def test_verdicts_that_do_not_match_the_nodes_are_an_error_of_the_plugin(answer):
    class Off(Plugin):
        @hookimpl
        def predicate_nodes(self, nodes):
            return answer

    session = World().node("a").node("b").job("j").session(policy([Off]))
    with pytest.raises(PluginError, match=r"plugin off .*: predicate_nodes answered"):
        session.queries.verdicts(task(session, "j-t-0"))


@pytest.mark.parametrize(
    "answer",
    [np.zeros(1), [np.inf, 0.0], ["x", "y"]],
    ids=["length", "infinite", "text"],
)
def test_unusable_scores_are_an_error_of_the_plugin(answer):
    class Off(Plugin):
        @hookimpl
        def batch_node_order(self, nodes):
            return answer

    session = World().node("a").node("b").job("j").session(policy([Off]))
    with pytest.raises(PluginError, match=r"plugin off .*: batch_node_order answered"):
        session.queries.scores(task(session, "j-t-0"))


def test_an_infinite_score_names_the_node():
    class Off(Plugin):
        @hookimpl
        def node_order(self, node):
            return float("inf") if node.name == "b" else 1

    session = World().node("a").node("b").job("j").session(policy([Off]))
    with pytest.raises(PluginError, match="answered inf, a finite float or None for node b was"):
        session.queries.scores(task(session, "j-t-0"))


@pytest.mark.parametrize("scope", ["row", "cluster"])
def test_a_node_with_a_nan_score_is_excluded(scope):
    class Off(Plugin):
        @hookimpl(scope=scope)
        def node_order(self, node):
            return float("nan") if node.name == "a" else -1.0

    session = World().node("a").node("b").job("j").session(policy([Off]), verify=True)
    assert session.queries.best(task(session, "j-t-0")) == (1, True)


def test_disabling_a_point_disables_its_vector_form():
    session = (
        World().node("a1").job("j").session(policy([plugin_entry(Zone, disable=["predicate"])]))
    )
    asking = task(session, "j-t-0")
    assert session.queries.best(asking) == (0, True)
    assert session.queries.scores(asking).tolist() == [1.0]
