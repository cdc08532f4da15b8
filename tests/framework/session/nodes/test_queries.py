"""Node queries: cached answers equal fresh ones, and how a node is chosen."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pumice import SKIP, Plugin, hookimpl
from pumice.errors import InvariantError, PluginError
from pumice.fit_errors import FitErrors
from pumice.model.task import TaskStatus
from pumice.session.nodes import class_cache
from pumice.verdicts import Code, FitError, NodeVerdicts, Status
from pumice_builtin_actions.allocate import Allocate
from pumice_builtin_plugins.binpack import Binpack
from pumice_builtin_plugins.gang import Gang
from pumice_builtin_plugins.predicates.plugin import Predicates
from tests.framework._build import World, bound, plugin_entry, policy, reasons, task
from tests.framework._worlds import worlds

_S = TaskStatus


# -- plugins of every scope and form


class Zone(Plugin):
    """Static, vector only: nodes of zone a."""

    @hookimpl(scope="static")
    def predicate_nodes(self, nodes):
        wrong = nodes.fact("zone", lambda node: node.labels.get("zone") != "a")
        return NodeVerdicts.accept(len(nodes)).reject(wrong, "wrong zone", Code.UNRESOLVABLE)

    @hookimpl(scope="static")
    def batch_node_order(self, nodes):
        return nodes.fact("odd", lambda node: int(node.name[-1]) % 2, float)


class Crowd(Plugin):
    """Row, both forms: at most two pods a node, and the more cpu is used the better."""

    asked = 0

    @hookimpl(scope="row")
    def predicate(self, node):
        self.asked += 1
        return FitError.of("crowded") if len(node.tasks) >= 2 else None

    @hookimpl(scope="row")
    def predicate_nodes(self, nodes):
        self.asked += len(nodes)
        return NodeVerdicts.accept(len(nodes)).reject(nodes.pod_count >= 2, "crowded")

    @hookimpl(scope="row")
    def node_order(self, node):
        return node.used.cpu / 1000

    @hookimpl(scope="row")
    def batch_node_order(self, nodes):
        return nodes.used[:, 0] / 1000


class Slow(Plugin):
    """Row, scalar only: no node with two idle GPUs, and a score of one per GPU."""

    @hookimpl(scope="row")
    def predicate(self, node):
        return "two left" if node.idle.get("nvidia.com/gpu") == 2000 else None

    @hookimpl(scope="row")
    def node_order(self, node):
        return node.idle.get("nvidia.com/gpu") / 1000 or None


class Quota(Plugin):
    """Cluster, vector only: refuses all nodes once four pods are placed."""

    @hookimpl
    def predicate_nodes(self, nodes):
        full = int(nodes.table.pod_count.sum()) >= 4
        return NodeVerdicts.accept(len(nodes)).reject(np.full(len(nodes), full), "all full")

    @hookimpl
    def batch_node_order(self, nodes):
        return np.full(len(nodes), float(len(nodes)))


class Last(Plugin):
    """Cluster, scalar only, behind the others."""

    @hookimpl
    def predicate(self, task, node):
        taken = node.table.pod_count[-1] > 0
        return FitError.of("the last node is taken") if taken and node.row == 0 else None


EVERYONE = (Zone, Crowd, Slow, Quota, Last)


def fresh_answers(session, task_, rows):
    """Codes, reasons and scores of these nodes, computed by calling each plugin."""
    table = session.nodes
    codes, texts, scores = [], [], []
    for row in rows:
        view = table.view(np.array([row]))
        handle = table.handle(row)
        error = None
        for plugin in session.plugins.values():
            if error is not None:
                break
            if hasattr(plugin, "predicate_nodes"):
                error = plugin.predicate_nodes(nodes=view).error(0)
            else:
                names = {"task": task_, "node": handle}
                wanted = plugin.predicate.__code__.co_varnames[
                    1 : plugin.predicate.__code__.co_argcount
                ]
                error = plugin.predicate(**{name: names[name] for name in wanted})
        if isinstance(error, str):
            error = FitError.of(error)
        codes.append(error.code if error else 0)
        texts.append(str(error or ""))
        scores.append(
            session.plugins["zone"].batch_node_order(view)[0]
            + session.plugins["crowd"].node_order(handle)
            + (session.plugins["slow"].node_order(handle) or 0)
            + len(rows)
        )
    return codes, texts, scores


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(world=worlds(), steps=st.lists(st.integers(0, 999), max_size=12), few=st.integers(0, 3))
def test_cached_answers_equal_fresh_ones(world, steps, few):
    session = world.session(policy([Gang], [*EVERYONE]), verify=True)
    session.plugins.pop("gang")
    usual, class_cache.FEW_ROWS = (
        class_cache.FEW_ROWS,
        few,
    )  # so that every refresh path runs
    try:
        _apply_steps(session, steps)
    finally:
        class_cache.FEW_ROWS = usual


def _apply_steps(session, steps):
    everybody = [t for job in session.jobs.values() for t in job.tasks.values()]
    statement = session.statement()
    for number in steps:
        pending = [t for t in everybody if t.status is _S.PENDING]
        running = [t for t in everybody if t.status is _S.RUNNING]
        if number % 5 == 0:
            statement.rollback(number % (len(statement) + 1))
        elif number % 5 == 1 and running:
            statement.evict(running[number % len(running)], "room")
        elif pending:
            place = statement.pipeline if number % 5 == 2 else statement.allocate
            place(pending[number % len(pending)], number % len(session.nodes))
        for asking in pending[:3]:
            if asking.status is not _S.PENDING:
                continue
            every = np.arange(len(session.nodes))
            some = every[number % 2 :: 2]
            for rows in (None, some):
                if rows is not None and not len(rows):
                    continue
                listed = every if rows is None else rows
                codes, texts, scores = fresh_answers(session, asking, listed.tolist())
                verdicts = session.queries.verdicts(asking, rows)
                assert verdicts.codes.tolist() == codes
                assert [str(verdicts.error(i) or "") for i in range(len(listed))] == texts
                assert session.queries.scores(asking, rows).tolist() == scores
            assert session.queries.best(asking) == _obvious_choice(session, asking)
    statement.discard()


def _obvious_choice(session, task_):
    table = session.nodes
    codes, _, _ = fresh_answers(session, task_, range(len(table)))
    asked = [i for i, amount in enumerate(task_.vector.tolist()) if i < 2 or amount]

    def fits(column, row):
        return all(task_.vector[i] <= column[row][i] for i in asked)

    able = [r for r in range(len(table)) if not codes[r] and fits(table.future_idle, r)]
    idle = [r for r in able if fits(table.idle, r)]
    group = idle or able
    if not group:
        return None
    _, _, scores = fresh_answers(session, task_, group)
    return (group[scores.index(max(scores))], bool(idle))


# -- what is recomputed


def counting(nodes):
    world = World().job("j", tasks=6)
    for number in range(nodes):
        world.node(f"n{number:02}")
    session = world.session(policy([Crowd]))
    session.queries.best(task(session, "j-t-0"))
    return session, session.plugins["crowd"]


def touch(session, rows):
    with session.statement() as statement:
        for row in rows:
            statement.pipeline(task(session, "j-t-0"), row)
            statement.rollback(0)


def test_only_changed_rows_are_recomputed():
    session, crowd = counting(40)
    assert crowd.asked == 40
    touch(session, [7])
    session.queries.best(task(session, "j-t-1"))
    assert crowd.asked == 41
    session.queries.best(task(session, "j-t-2"))
    assert crowd.asked == 41, "nothing changed, no plugin is called"


def test_many_changed_rows_are_recomputed_in_one_call_and_most_as_a_whole():
    session, crowd = counting(40)
    touch(session, range(15))
    session.queries.best(task(session, "j-t-1"))
    assert crowd.asked == 55
    touch(session, range(25))
    session.queries.best(task(session, "j-t-1"))
    assert crowd.asked == 95


def test_a_truncated_journal_recomputes_all_rows(monkeypatch):
    monkeypatch.setattr("pumice.model.nodes.journal._JOURNAL_LIMIT", 3)
    session, crowd = counting(20)
    touch(session, [1, 2])
    session.queries.best(task(session, "j-t-1"))
    assert crowd.asked == 40


def test_a_live_filter_is_called_every_time():
    class Live(Plugin):
        asked = 0

        @hookimpl
        def predicate_nodes(self, nodes):
            self.asked += 1

    session = World().node("a").node("b").job("j").session(policy([Live]))
    for _ in range(3):
        session.queries.best(task(session, "j-t-0"))
    assert session.plugins["live"].asked == 3
    assert session.queries.has_live_filters(task(session, "j-t-0"))


class Picky(Plugin):
    """Cluster, scalar only: no node whose number is below a threshold."""

    asked = 0
    least = 0

    @hookimpl
    def predicate(self, node):
        self.asked += 1
        return "too low" if int(node.name[1:]) < self.least else None


def picky(least, *others):
    world = World()
    for number in range(20):
        world.node(f"n{number:02}")
    session = world.job("j").session(policy([Picky, *others]))
    session.plugins["picky"].least = least
    return session


@pytest.mark.parametrize("least, asked", [(0, 1), (2, 3), (10, 24), (20, 24)])
def test_a_scalar_live_filter_is_called_by_rank_while_few_nodes_fail(least, asked):
    session = picky(least)
    choice = session.queries.best(task(session, "j-t-0"))
    assert (None if choice is None else choice.row) == (least if least < 20 else None)
    assert session.plugins["picky"].asked == asked


def test_a_live_filter_is_called_for_all_nodes_where_scores_depend_on_the_feasible_ones():
    class Emptiest(Plugin):
        @hookimpl
        def batch_node_order(self, nodes):
            return np.arange(len(nodes)) * -1.0

    session = picky(5, Emptiest)
    assert session.queries.best(task(session, "j-t-0")).row == 5
    assert session.plugins["picky"].asked == 20


def test_a_scope_may_depend_on_the_task():
    class Sometimes(Plugin):
        def reach(self, task):
            return "static" if task.name == "j-t-0" else "cluster"

        asked = 0
        reads = frozenset({"name"})

        @hookimpl(scope=reach)
        def predicate_nodes(self, nodes):
            self.asked += 1

    session = World().node("a").job("j", tasks=2).session(policy([Sometimes]))
    for name, expected in (("j-t-0", 1), ("j-t-1", 3)):
        session.plugins["sometimes"].asked = 0
        for _ in range(3):
            session.queries.best(task(session, name))
        assert session.plugins["sometimes"].asked == expected


# -- scores that compare nodes


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


# -- verification of caches


def test_a_scope_that_is_too_narrow_is_reported():
    class Wrong(Plugin):
        @hookimpl(scope="row")
        def predicate_nodes(self, nodes):
            full = int(nodes.table.pod_count.sum()) > 0
            return NodeVerdicts.accept(len(nodes)).reject(np.full(len(nodes), full), "full")

    session = World().node("a").node("b").job("j", tasks=2).session(policy([Wrong]), verify=True)
    session.queries.best(task(session, "j-t-0"))
    with session.statement() as statement:
        statement.allocate(task(session, "j-t-0"), 0)
        with pytest.raises(InvariantError, match=r"cached codes of task ns/j-t-1 on node b") as e:
            session.queries.best(task(session, "j-t-1"))
    assert "scope reaches further" in e.value.hint


def test_scalar_and_vector_forms_that_disagree_are_reported():
    class Two(Plugin):
        @hookimpl(scope="row")
        def node_order(self, node):
            return 1.0

        @hookimpl(scope="row")
        def batch_node_order(self, nodes):
            return np.full(len(nodes), 2.0)

    session = World().node("a").node("b").job("j", tasks=2).session(policy([Two]), verify=True)
    session.queries.best(task(session, "j-t-0"))
    with session.statement() as statement:
        statement.allocate(task(session, "j-t-0"), 0)
        with pytest.raises(InvariantError, match="cached scores"):
            session.queries.best(task(session, "j-t-1"))


# -- how filters combine


def filter_plugin(name, text, *, scope="row", code=Code.UNSCHEDULABLE, form="predicate"):
    if form == "predicate":

        @hookimpl(scope=scope)
        def method(self, task, node, job):
            return FitError.of(text, code) if text else None
    else:

        @hookimpl(scope=scope)
        def method(self, task, nodes):
            return NodeVerdicts.accept(len(nodes)).reject(np.ones(len(nodes), bool), text, code)

    method.__name__ = form
    return type(name, (Plugin,), {form: method})


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
    with pytest.raises(PluginError, match=r"plugin off .* failed in predicate"):
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
    with pytest.raises(PluginError, match=r"plugin off .* failed in node_order"):
        session.queries.scores(task(session, "j-t-0"))


def test_an_infinite_score_names_the_node():
    class Off(Plugin):
        @hookimpl
        def node_order(self, node):
            return float("inf") if node.name == "b" else 1

    session = World().node("a").node("b").job("j").session(policy([Off]))
    with pytest.raises(PluginError, match="node b scores inf"):
        session.queries.scores(task(session, "j-t-0"))


@pytest.mark.parametrize("scope", ["row", "cluster"])
def test_a_node_with_a_nan_score_is_excluded(scope):
    class Off(Plugin):
        @hookimpl(scope=scope)
        def node_order(self, node):
            return float("nan") if node.name == "a" else -1.0

    session = World().node("a").node("b").job("j").session(policy([Off]), verify=True)
    assert session.queries.best(task(session, "j-t-0")) == (1, True)


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


# -- classes


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


# -- choosing


class Favourite(Plugin):
    """The higher the letter of a node's name, the better."""

    @hookimpl(scope="static")
    def node_order(self, node):
        return float(ord(node.name[0]))


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


