"""The deadline of a cycle: it ends with what is decided so far and names who was running."""

import contextlib
import signal
import threading
import time
from dataclasses import replace

import pytest

from pumice import Action, LiveHeap, Plugin, hookimpl
from pumice.config import SchedulerSettings
from pumice.deadline import Deadline
from pumice.errors import DeadlinePassed
from pumice_builtin_actions.allocate import Allocate
from pumice_builtin_plugins.gang import Gang
from tests.framework._build import World, bound, policy

LIMIT = 0.3


def world():
    """Jobs in the order first, bad, last."""
    made = World().node("a")
    for number, name in enumerate(("first", "bad", "last")):
        made.job(name, created=float(number))
    return made


def limited(*tiers, actions=(Allocate,), seconds=LIMIT, **settings):
    chosen = policy(*tiers, actions=actions)
    settings = SchedulerSettings(cycle_deadline=seconds, on_plugin_error="isolate", **settings)
    return replace(chosen, scheduler=settings)


def sleeping(self):
    time.sleep(30)


def spinning(self):
    while True:
        pass


def stubborn(self):
    """Catches whatever it can."""
    end = time.monotonic() + 30
    while time.monotonic() < end:
        with contextlib.suppress(Exception):
            time.sleep(30)


def hanging(how, point="job_ready"):
    """A plugin that hangs about the job "bad"."""

    def answer(self, thing):
        if getattr(thing, "name", "") == "bad" or thing is None:
            how(self)

    names = {"job_ready": "job", "on_session_open": "", "job_order": "left"}[point]
    source = f"lambda self{', ' * bool(names)}{names}: answer(self, {names or None})"
    method = hookimpl(eval(source, {"answer": answer, "__name__": __name__}))
    return type("Hanging", (Plugin,), {point: method})


class Endless(Action):
    """Never returns; leaves a task placed on an open statement."""

    def execute(self, session):
        statement = session.statement()
        statement.allocate(session.cluster.tasks["last-t-0"], 0)
        while True:
            session.ask.job_valid(session.jobs["ns/first"])


def elapsed(function):
    start = time.monotonic()
    return function(), time.monotonic() - start


@pytest.mark.parametrize("how", [sleeping, spinning, stubborn])
def test_the_cycle_ends_with_what_is_decided_and_names_the_plugin(how):
    decisions, seconds = elapsed(lambda: world().run(limited([hanging(how), Gang])))
    assert seconds < 5
    assert list(bound(decisions)) == ["first-t-0"]
    (fault,) = decisions.faults
    assert (fault.name, fault.hook, fault.job) == ("hanging", "job_ready", "ns/bad")
    assert "was interrupted in job_ready: the cycle had reached its deadline of 0.3s" in fault.text
    assert fault.place.startswith("tests/framework/test_deadline.py:")
    assert signal.getsignal(signal.SIGALRM) is signal.SIG_DFL


def test_it_also_works_in_a_thread():
    found = []
    watched = threading.Thread(
        target=lambda: found.append(world().run(limited([hanging(spinning), Gang])))
    )
    watched.start()
    watched.join(20)
    (decisions,) = found
    assert list(bound(decisions)) == ["first-t-0"]
    assert decisions.faults[0].hook == "job_ready"


def test_it_leaves_a_timer_signal_of_the_program_alone():
    before = signal.signal(signal.SIGALRM, lambda number, frame: None)
    try:
        decisions = world().run(limited([hanging(spinning), Gang]))
    finally:
        signal.signal(signal.SIGALRM, before)
    assert decisions.faults[0].hook == "job_ready"


def test_an_action_that_never_returns_is_ended_and_its_statement_discarded():
    decisions = world().run(limited([Gang], actions=[Allocate, Endless]))
    assert len(bound(decisions)) == 3
    only = world()
    decisions = only.run(limited([Gang], actions=[Endless, Allocate]))
    assert bound(decisions) == {}
    (fault,) = decisions.faults
    assert (fault.kind, fault.name) == ("action", "endless")
    assert "deadline" in fault.text


def test_an_order_that_hangs_ends_the_cycle():
    decisions, seconds = elapsed(lambda: world().run(limited([hanging(sleeping, "job_order")])))
    assert seconds < 5
    assert [fault.hook for fault in decisions.faults] == ["job_order"]


def test_a_plugin_that_hangs_when_it_is_opened_is_left_out():
    decisions, seconds = elapsed(
        lambda: world().run(limited([hanging(sleeping, "on_session_open"), Gang]))
    )
    assert seconds < 5
    assert decisions.faults[0].hook == "on_session_open"
    assert len(decisions.jobs) == 3


def test_a_cycle_in_time_is_not_touched():
    assert len(bound(world().run(limited([Gang], seconds=60)))) == 3


def test_without_a_deadline_there_is_none():
    assert Deadline.of(policy([Gang])) is None


def test_the_framework_is_not_interrupted():
    """Only code of plugins and actions is, never the accounts in the middle of a change."""
    nested = LiveHeap(lambda left, right: left < right)
    with pytest.raises(DeadlinePassed), Deadline(0.05, {"tests"}).watch():
        LiveHeap(lambda left, right: spinning(None), [1, 2])  # a part, called by the framework
    outside = Deadline(0.05, {"elsewhere"})
    with outside.watch():
        end = time.monotonic() + 0.2
        while time.monotonic() < end:
            nested.push(1)
    assert outside.passed
