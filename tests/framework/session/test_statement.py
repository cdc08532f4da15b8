"""Statements: an undo restores the session; kept and committed operations stay."""

from contextlib import suppress

import pytest

from pumice.errors import PluginError, StatementError
from pumice.model.invariants import check
from pumice.model.task import TaskStatus
from pumice.session.statement import Statement
from pumice_builtin_plugins.gang import Gang
from tests.framework._build import World, policy, task
from tests.framework._session_state import differences, session_state
from tests.framework.session._counting import Counting, Picky, _check_accounts
from tests.plugins._shares import SharedWorld

_S = TaskStatus


@pytest.fixture
def session():
    """Two nodes of 4 cpu: a gang of two waits, a pod of 3 cpu runs on the first."""
    world = World().node("a").node("b").job("wait", tasks=2).job("run", cpu=3, on=["a"])
    return world.session(policy([Gang, Picky, Counting]))


def same(session, before):
    return differences(session_state(session), before) == []


def test_leaving_the_block_undoes_everything(session):
    before = session_state(session)
    with session.statement() as statement:
        statement.evict(task(session, "run-t-0"), "room")
        statement.allocate(task(session, "wait-t-0"), 0)
        assert len(statement) == 2
        assert not same(session, before)
    assert same(session, before)


def test_a_bound_victim_is_bound_again_not_running():
    world = World().node("a").job("bound", on=["a"], pod={"phase": "Pending"})
    session = world.session(policy([Gang, Counting]))
    before = session_state(session)
    with session.statement() as statement:
        statement.evict(task(session, "bound-t-0"), "room")
        statement.unevict(task(session, "bound-t-0"))
        assert same(session, before)
    assert same(session, before)
    assert session.nodes.held[0]["bound-t-0"].status is _S.BOUND


def test_an_exception_in_the_block_undoes_everything_and_is_raised(session):
    before = session_state(session)
    with suppress(ZeroDivisionError), session.statement() as statement:
        statement.allocate(task(session, "wait-t-0"), 0)
        raise ZeroDivisionError
        pytest.fail("not reached")
    assert same(session, before)


def test_kept_placements_reserve_resources_and_are_not_bound(session):
    with session.statement() as statement:
        statement.allocate(task(session, "wait-t-0"), 1)
        statement.pipeline(task(session, "wait-t-1"), 1)
        statement.keep()
    assert session.nodes.idle[1][0] == 3000
    assert session.nodes.future_idle[1][0] == 2000
    assert session.decisions.binds == []
    assert task(session, "wait-t-0").status is _S.ALLOCATED


def test_a_kept_placement_can_be_undone_later(session):
    before = session_state(session)
    with session.statement() as statement:
        statement.pipeline(task(session, "wait-t-0"), 1, eviction_occurred=True)
        statement.keep()
    session.unplace(task(session, "wait-t-0"))
    assert same(session, before)


def test_a_commit_decides_binds_and_evictions_but_no_pipelining(session):
    session.current_action = "preempt"
    with session.statement() as statement:
        statement.evict(task(session, "run-t-0"), "room", claimant=session.jobs["ns/wait"])
        statement.pipeline(task(session, "wait-t-0"), 0)
        statement.allocate(task(session, "wait-t-1"), 1)
        statement.commit()
    (bind,) = session.decisions.binds
    (eviction,) = session.decisions.evictions
    assert (bind.task, bind.node) == ("ns/wait-t-1", "b")
    assert (eviction.task, eviction.node, eviction.reason) == ("ns/run-t-0", "a", "room")
    assert (eviction.action, eviction.claimant) == ("preempt", "ns/wait")
    assert task(session, "wait-t-1").status is _S.BINDING
    assert task(session, "wait-t-0").status is _S.PIPELINED
    assert task(session, "run-t-0").status is _S.RELEASING


def test_an_undone_eviction_is_not_decided(session):
    run = task(session, "run-t-0")
    with session.statement() as statement:
        statement.evict(run, "room")
        statement.unevict(run)
        assert not statement.has_evictions
        statement.evict(run, "again")
        assert statement.has_evictions
        statement.unevict(run)
        statement.commit()
    assert session.decisions.evictions == []
    assert run.status is _S.RUNNING


