"""Statements: an undo restores the session exactly; kept and committed operations stay."""

from contextlib import suppress

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from pumice import Plugin, hookimpl
from pumice.errors import PluginError, StatementError
from pumice.model.invariants import check
from pumice.model.task import IS_ALLOCATED, TaskStatus
from pumice.session.statement import Statement
from pumice_builtin_plugins.binpack import Binpack
from pumice_builtin_plugins.drf.plugin import Drf
from pumice_builtin_plugins.gang import Gang
from pumice_builtin_plugins.nodeorder.plugin import NodeOrder
from pumice_builtin_plugins.predicates.plugin import Predicates
from pumice_builtin_plugins.priority import Priority
from pumice_builtin_plugins.proportion.plugin import Proportion
from tests.framework._build import World, policy, task
from tests.framework._session_state import differences, session_state
from tests.framework._worlds import worlds
from tests.plugins._shares import SharedWorld

_S = TaskStatus


class Counting(Plugin):
    """Counts what jobs and nodes hold; a job order and a score depend on the counts."""

    @hookimpl
    def on_session_open(self):
        self.by_job = {}
        self.by_node = {}
        for task_ in self.session.cluster.tasks.values():
            if task_.job is not None and IS_ALLOCATED[task_.status]:
                self._count(task_, 1)

    def _count(self, task_, sign):
        for counts, key in ((self.by_job, task_.job.uid), (self.by_node, task_.node)):
            counts[key] = counts.get(key, np.zeros(len(task_.vector), np.int64)) + (
                sign * task_.vector
            )

    @hookimpl
    def on_allocate(self, task):
        if task.job is not None:
            self._count(task, 1)

    @hookimpl
    def on_deallocate(self, task):
        if task.job is not None:
            self._count(task, -1)

    @hookimpl
    def job_order(self, left, right):
        return int(self._of(left) > self._of(right)) - int(self._of(left) < self._of(right))

    def _of(self, job):
        held = self.by_job.get(job.uid)
        return (0,) if held is None or not held.any() else tuple(held.tolist())

    @hookimpl
    def node_order(self, node):
        return float(self.by_node.get(node.name, np.zeros(1))[0])


class Picky(Plugin):
    """Refuses a placement, or fails, as the test sets it."""

    mood = ""

    @hookimpl
    def on_allocate(self, task):
        if self.mood == "refuse":
            return "not today"
        if self.mood == "fail":
            raise RuntimeError("fell over")
        return None

    @hookimpl
    def on_deallocate(self, task):
        if self.mood == "fail to let go":
            raise RuntimeError("fell over")


POLICY = policy(
    [Priority, Gang, Picky, Counting], [Drf, Predicates, Proportion, NodeOrder, Binpack]
)
numbers = st.integers(0, 1000)


