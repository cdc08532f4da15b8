"""Nothing that a plugin or an action does costs more than the job at hand, and all is reported."""

import functools
import signal

import pytest

from pumice import Action, Plugin, hookimpl
from pumice.backends.memory import MemoryBackend
from pumice.errors import ActionError, InvariantError
from pumice.hookspecs import POINTS
from pumice.scheduler import Scheduler
from pumice_builtin_actions.allocate import Allocate
from pumice_builtin_actions.fair_allocate import FairAllocate
from pumice_builtin_plugins.gang import Gang
from pumice_builtin_plugins.priority import Priority
from tests.framework._build import World, bound, plugin_entry, policy, reasons
from tests.framework._faulty import (
    CLUSTERS,
    KINDS,
    OTHERS,
    SOURCE,
    Strange,
    concerns,
    faulty,
    policy_with,
)

UNREAD = "None"
"""The declared answer of points that only notify: whatever they answer is not read."""
OUTSIDE = (
    "http_handlers",
    "get_queue_allocated_resources",
    "get_queue_deserved_resources",
    "get_queue_fair_share",
)
"""Points that are not asked by any action of a cycle."""
ASKED = [name for name, point in POINTS.items() if point.asked and name not in OUTSIDE]


def run(plugin, cluster, **settings):
    make, table = CLUSTERS[cluster]
    world = make()
    chosen = policy_with(plugin, table, **settings)
    return Scheduler(MemoryBackend(world.inventory, now=world.now), chosen).run_once()


@functools.cache
def cluster_of(point):
    """The first cluster in which the point is asked about the bad job."""
    for name in CLUSTERS:
        called = []
        run(faulty(point, "raise", called), name)
        if called:
            return name
    raise AssertionError(f"{point} is asked in no cluster")


OFTEN = ("raise",)
"""The faults that are tried at every point in `make test`; `make test-long` tries all."""


def served(decisions):
    return {uid.split("-")[0] for uid in bound(decisions)}


@pytest.mark.parametrize(
    "kind",
    [kind if kind in OFTEN else pytest.param(kind, marks=pytest.mark.long) for kind in KINDS],
)
@pytest.mark.parametrize("point", ASKED)
def test_every_point_and_every_fault(point, kind):
    called = []
    decisions = run(faulty(point, kind, called), cluster_of(point))
    assert called
    assert served(decisions) >= set(OTHERS)
    if POINTS[point].answer == UNREAD and kind not in ("raise", "SystemExit"):
        assert decisions.faults == []
        return
    fault = decisions.faults[0]
    assert (fault.kind, fault.name, fault.source) == ("plugin", "faulty", "pumice-faulty 2.7")
    assert fault.hook == point
    assert fault.count <= len(called)
    file, _, line = fault.place.rpartition(":")
    assert file in ("tests/framework/_faulty.py", "<string>")
    assert line.isdigit()
    assert all(part in fault.text for part in ("faulty (pumice-faulty 2.7)", point, fault.place))
    if kind in ("raise", "SystemExit"):
        assert file == "tests/framework/_faulty.py"
        assert ("ZeroDivisionError: oops" if kind == "raise" else "SystemExit: 3") in fault.text
    else:
        assert f"{point} answered" in fault.text
        assert "was expected" in fault.text


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("point", OUTSIDE)
def test_points_that_no_action_asks(point, kind):
    make, table = CLUSTERS["placing"]
    session = make().session(policy_with(faulty(point, kind, []), table))
    with session.turn():
        getattr(session.ask, point)(*([session.queues["bad"]] if POINTS[point].args else []))
    assert [error.point for error in session.plugin_errors] == [point]


def test_the_message_states_what_was_expected():
    class First(Plugin):
        @hookimpl
        def job_order(self, left, right):
            return "first"

    world = World().node("a").job("j").job("k")
    decisions = world.run(policy([First], on_plugin_error="isolate"), verify=False)
    (fault,) = decisions.faults
    assert fault.text.startswith(
        "plugin first (pumice-tests 1.0): job_order answered 'first', an int or None was expected "
        "(tests/framework/test_containment.py:"
    )
    assert served(decisions) == {"j", "k"}


