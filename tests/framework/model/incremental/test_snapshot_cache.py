"""Columns and selections that are cached from cycle to cycle."""

from dataclasses import replace

import numpy as np
import pytest

from pumice.errors import InvariantError
from pumice.model.incremental.column_cache import ColumnCache
from pumice.model.incremental.keeper import ClusterKeeper
from tests.framework._build import NOW, World, policy


class Asked:
    """Computes a number and records for which objects it was called."""

    def __init__(self, answer):
        self.answer = answer
        self.about = []

    def __call__(self, thing):
        self.about.append(getattr(thing, "uid", thing))
        return self.answer(thing)

    def take(self):
        about, self.about = self.about, []
        return about


class Cycles:
    """Clusters one after another; each begins when the last is over."""

    def __init__(self, world, **options):
        self.keeper = ClusterKeeper(**options)
        self.inventory = world.inventory
        self.last = None

    def next(self, **tables):
        changes = {
            kind: {
                name: fact
                for name, fact in {**getattr(self.inventory, kind), **objects}.items()
                if fact is not None
            }
            for kind, objects in tables.items()
        }
        self.inventory = replace(self.inventory, **changes)
        if self.last is not None:
            self.keeper.take_back(self.last)
        self.last = self.keeper.cluster(self.inventory, now=NOW)
        return self.last


@pytest.fixture
def cycles():
    world = World().nodes("a", "b", "c", "d").job("j", tasks=2).job("l")
    return Cycles(world.running("old", on=["a", "b"]).job("x", tasks=0).job("y", tasks=0))


def test_a_lasting_column_is_recomputed_for_changed_nodes_only(cycles):
    closed = Asked(lambda node: node.unschedulable)

    def column(cluster):
        return cluster.nodes.fact_column("closed", closed, lasting=True).tolist()

    assert column(cycles.next()) == [False, False, False, False]
    assert len(closed.take()) == 4
    node = replace(cycles.inventory.nodes["b"], unschedulable=True)
    assert column(cycles.next(nodes={"b": node})) == [False, True, False, False]
    assert closed.take() == [node]
    assert column(cycles.last) == [False, True, False, False]
    assert closed.take() == []


def test_other_fact_columns_live_for_one_session(cycles):
    fact = Asked(lambda node: True)
    for _ in range(2):
        cycles.next().nodes.fact_column("x", fact)
        assert len(fact.take()) == 4


def test_an_initial_column_is_recomputed_where_pods_or_facts_changed(cycles):
    counts = Asked(lambda row: len(cycles.last.nodes.held[row]))

    def column():
        return cycles.last.snapshot_cache.of_nodes("count", counts).tolist()

    cycles.next()
    assert column() == [1, 1, 0, 0]
    counts.take()
    pods = cycles.inventory.pods
    cycles.next(
        pods={"old-t-0": replace(pods["old-t-0"], node_name="c"), "j-t-0": replace(pods["j-t-0"])}
    )
    assert column() == [0, 1, 1, 0]
    assert sorted(counts.take()) == [0, 2]
    cycles.next(nodes={"b": replace(cycles.inventory.nodes["b"], unschedulable=True)})
    assert column() == [0, 1, 1, 0]
    assert counts.take() == [1]


def test_a_job_column_is_recomputed_for_new_and_changed_jobs(cycles):
    sizes = Asked(lambda job: (len(job.tasks), job.ready_count))

    def column():
        return cycles.last.snapshot_cache.of_jobs("size", sizes, width=2).tolist()

    cycles.next()
    assert column() == [[2, 0], [1, 0], [2, 2], [0, 0], [0, 0]]
    sizes.take()
    pods, groups = cycles.inventory.pods, cycles.inventory.groups
    new = replace(pods["j-t-0"], uid="k-t-0", name="k-t-0", group="ns/k")
    cycles.next(
        groups={"ns/k": replace(groups["ns/j"], uid="ns/k", name="k"), "ns/l": None},
        pods={"k-t-0": new, "l-t-0": None},
    )
    assert list(cycles.last.jobs) == ["ns/j", "ns/k", "ns/old", "ns/x", "ns/y"]
    assert column() == [[2, 0], [1, 0], [2, 2], [0, 0], [0, 0]]
    assert sizes.take() == ["ns/k"]
    cycles.next(pods={"j-t-1": None}, groups={"ns/k": replace(groups["ns/j"], uid="ns/k")})
    assert column() == [[1, 0], [1, 0], [2, 2], [0, 0], [0, 0]]
    assert sorted(sizes.take()) == ["ns/j", "ns/k"]
    # A column of jobs may depend on the nodes of their tasks.
    cycles.next(nodes={"a": replace(cycles.inventory.nodes["a"])})
    column()
    assert sizes.take() == ["ns/old"]