@settings(
    max_examples=30,
    stateful_step_count=20,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
class Statements(RuleBasedStateMachine):
    """Nested statements; after every undo the session is compared with the state before."""

    @initialize(world=worlds())
    def open(self, world):
        self.session = world.session(POLICY, verify=True)
        self.picky = self.session.plugins["picky"]
        self.stack = []
        self.begin()

    # -- helpers

    @property
    def top(self):
        return self.stack[-1][0]

    def state(self):
        return session_state(self.session)

    def compare(self, before):
        assert differences(self.state(), before) == []

    def tasks(self, *statuses):
        return [
            t for job in self.session.jobs.values() for t in job.having(*statuses) if not t.gated
        ]

    def place(self, number, *statuses):
        """A task and a row for it, as the number chooses."""
        tasks = self.tasks(*statuses)
        return tasks[number % len(tasks)], number // 7 % len(self.session.nodes)

    # -- operations

    @precondition(lambda self: len(self.stack) < 3)
    @rule()
    def begin(self):
        self.stack.append((self.session.statement(), self.state(), []))

    @precondition(lambda self: self.tasks(_S.PENDING))
    @rule(number=numbers)
    def allocate(self, number):
        chosen, row = self.place(number, _S.PENDING)
        assert self.top.allocate(chosen, row) is None
        assert (chosen.status, chosen.node) == (_S.ALLOCATED, self.session.nodes.names[row])

    @precondition(lambda self: self.tasks(_S.PENDING, _S.RELEASING))
    @rule(number=numbers, evicted=st.booleans())
    def pipeline(self, number, evicted):
        chosen, row = self.place(number, _S.PENDING, _S.RELEASING)
        if chosen.uid in self.session.nodes.held[row]:
            return  # its own place: that is an un-eviction
        assert self.top.pipeline(chosen, row, eviction_occurred=evicted) is None
        assert (chosen.status, chosen.eviction_occurred) == (_S.PIPELINED, evicted)

    @rule(number=numbers, ours=st.booleans())
    def evict(self, number, ours):
        statuses = (_S.ALLOCATED, _S.PIPELINED) if ours else (_S.RUNNING, _S.BOUND)
        tasks = [t for t in self.tasks(*statuses) if t.node in self.session.nodes.row_of]
        if tasks:
            chosen = tasks[number % len(tasks)]
            self.top.evict(chosen, "test")
            assert chosen.status is _S.RELEASING

    @rule(number=numbers)
    def unevict(self, number):
        evicted = [op.task for op in self.top.operations if op.kind.value == "evict"]
        if evicted:
            with suppress(StatementError):  # placed since, or undone already
                self.top.unevict(evicted[number % len(evicted)])

    @precondition(lambda self: self.tasks(_S.PENDING))
    @rule(number=numbers, mood=st.sampled_from(["refuse", "fail"]))
    def a_plugin_objects(self, number, mood):
        chosen, row = self.place(number, _S.PENDING)
        before, length = self.state(), len(self.top)
        self.picky.mood = mood
        if mood == "refuse":
            assert self.top.allocate(chosen, row) == "not today"
        else:
            with pytest.raises(PluginError, match="picky"):
                self.top.allocate(chosen, row)
        del self.picky.mood
        self.compare(before)
        assert len(self.top) == length

    # -- undo

    @rule()
    def checkpoint(self):
        self.stack[-1][2].append((self.top.checkpoint(), self.state()))

    @precondition(lambda self: self.stack[-1][2])
    @rule(number=numbers)
    def rollback(self, number):
        marks = self.stack[-1][2]
        del marks[number % len(marks) + 1 :]
        mark, before = marks.pop()
        self.top.rollback(mark)
        self.compare(before)

    @precondition(lambda self: len(self.stack) > 1)
    @rule()
    def discard(self):
        statement, before, _ = self.stack.pop()
        statement.discard()
        self.compare(before)

    @precondition(lambda self: len(self.stack) > 1)
    @rule()
    def merge(self):
        statement, _, _ = self.stack.pop()
        self.top.merge(statement)

    @rule()
    def save_discard_recover(self):
        statement, before, _ = self.stack.pop()
        done, saved = self.state(), statement.save()
        statement.discard()
        self.compare(before)
        again = self.session.statement()
        self.stack.append((again, before, []))
        assert again.recover(saved) is None
        self.compare(done)

    @precondition(lambda self: len(self.stack) == 1)
    @rule(carry_out=st.booleans())
    def end(self, carry_out):
        statement, _, _ = self.stack.pop()
        before = self.state()
        if carry_out:
            statement.commit()
        else:
            statement.keep()
            self.compare(before)
        self.begin()

    @invariant()
    def the_accounts_are_consistent(self):
        if hasattr(self, "session"):
            _check_accounts(self.session)

    def teardown(self):
        for statement, before, _ in reversed(getattr(self, "stack", [])):
            statement.discard()
            self.compare(before)


def _check_accounts(session):
    """All invariants but that binds complete gangs: the machine commits whatever it has."""
    binds, session.decisions.binds = session.decisions.binds, []
    check(session)
    session.decisions.binds = binds


TestStatements = Statements.TestCase


# -- one rule each


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


# -- binds


class Binder(Plugin):
    """Records the steps of a bind; refuses those of given tasks."""

    refused = ()
    failing = ""
    steps = ()

    def _note(self, step, context):
        self.steps = (*self.steps, f"{step} {context.task.name}")
        if self.failing == step:
            raise RuntimeError("no disk")

    @hookimpl
    def setup_bind_context(self, task, bind_context):
        bind_context.extensions[self.name] = task.uid
        self._note("setup", bind_context)

    @hookimpl
    def pre_bind(self, bind_context):
        assert bind_context.extensions[self.name] == bind_context.task.uid
        self._note("pre", bind_context)
        return "quota is gone" if bind_context.task.name in self.refused else None

    @hookimpl
    def pre_bind_rollback(self, bind_context):
        self._note("rollback", bind_context)

    @hookimpl
    def bind_request_mutate(self, task, node):
        if self.failing == "mutate":
            raise RuntimeError("no ink")
        return {"by": self.name, f"from-{self.name}": node}


class Second(Binder):
    """Another one."""


class Third(Binder):
    """The last one."""


@pytest.fixture
def binding():
    world = World().node("a").job("j", tasks=2, min_member=1)
    return world.session(
        policy([Gang, Counting], [Binder, Second, Third], on_plugin_error="isolate")
    )


def bind_both(session):
    with session.statement() as statement:
        statement.allocate(task(session, "j-t-0"), 0)
        statement.allocate(task(session, "j-t-1"), 0)
        statement.commit()


def test_a_bind_carries_what_the_plugins_add(binding):
    bind_both(binding)
    assert binding.decisions.binds[0].annotations == {
        "by": "third",
        "from-binder": "a",
        "from-second": "a",
        "from-third": "a",
    }


def test_a_refused_bind_is_undone_and_the_others_go_out(binding):
    binding.plugins["second"].refused = ("j-t-0",)
    bind_both(binding)
    assert [bind.uid for bind in binding.decisions.binds] == ["j-t-1"]
    assert (task(binding, "j-t-0").status, task(binding, "j-t-0").node) == (_S.PENDING, "")
    assert binding.refused_binds == {"j-t-0": "quota is gone"}
    check(binding)


def test_only_plugins_that_prepared_roll_back_in_reverse_order(binding):
    binding.plugins["third"].refused = ("j-t-0",)
    order = []
    for plugin in binding.plugins.values():
        if isinstance(plugin, Binder):
            note = plugin._note
            plugin._note = lambda step, context, note=note, name=plugin.name: (
                order.append((step, name)),
                note(step, context),
            )
    with binding.statement() as statement:
        statement.allocate(task(binding, "j-t-0"), 0)
        statement.commit()
    assert [entry for entry in order if entry[0] == "rollback"] == [
        ("rollback", "second"),
        ("rollback", "binder"),
    ]


@pytest.mark.parametrize("failing", ["setup", "pre", "mutate"])
def test_a_plugin_that_fails_costs_the_bind_and_is_named(binding, failing):
    binding.plugins["second"].failing = failing
    with binding.statement() as statement:
        statement.allocate(task(binding, "j-t-0"), 0)
        statement.commit()
    assert binding.decisions.binds == []
    assert task(binding, "j-t-0").status is _S.PENDING
    assert "plugin second (pumice-tests 1.0)" in binding.jobs["ns/j"].plugin_errors[0]
    prepared = {"setup": 0, "pre": 1, "mutate": 3}[failing]
    steps = [step for plugin in binding.plugins.values() for step in getattr(plugin, "steps", ())]
    assert sum(step.startswith("rollback") for step in steps) == prepared
    check(binding)


def test_a_failing_rollback_does_not_prevent_the_others(binding):
    binding.plugins["third"].refused = ("j-t-0", "j-t-1")
    binding.plugins["second"].failing = "rollback"
    bind_both(binding)
    assert "rollback j-t-0" in binding.plugins["binder"].steps
    assert {error.point for error in binding.plugin_errors} == {"pre_bind_rollback"}