def test_an_answer_without_a_readable_text_is_reported():
    class Rude(Strange):
        def __repr__(self):
            raise ValueError("no")

    class Silent(Plugin):
        @hookimpl
        def job_valid(self, job):
            return Rude()

    decisions = World().node("a").job("j").run(policy([Silent], on_plugin_error="isolate"))
    assert "a Rude whose repr raises ValueError" in decisions.faults[0].text


# -- plugins that cannot be opened


def broken(*points, where="on_session_open"):
    """A plugin that answers these points as if nothing were wrong, but cannot be opened."""

    def fail(self, *_):
        raise ValueError("no database")

    methods = {name: hookimpl(eval("lambda self: None")) for name in points}
    methods[where] = (
        fail if where == "__init__" else hookimpl(eval("lambda self: fail(self)", {"fail": fail}))
    )
    return plugin_entry(type("Broken", (Plugin,), methods), source=SOURCE)


@pytest.mark.parametrize("where", ["__init__", "on_session_open"])
def test_a_plugin_that_orders_or_scores_is_left_out(where):
    world = World().node("a").job("j").job("k")
    entry = broken("job_order", "node_order", "on_allocate", where=where)
    decisions = world.run(policy([entry, Priority, Gang], on_plugin_error="isolate"))
    assert served(decisions) == {"j", "k"}
    (fault,) = decisions.faults
    assert (fault.hook, fault.name) == (where, "broken")
    assert "ValueError: no database (tests/framework/test_containment.py:" in fault.text


@pytest.mark.parametrize("where", ["__init__", "on_session_open"])
@pytest.mark.parametrize("point", ["allocatable", "predicate", "predicate_nodes", "job_valid"])
def test_what_a_plugin_guards_is_refused_if_it_cannot_be_opened(point, where):
    """Going on without its limits and filters would decide what the policy forbids."""
    world = World().node("a").job("j").job("k")
    entry = broken(point, where=where)
    decisions = world.run(policy([entry, Priority, Gang], on_plugin_error="isolate"))
    assert decisions.binds == []
    assert all(f"failed in {where}: ValueError" in text for text in reasons(decisions).values())
    (fault,) = decisions.faults
    assert fault.count >= 3


def test_a_guard_of_evictions_does_not_stop_placements():
    world = World().node("a").job("j").job("k")
    entry = broken("preemptable", "reclaimable")
    decisions = world.run(policy([entry, Priority, Gang], on_plugin_error="isolate"))
    assert served(decisions) == {"j", "k"}


def test_a_plugin_whose_opening_asks_a_faulty_one_is_left_out_itself():
    class Asking(Plugin):
        @hookimpl
        def on_session_open(self):
            self.session.ask.job_valid(None)

    class Faulty(Plugin):
        @hookimpl
        def job_valid(self, job):
            if job is None:
                raise ZeroDivisionError("oops")

    world = World().node("a").job("j")
    decisions = world.run(policy([Asking, Faulty, Gang], on_plugin_error="isolate"))
    assert [(fault.name, fault.hook) for fault in decisions.faults] == [
        ("asking", "on_session_open")
    ]
    assert served(decisions) == {"j"}


# -- actions


class Failing(Action):
    """Places a task and raises before it commits."""

    what: type[BaseException] = RuntimeError

    def execute(self, session):
        statement = session.statement()
        statement.allocate(next(iter(session.cluster.tasks.values())), 0)
        raise self.what("cannot go on")


class Leaving(Failing):
    """Ends the process."""

    what = SystemExit


@pytest.mark.parametrize("action", [Failing, Leaving])
def test_an_action_that_raises_ends_and_the_next_one_runs(action):
    world = World().node("a", cpu=2).job("j", 2)
    decisions = world.run(policy([Gang], actions=[action, Allocate], on_plugin_error="isolate"))
    assert served(decisions) == {"j"}
    assert len(decisions.binds) == 2
    (fault,) = decisions.faults
    assert (fault.kind, fault.name, fault.hook) == ("action", action.__name__.lower(), "execute")
    assert f"{action.what.__name__}: cannot go on (tests/framework/test_contai" in fault.text


