"""Plugins in the bind: they add data, refuse, fail and roll back."""

import pytest

from pumice import Plugin, hookimpl
from pumice.model.invariants import check
from pumice.model.task import TaskStatus
from pumice_builtin_plugins.gang import Gang
from tests.framework._build import World, policy, task
from tests.framework.session._counting import Counting


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
    assert (task(binding, "j-t-0").status, task(binding, "j-t-0").node) == (TaskStatus.PENDING, "")
    assert binding.refused_binds == {"j-t-0": "second: quota is gone"}
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
    assert task(binding, "j-t-0").status is TaskStatus.PENDING
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
