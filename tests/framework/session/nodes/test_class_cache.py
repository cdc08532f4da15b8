"""Cached answers per task class equal fresh ones, and only what changed is recomputed."""

import numpy as np
import pytest
from hypothesis import strategies as st

from pumice import Plugin, hookimpl
from pumice.errors import InvariantError, PluginError
from pumice.model.task import TaskStatus
from pumice.session.nodes import class_cache
from pumice.verdicts import FitError, NodeVerdicts
from pumice_builtin_plugins.gang import Gang
from tests.framework._build import World, policy, task
from tests.framework._worlds import worlds
from tests.framework.session.nodes._plugins import Zone
from tests.sampling import random_examples


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


@random_examples(20, 80, worlds(), st.lists(st.integers(0, 999), max_size=12), st.integers(0, 3))
def test_cached_answers_equal_fresh_ones(world, steps, few):
    session = world.session(policy([Gang], [*EVERYONE]), verify=True)
    session.plugins.pop("gang")
    # A low threshold, so that both ways to refresh are used.
    usual, class_cache.FEW_ROWS = class_cache.FEW_ROWS, few
    try:
        _apply_steps(session, steps)
    finally:
        class_cache.FEW_ROWS = usual


def _apply_steps(session, steps):
    everybody = [t for job in session.jobs.values() for t in job.tasks.values()]
    statement = session.statement()
    for number in steps:
        pending = [t for t in everybody if t.status is TaskStatus.PENDING]
        running = [t for t in everybody if t.status is TaskStatus.RUNNING]
        if number % 5 == 0:
            statement.rollback(number % (len(statement) + 1))
        elif number % 5 == 1 and running:
            statement.evict(running[number % len(running)], "room")
        elif pending:
            place = statement.pipeline if number % 5 == 2 else statement.allocate
            place(pending[number % len(pending)], number % len(session.nodes))
        for asking in pending[:3]:
            if asking.status is not TaskStatus.PENDING:
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


class Fussy(Plugin):
    """Scores by what is in use; raises for the nodes that it is told."""

    raises_for = ""

    @hookimpl(scope="row")
    def node_order(self, node):
        if node.name == self.raises_for:
            raise ValueError("no")
        return -float(node.used.cpu)


def test_a_scorer_that_raises_is_asked_about_the_node_again():
    world = World().node("a", cpu=4).node("b", cpu=4).job("j", tasks=3, cpu=1)
    session = world.session(policy([Fussy]))
    asking, fussy = task(session, "j-t-0"), session.plugins["fussy"]
    assert session.queries.best_idle(asking, among_future=False) == 0
    with session.statement() as statement:
        statement.allocate(task(session, "j-t-1"), 0)
        fussy.raises_for = "a"
        with pytest.raises(PluginError):
            session.queries.best_idle(asking, among_future=False)
        fussy.raises_for = ""
        assert session.queries.best_idle(asking, among_future=False) == 1
    assert session.queries.best_idle(asking, among_future=False) == 0


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


def test_nodes_rejected_for_the_whole_cycle_are_left_out():
    class Tainted(Plugin):
        says = "b"

        def static_rejections(self, task):
            return np.array([name == self.says for name in self.session.nodes.names])

        @hookimpl
        def predicate(self, task, node):
            asked.append(node.name)
            return "tainted" if node.name == "b" else None

    class Liar(Tainted):
        says = "a"

    asked = []
    world = World().node("b").node("c").job("j", tasks=1)
    session = world.session(policy([Tainted]))
    waiting = task(session, "j-t-0")
    assert session.queries.static_rejections(waiting).tolist() == [True, False]
    assert session.queries.future_scores(waiting).tolist() == [-np.inf, 0.0]
    assert session.queries.verdicts(waiting).ok.tolist() == [False, True]
    lying = World().node("a").job("j").session(policy([Liar]), verify=True)
    with pytest.raises(InvariantError, match="no filter rejects task ns/j-t-0 on node a"):
        lying.queries.best(task(lying, "j-t-0"))


def test_nodes_are_scored_only_once_one_fits():
    class Scorer(Plugin):
        asked = 0

        @hookimpl(scope="row")
        def batch_node_order(self, nodes):
            self.asked += len(nodes)
            return np.zeros(len(nodes))

    world = World().node("a", cpu=2).node("b", cpu=2)
    session = world.job("big", cpu=3).job("run", on=["a"], cpu=2).session(policy([Scorer]))
    scorer = session.plugins["scorer"]
    assert session.queries.best(task(session, "big-t-0")) is None
    assert session.queries.resolvable(task(session, "big-t-0")).tolist() == [True, True]
    assert scorer.asked == 0
    assert session.queries.scores(task(session, "big-t-0")).tolist() == [0.0, 0.0]
    assert scorer.asked == 2