def test_a_job_whose_status_alone_changed_is_not_recomputed(cycles):
    sizes = Asked(lambda job: len(job.tasks))
    cycles.next().snapshot_cache.of_jobs("size", sizes)
    sizes.take()
    cluster = cycles.next(groups={"ns/j": replace(cycles.inventory.groups["ns/j"], phase="Odd")})
    assert cluster.jobs["ns/j"].phase == "Odd"
    cluster.snapshot_cache.of_jobs("size", sizes)
    assert sizes.take() == []


def test_the_first_jobs_of_a_cluster_are_all_new():
    cycles = Cycles(World().node("a").queue("q"))
    assert cycles.next().snapshot_cache.of_jobs("size", lambda job: 1, width=1).shape == (0, 1)
    world = World().node("a").job("j")
    cluster = cycles.next(groups=world.inventory.groups)
    assert cluster.snapshot_cache.of_jobs("size", lambda job: 7, width=1).tolist() == [[7]]


def test_only_new_pods_are_selected_again(cycles):
    wanted = Asked(lambda pod: pod.labels.get("app") == "db")

    def chosen():
        return [task.uid for task in cycles.last.snapshot_cache.tasks("db", wanted)]

    cycles.next()
    assert chosen() == []
    assert len(wanted.take()) == 5
    pods = cycles.inventory.pods
    labelled = {uid: replace(pods[uid], labels={"app": "db"}) for uid in ("old-t-0", "j-t-1")}
    cycles.next(pods=labelled)
    assert chosen() == ["j-t-1", "old-t-0"]
    assert sorted(wanted.take()) == ["j-t-1", "old-t-0"]
    cycles.next(pods={"j-t-1": replace(pods["j-t-1"]), "old-t-0": None})
    assert chosen() == []
    assert wanted.take() == ["j-t-1"]


def test_unused_columns_are_dropped(cycles):
    ask, fact = Asked(lambda row: 1), Asked(lambda node: 1)
    for expected in (4, 0, None, 4):
        cluster = cycles.next()
        if expected is not None:
            cluster.snapshot_cache.of_nodes("x", ask)
            cluster.snapshot_cache.tasks("x", lambda pod: True)
            cluster.nodes.fact_column("x", fact, lasting=True)
            assert (len(ask.take()), len(fact.take())) == (expected, expected)


def test_columns_requested_after_the_opening_show_the_current_state():
    world = World().node("a").job("j")
    session = world.session(policy([]))
    cache, count = session.cluster.snapshot_cache, Asked(lambda row: len(session.nodes.held[row]))
    assert cache.of_nodes("count", count).tolist() == [0]
    session.statement().allocate(session.cluster.tasks["j-t-0"], 0)
    assert cache.of_nodes("count", count).tolist() == [1]
    assert cache.of_jobs("ready", lambda job: job.ready_count).tolist() == [1]
    assert [task.uid for task in cache.tasks("any", lambda pod: True)] == ["j-t-0"]


def test_cached_columns_are_read_only(cycles):
    column = cycles.next().snapshot_cache.of_nodes("x", lambda row: row)
    with pytest.raises(ValueError, match="read-only"):
        column[0] = 9


def test_a_mostly_stale_column_is_recomputed_in_one_pass():
    columns, ask = ColumnCache(), Asked(lambda number: 2 * number)
    columns.ask("x", range(4), ask, np.int64)
    columns.next_cycle([0, 1, 2])
    ask.take()
    assert columns.ask("x", range(4), ask, np.int64).tolist() == [0, 2, 4, 6]
    assert len(ask.take()) == 4


@pytest.mark.parametrize("kind", ["rows", "tasks", "facts"])
def test_a_column_that_depends_on_more_than_it_declares_is_reported(kind):
    cycles = Cycles(World().node("a").job("j"), verify=True)
    answers = iter(range(9))

    def ask(cluster):
        if kind == "rows":
            cluster.snapshot_cache.of_nodes("x", lambda row: next(answers))
        elif kind == "facts":
            cluster.nodes.fact_column("x", lambda node: next(answers), float, lasting=True)
        else:
            cluster.snapshot_cache.tasks("x", lambda pod: next(answers) > 1)

    ask(cycles.next())
    with pytest.raises(InvariantError, match="'x' is out of date"):
        ask(cycles.next())