# -- explaining


def test_fit_errors_report_resources_first_then_filters_and_count_them():
    world = World().node("a", cpu=0.5, memory=0.5).node("b", memory=0).node("c").node("d")
    session = world.job("j").session(policy([filter_plugin("Closed", "closed")]))
    errors = session.queries.fit_errors(task(session, "j-t-0"))
    assert str(errors) == (
        "0/4 nodes are unavailable: 1 Insufficient cpu, 1 Insufficient memory, 2 closed."
    )
    assert errors.histogram() == {"Insufficient cpu": 1, "Insufficient memory": 1, "closed": 2}
    assert errors.unresolvable(4).tolist() == [False] * 4


def test_reasons_are_sorted_as_texts():
    world = World().job("j", cpu=2)
    for number in range(12):
        world.node(f"n{number:02}", cpu=1 if number < 10 else 4)
    session = world.session(policy([filter_plugin("Closed", "closed", scope="cluster")]))
    text = str(session.queries.fit_errors(task(session, "j-t-0")))
    assert text == "0/12 nodes are unavailable: 10 Insufficient cpu, 2 closed."


def test_a_node_gives_each_of_its_reasons_once():
    class Two(Plugin):
        @hookimpl
        def predicate(self):
            return FitError(
                (
                    Status(Code.UNSCHEDULABLE, "full"),
                    Status(Code.UNRESOLVABLE, "tainted"),
                    Status(Code.UNSCHEDULABLE, "full"),
                )
            )

    session = World().node("a").node("b").job("j").session(policy([Two]))
    errors = session.queries.fit_errors(task(session, "j-t-0"))
    assert str(errors) == "0/2 nodes are unavailable: 2 full, 2 tainted."
    assert errors.unresolvable(2).all(), "the worst of a node's codes counts"


