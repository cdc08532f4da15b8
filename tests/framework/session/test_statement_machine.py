"""Random nested statements: every undo restores the session exactly."""

from contextlib import suppress

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from pumice.errors import PluginError, StatementError
from pumice.model.task import TaskStatus
from tests.framework._session_state import differences, session_state
from tests.framework._worlds import worlds
from tests.framework.session._counting import POLICY, _check_accounts
from tests.sampling import few_and_all

numbers = st.integers(0, 1000)


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

    @precondition(lambda self: self.tasks(TaskStatus.PENDING))
    @rule(number=numbers)
    def allocate(self, number):
        chosen, row = self.place(number, TaskStatus.PENDING)
        assert self.top.allocate(chosen, row) is None
        assert (chosen.status, chosen.node) == (TaskStatus.ALLOCATED, self.session.nodes.names[row])

    @precondition(lambda self: self.tasks(TaskStatus.PENDING, TaskStatus.RELEASING))
    @rule(number=numbers, evicted=st.booleans())
    def pipeline(self, number, evicted):
        chosen, row = self.place(number, TaskStatus.PENDING, TaskStatus.RELEASING)
        if chosen.uid in self.session.nodes.held[row]:
            return  # its own place: that is an un-eviction
        assert self.top.pipeline(chosen, row, eviction_occurred=evicted) is None
        assert (chosen.status, chosen.eviction_occurred) == (TaskStatus.PIPELINED, evicted)

    @rule(number=numbers, ours=st.booleans())
    def evict(self, number, ours):
        statuses = (
            (TaskStatus.ALLOCATED, TaskStatus.PIPELINED)
            if ours
            else (TaskStatus.RUNNING, TaskStatus.BOUND)
        )
        tasks = [t for t in self.tasks(*statuses) if t.node in self.session.nodes.row_of]
        if tasks:
            chosen = tasks[number % len(tasks)]
            self.top.evict(chosen, "test")
            assert chosen.status is TaskStatus.RELEASING

    @rule(number=numbers)
    def unevict(self, number):
        evicted = [op.task for op in self.top.operations if op.kind.value == "evict"]
        if evicted:
            with suppress(StatementError):  # placed since, or undone already
                self.top.unevict(evicted[number % len(evicted)])

    @precondition(lambda self: self.tasks(TaskStatus.PENDING))
    @rule(number=numbers, mood=st.sampled_from(["refuse", "fail"]))
    def a_plugin_objects(self, number, mood):
        chosen, row = self.place(number, TaskStatus.PENDING)
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


@few_and_all(8, 30)
def test_every_undo_restores_the_session(count):
    limits = settings(
        max_examples=count,
        stateful_step_count=20,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(Statements, settings=limits)