def test_an_action_that_raises_is_fatal_where_the_policy_says_so():
    world = World().node("a", cpu=2).job("j", 2)
    with pytest.raises(ActionError, match=r"action failing \(pumice-tests 1.0\) failed"):
        world.run(policy([Gang], actions=[Failing, Allocate]))


def test_the_interrupt_of_the_user_ends_everything():
    class Interrupted(Failing):
        what = KeyboardInterrupt

    world = World().node("a", cpu=2).job("j", 2)
    with pytest.raises(KeyboardInterrupt):
        world.run(policy([Gang], actions=[Interrupted], on_plugin_error="isolate"))
    with pytest.raises(KeyboardInterrupt):
        run(
            type(
                "Ctrl",
                (Plugin,),
                {
                    "job_valid": hookimpl(
                        eval(
                            "lambda self, job: stop()",
                            {"stop": lambda: signal.raise_signal(signal.SIGINT)},
                        )
                    )
                },
            ),
            "placing",
        )


def test_what_cannot_be_shown_of_a_job_costs_only_that_job():
    class Storing(Plugin):
        @hookimpl
        def on_session_close(self):
            self.session.jobs["ns/j"].refusals.append("a text is no Refusal")

    world = World().node("a", cpu=1).job("j", cpu=9).job("k")
    decisions = world.run(policy([Storing, Gang], on_plugin_error="isolate"))
    assert served(decisions) == {"k"}
    assert "AttributeError" in reasons(decisions)["j"]
    assert len(decisions.jobs) == 2


# -- binds that are refused


class Refusing(Plugin):
    """Refuses the binds of the job "bad"."""

    @hookimpl
    def pre_bind(self, bind_context):
        return "no volume" if concerns(bind_context.task) else None


class Raising(Plugin):
    """Raises in the binds of the job "bad"."""

    @hookimpl
    def pre_bind(self, bind_context):
        if concerns(bind_context.task):
            raise OSError("no volume")


@pytest.mark.parametrize("plugin", [Refusing, Raising])
@pytest.mark.parametrize("action", [Allocate, FairAllocate])
def test_a_refused_bind_ends_the_turn_of_its_job_with_the_reason(plugin, action):
    world = World().node("a").job("first").job("bad", 2, min_member=1).job("last")
    chosen = policy([plugin, Gang], actions=[action], on_plugin_error="isolate")
    decisions = world.run(chosen)
    assert served(decisions) == set(OTHERS)
    assert "no volume" in reasons(decisions)["bad"]
    assert plugin.__name__.lower() in reasons(decisions)["bad"]


# -- facts


class Painter(Plugin):
    """Writes into the pod of a task that it is asked about."""

    @hookimpl
    def job_valid(self, job):
        for task in job.tasks.values():
            task.pod.labels = {"painted": "yes"}


def test_changed_facts_are_found_with_check():
    world = World().node("a").job("j")
    with pytest.raises(InvariantError, match="pods: j-t-0 was changed while the action enqueueing"):
        world.run(policy([Painter], actions=[Enqueueing, Allocate], on_plugin_error="isolate"))


def test_the_plugin_that_changed_a_fact_is_named():
    class Direct(Plugin):
        @hookimpl
        def allocatable(self, queue, task):
            task.pod.labels = {"painted": "yes"}

    world = World().node("a").job("j")
    text = r"plugin direct \(pumice-tests 1.0\) changed pod ns/j-t-0 in allocatable \(tests/"
    with pytest.raises(InvariantError, match=text):
        world.run(policy([Direct, Gang], on_plugin_error="isolate"))


class Enqueueing(Action):
    """Asks whether the jobs are valid."""

    def execute(self, session):
        for job in session.jobs.values():
            session.ask.job_valid(job)