def test_fit_errors_of_some_nodes_name_only_those():
    world = World().node("a").node("b").node("c").job("j")
    closed = filter_plugin("Closed", "closed", code=Code.UNRESOLVABLE)
    session = world.session(policy([closed]))
    errors = session.queries.fit_errors(task(session, "j-t-0"), np.array([0, 2]), hyper_node="rack")
    assert str(errors) == "In hyperNode rack: 0/2 nodes are unavailable: 2 closed."
    assert errors.unresolvable(3).tolist() == [True, False, True]


def test_fit_errors_do_not_follow_later_changes():
    session = World().node("a", cpu=1).job("j", tasks=3, cpu=2).session(policy([]))
    first = session.queries.fit_errors(task(session, "j-t-0"))
    again = session.queries.fit_errors(task(session, "j-t-1"))
    overlaid = again.overlaid(np.array([True]), FitError.of("outside"))
    with session.statement() as statement:
        statement.allocate(task(session, "j-t-2"), 0)
        session.queries.fit_errors(task(session, "j-t-1"))
        assert str(first) == "0/1 nodes are unavailable: 1 Insufficient cpu."
    assert str(overlaid) == "0/1 nodes are unavailable: 1 outside."


def test_fit_errors_without_nodes_and_for_all_nodes():
    assert str(FitErrors.for_all(FitError.of("gone"), 3)) == "0/3 nodes are unavailable: 3 gone."
    assert str(FitErrors(head="skipped")) == "skipped"
    assert str(FitErrors()) == "0/0 nodes are unavailable"


