"""Scores of the scope ``span``: cached while what they compare with is unchanged."""

import numpy as np
import pytest

from pumice import Plugin, hookimpl
from pumice.errors import InvariantError
from tests.framework._build import World, policy, task


class Fullest(Plugin):
    """Span, both forms: one for the fullest of the given nodes, zero for the emptiest."""

    vectors = 0

    def span(self, task):
        used = self.session.nodes.used[:, 0]
        return int(used.min()), int(used.max())

    def _part(self, used, least, most):
        return (used - least) / (most - least) if most > least else used * 0.0

    @hookimpl(scope="span")
    def node_order(self, task, node):
        return self._part(float(node.table.used[node.row, 0]), *self.span(task))

    @hookimpl(scope="span")
    def batch_node_order(self, nodes):
        self.vectors += 1
        used = nodes.used[:, 0]
        return self._part(used, used.min(), used.max())


def fullest(*plugins, **options):
    world = World()
    for number in range(6):
        world.node(f"n{number}")
    return world.job("j", tasks=4).session(policy([Fullest, *plugins]), **options)


def place(session, name, row):
    statement = session.statement()
    assert statement.allocate(task(session, name), row) is None
    statement.keep()


def test_a_span_score_is_cached_while_its_span_is_unchanged():
    session = fullest(verify=True)
    queries, plugin = session.queries, session.plugins["fullest"]
    place(session, "j-t-0", 3)
    place(session, "j-t-1", 3)
    assert queries.scores(task(session, "j-t-3")).tolist() == [0, 0, 0, 1, 0, 0]
    place(session, "j-t-2", 4)
    session.queries._classes._verify = False
    asked = plugin.vectors
    assert queries.scores(task(session, "j-t-3")).tolist() == [0, 0, 0, 1, 0.5, 0]
    assert plugin.vectors == asked, "one row changed within the span"


def test_a_span_score_is_recomputed_when_its_span_changes():
    session = fullest(verify=True)
    place(session, "j-t-0", 3)
    assert session.queries.best(task(session, "j-t-3")).row == 3
    place(session, "j-t-1", 2)
    place(session, "j-t-2", 2)
    assert session.queries.scores(task(session, "j-t-3")).tolist() == [0, 0, 1, 0.5, 0, 0]
    assert session.queries.best(task(session, "j-t-3")).row == 2


def test_a_span_score_compares_exactly_the_given_nodes():
    session = fullest()
    place(session, "j-t-0", 3)
    place(session, "j-t-1", 3)
    place(session, "j-t-2", 4)
    rows = np.array([0, 4])
    waiting = task(session, "j-t-3")
    assert session.queries.scores(waiting, rows).tolist() == [0, 1]
    assert session.queries.future_scores(waiting, rows).tolist() == [0, 1]
    assert session.queries.best(waiting, rows).row == 4


def test_a_span_score_with_one_form_is_called_every_time():
    class Half(Plugin):
        asked = 0

        @hookimpl(scope="span")
        def batch_node_order(self, nodes):
            self.asked += 1
            return nodes.used[:, 0] / 1000

    session = fullest(Half)
    for _ in range(3):
        session.queries.scores(task(session, "j-t-0"))
    assert session.plugins["half"].asked == 3


def test_a_span_that_misses_a_dependency_is_reported():
    class Wrong(Fullest):
        def span(self, task):
            return None

        @hookimpl(scope="span")
        def node_order(self, task, node):
            return self._part(float(node.table.used[node.row, 0]), *Fullest.span(self, task))

    session = World().node("a").node("b").job("j", tasks=3).session(policy([Wrong]), verify=True)
    place(session, "j-t-0", 0)
    session.queries.best(task(session, "j-t-2"))
    place(session, "j-t-1", 1)
    with pytest.raises(InvariantError, match="cached totals"):
        session.queries.best(task(session, "j-t-2"))