def test_recovering_does_not_repeat_an_undone_eviction(session):
    run = task(session, "run-t-0")
    with session.statement() as statement:
        statement.evict(run, "room")
        statement.unevict(run)
        statement.allocate(task(session, "wait-t-0"), 1)
        saved = statement.save()
    with session.statement() as statement:
        assert statement.recover(saved) is None
        assert [op.kind.value for op in statement.operations] == ["allocate"]
        assert run.status is _S.RUNNING


def test_an_objection_ends_a_recovery_and_is_returned(session):
    with session.statement() as statement:
        statement.allocate(task(session, "wait-t-0"), 1)
        statement.pipeline(task(session, "wait-t-1"), 1)
        saved = statement.save()
    session.plugins["picky"].mood = "refuse"
    with session.statement() as statement:
        assert statement.recover(saved) == "not today"
        assert len(statement) == 0


def test_a_discarded_placement_is_recorded_for_the_reason(session):
    waiting = task(session, "wait-t-0")
    with session.statement() as statement:
        statement.pipeline(waiting, 1, eviction_occurred=True)
    last = waiting.last_transaction
    assert (last.status, last.node, last.eviction_occurred) == (_S.PIPELINED, "b", True)
    with session.statement() as statement:
        statement.allocate(waiting, 1)
        statement.commit()
    assert waiting.last_transaction is None


def test_a_rolled_back_trial_is_not_recorded(session):
    waiting = task(session, "wait-t-0")
    with session.statement() as statement:
        statement.allocate(waiting, 1)
        statement.rollback(0)
    assert waiting.last_transaction is None


def test_a_merged_statement_is_undone_with_the_other(session):
    before = session_state(session)
    with session.statement() as outer:
        outer.allocate(task(session, "wait-t-0"), 0)
        with session.statement() as inner:
            inner.allocate(task(session, "wait-t-1"), 1)
            outer.merge(inner)
        assert task(session, "wait-t-1").node == "b"
        assert len(outer) == 2
    assert same(session, before)


def test_pipelining_a_victim_on_its_own_node_undoes_the_eviction(session):
    before = session_state(session)
    run = task(session, "run-t-0")
    with session.statement() as statement:
        statement.evict(run, "room")
        assert statement.pipeline(run, 0) is None
        assert run.status is _S.RUNNING
        assert not statement.has_evictions
        assert same(session, before)


def test_what_is_evicted_after_it_was_allocated_is_not_bound(session):
    waiting = task(session, "wait-t-0")
    with session.statement() as statement:
        statement.allocate(waiting, 1)
        statement.evict(waiting, "on second thoughts")
        statement.commit()
    assert session.decisions.binds == []
    _check_accounts(session)


def test_a_victim_pipelined_elsewhere_is_on_both_nodes_until_undone(session):
    before = session_state(session)
    run = task(session, "run-t-0")
    with session.statement() as statement:
        statement.evict(run, "move")
        statement.pipeline(run, 1)
        assert session.nodes.releasing[0][0] == 3000
        assert session.nodes.pipelined[1][0] == 3000
        with pytest.raises(StatementError, match="placed since its eviction"):
            statement.unevict(run)
        _check_accounts(session)
    assert same(session, before)