# -- shards


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


def test_disabling_a_point_disables_its_vector_form():
    session = (
        World().node("a1").job("j").session(policy([plugin_entry(Zone, disable=["predicate"])]))
    )
    asking = task(session, "j-t-0")
    assert session.queries.best(asking) == (0, True)
    assert session.queries.scores(asking).tolist() == [1.0]


@pytest.mark.parametrize("scope", ["row", "span"])
def test_a_scorer_that_raises_leaves_no_stale_cache(scope):
    class Moody(Plugin):
        """Scores by pods, and raises once."""

        moody = False

        def span(self, task):
            return 0

        def check(self):
            if self.moody:
                self.moody = False
                raise ValueError("not now")

        @hookimpl(scope=scope)
        def batch_node_order(self, nodes):
            self.check()
            return nodes.table.pod_count[nodes.rows].astype(float)

        @hookimpl(scope=scope)
        def node_order(self, node):
            self.check()
            return float(node.table.pod_count[node.row])

    session = World().node("a").node("b").job("j", tasks=2).session(policy([Moody]))
    asking = task(session, "j-t-1")
    assert session.queries.scores(asking).tolist() == [0, 0]
    with session.statement() as statement:
        statement.allocate(task(session, "j-t-0"), 1)
        session.plugins["moody"].moody = True
        with pytest.raises(PluginError):
            session.queries.scores(asking)
        assert session.queries.scores(asking).tolist() == [0, 1]
