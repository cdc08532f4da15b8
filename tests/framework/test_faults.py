"""A fault that repeats is reported once with a count; a plugin with too many is set aside."""

from dataclasses import replace

import pytest

from pumice import Plugin, hookimpl
from pumice.backends.memory import MemoryBackend
from pumice.config import SchedulerSettings
from pumice.errors import PluginError
from pumice.faults import Fault, FaultHistory, FaultLog
from pumice.log import logger
from pumice.scheduler import Scheduler
from pumice_builtin_actions.allocate import Allocate
from pumice_builtin_plugins.gang import Gang
from tests.framework._build import World, bound, policy


def error(text="oops", *, point="job_order", job="ns/j", place="x.py:3"):
    return PluginError(point, "p", "dist 1.0", ValueError(text), place=place, job=job)


def fault(name="p", place="x.py:3"):
    return Fault("plugin", name, "dist 1.0", "job_order", place, "ns/j", "it failed", "ValueError")


def test_the_same_fault_is_listed_once_with_a_count():
    listed = []
    log = FaultLog(listed)
    assert log.add(error("node a"))
    assert not log.add(error("node b", job="ns/k"))
    assert log.add(error(place="x.py:9"))
    assert [(one.place, one.count, one.job) for one in listed] == [
        ("x.py:3", 2, "ns/j"),
        ("x.py:9", 1, "ns/j"),
    ]
    assert str(listed[0]).endswith("ValueError: node a (x.py:3), job ns/j; 2 times")


def test_a_row_of_cycles_is_reported_at_its_beginning_and_then_ever_more_rarely():
    history = FaultHistory()
    reported = [cycle for cycle in range(1, 201) if history.add_cycle([fault()])]
    assert reported == [1, 10, 100]
    assert history.streaks == {"p": 200}
    assert history.add_cycle([]) == []
    assert history.streaks == {}
    (again,) = history.add_cycle([fault()])
    assert again.cycles == 1


class Bad(Plugin):
    """Fails whenever it scores."""

    opened = 0

    @hookimpl
    def on_session_open(self):
        type(self).opened += 1

    @hookimpl
    def on_session_close(self):
        raise ZeroDivisionError("oops")


class BadGuard(Bad):
    """Could refuse a task, too."""

    @hookimpl
    def allocatable(self, queue, task):
        return True


def scheduler(plugin, **settings):
    chosen = policy([plugin, Gang], actions=[Allocate])
    chosen = replace(chosen, scheduler=SchedulerSettings(on_plugin_error="isolate", **settings))
    world = World().node("a").job("j")
    plugin.opened = 0
    return Scheduler(MemoryBackend(world.inventory, now=world.now), chosen)


def test_a_plugin_is_set_aside_after_so_many_cycles_in_a_row():
    runner = scheduler(Bad, set_aside_after=3)
    history = [runner.run_once() for _ in range(5)]
    assert [len(decisions.faults) for decisions in history] == [1, 1, 1, 0, 0]
    assert [decisions.set_aside for decisions in history] == [(), (), (), ("bad",), ("bad",)]
    assert Bad.opened == 3
    assert len(bound(history[-1])) == 1


def test_by_default_it_is_asked_again_in_every_cycle():
    runner = scheduler(Bad)
    assert all(runner.run_once().faults for _ in range(5))


@pytest.mark.parametrize("guards, asked", [(False, 4), (True, 2)])
def test_a_plugin_that_can_refuse_is_set_aside_only_if_the_policy_says_so(guards, asked):
    runner = scheduler(BadGuard, set_aside_after=2, set_aside_guards=guards)
    for _ in range(4):
        runner.run_once()
    assert BadGuard.opened == asked


def test_a_reload_gives_it_another_try():
    runner = scheduler(Bad, set_aside_after=1)
    runner.run_once()
    assert runner.set_aside == {"bad"}
    runner.holder._current = replace(
        runner.holder._current, policy=replace(runner.policy, origin="again")
    )
    assert runner.run_once().faults
    assert Bad.opened == 2


def test_faults_are_logged_as_errors_once_per_row():
    lines = []
    logger.enable("pumice")
    sink = logger.add(lines.append, level="ERROR", format="{message}")
    try:
        runner = scheduler(Bad)
        for _ in range(3):
            runner.run_once()
    finally:
        logger.remove(sink)
        logger.disable("pumice")
    assert len(lines) == 1
    assert "plugin bad (pumice-tests 1.0) failed in on_session_close" in lines[0]