def _moved_between_gpus(*, exact):
    """The CPU counts of a node after a victim's move to another GPU was undone."""
    world = SharedWorld()
    world.node("n", gpu=2)
    world.pod("x", on="n", gpu=0.5, shares="g1")
    world.open("nodeavailability")
    session, victim = world.session, world.task("x")
    for _ in range(2):
        with Statement(session, exact=exact) as statement:
            statement.evict(victim, "move")
            mark = statement.checkpoint()
            statement.pipeline(victim, 0, groups=("g2",))
            statement.rollback(mark)
            statement.pipeline(victim, 0, groups=("g3",))
        assert (victim.status, victim.gpu_groups) == (_S.RUNNING, ("g1",))
        check(session)
    nodes = session.nodes
    return [int(column[0][0]) // 1000 for column in (nodes.idle, nodes.used, nodes.releasing)]


def test_undoing_a_move_to_another_gpu_of_the_node_is_exact():
    assert _moved_between_gpus(exact=True) == [7, 1, 0]


def test_an_inexact_undo_leaves_what_the_victim_was_leaving_counted_once_each_time():
    assert _moved_between_gpus(exact=False) == [5, 3, 2]


REFUSED = {
    "evict twice": lambda s, at: (s.evict(at("run-t-0"), ""), s.evict(at("run-t-0"), "")),
    "evict what is nowhere": lambda s, at: s.evict(at("wait-t-0"), ""),
    "place twice": lambda s, at: (s.allocate(at("wait-t-0"), 0), s.allocate(at("wait-t-0"), 1)),
    "place what runs": lambda s, at: s.allocate(at("run-t-0"), 1),
    "pipeline a running task": lambda s, at: s.pipeline(at("run-t-0"), 1),
    "allocate what leaves": lambda s, at: (
        s.evict(at("run-t-0"), ""),
        s.allocate(at("run-t-0"), 1),
    ),
    "unevict what was not evicted": lambda s, at: s.unevict(at("run-t-0")),
    "roll back to nowhere": lambda s, at: s.rollback(1),
    "place what has no job": lambda s, at: s.allocate(at("lone"), 0),
}


@pytest.mark.parametrize("misuse", REFUSED.values(), ids=REFUSED)
def test_an_operation_that_the_state_forbids_changes_nothing(misuse):
    world = World().node("a").node("b").job("wait", tasks=2).job("run", cpu=3, on=["a"])
    session = world.pod("lone").session(policy([Gang, Counting]))
    before = session_state(session)
    with session.statement() as statement:
        with pytest.raises(StatementError):
            misuse(statement, lambda name: task(session, name))
        _check_accounts(session)
    assert same(session, before)


@pytest.mark.parametrize("end", ["commit", "keep", "discard"])
@pytest.mark.parametrize(
    "use",
    [
        lambda s, t: s.allocate(t, 1),
        lambda s, t: s.pipeline(t, 1),
        lambda s, t: s.rollback(0),
        lambda s, t: s.discard(),
        lambda s, t: s.keep(),
        lambda s, t: s.commit(),
    ],
    ids=["allocate", "pipeline", "rollback", "discard", "keep", "commit"],
)
def test_a_closed_statement_refuses_operations(session, end, use):
    statement = session.statement()
    getattr(statement, end)()
    before = session_state(session)
    with pytest.raises(StatementError, match="already"):
        use(statement, task(session, "wait-t-0"))
    assert same(session, before)


# -- plugins that object


def test_a_refused_placement_is_undone_in_all_plugins(session):
    before = session_state(session)
    session.plugins["picky"].mood = "refuse"
    with session.statement() as statement:
        assert statement.allocate(task(session, "wait-t-0"), 0) == "not today"
        assert statement.pipeline(task(session, "wait-t-0"), 0) == "not today"
        assert same(session, before)


def test_a_plugin_that_fails_on_an_eviction_undoes_it(session):
    before = session_state(session)
    session.plugins["picky"].mood = "fail to let go"
    with session.statement() as statement:
        with pytest.raises(PluginError, match="on_deallocate"):
            statement.evict(task(session, "run-t-0"), "room")
        assert same(session, before)


def test_an_undo_holds_even_if_a_plugin_fails():
    world = World().node("a").job("wait")
    session = world.session(policy([Gang, Picky, Counting], on_plugin_error="isolate"))
    before = session_state(session)
    with session.statement() as statement:
        statement.allocate(task(session, "wait-t-0"), 0)
        session.plugins["picky"].mood = "fail to let go"
    del session.plugins["picky"].mood
    assert same(session, before)
    assert [error.point for error in session.plugin_errors] == ["on_deallocate"]
