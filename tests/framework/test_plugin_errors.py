"""When a plugin raises, the job being decided is skipped, and no other."""

import pytest

from pumice import Plugin, hookimpl
from pumice.discovery import Source
from pumice.errors import ActionError, InvariantError, PluginError
from pumice_builtin_plugins.binpack import Binpack
from pumice_builtin_plugins.gang import Gang
from pumice_builtin_plugins.predicates.plugin import Predicates
from pumice_builtin_plugins.priority import Priority
from tests.framework._build import World, amount, bound, phases, plugin_entry, policy, reasons

SOURCE = Source("pumice-faulty", "2.7", "pumice_faulty:Faulty")


def concerns(thing):
    """Whether a task, a job or something that knows one belongs to the job "bad"."""
    for name in ("job", "task"):
        inner = getattr(thing, name, None)
        if inner is not None:
            return concerns(inner)
    return getattr(thing, "name", "") == "bad"


def faulty(point, *arguments, subject=None, scope="cluster", options=None):
    """A plugin that raises in one point where the job "bad" is concerned."""
    subject = subject or (arguments[0] if arguments else "")
    names = ", ".join(("self", *arguments))
    check = f"concerns({subject})" if subject else "True"
    source = f"def {point}({names}):\n    if {check}:\n        raise ZeroDivisionError('oops')\n"
    scope_: dict = {"concerns": concerns}
    exec(source, scope_)
    method = hookimpl(scope=scope)(scope_[point])
    return plugin_entry(type("Faulty", (Plugin,), {point: method}), source=SOURCE)


def crowd():
    """Three jobs that fit, the bad one in the middle; it also has a best-effort task."""
    world = World().node("a").node("b")
    for number, name in enumerate(("first", "bad", "last")):
        world.job(name, tasks=2, min_member=2, created=float(number), phase="Pending")
        world.inventory.groups[f"ns/{name}"].min_resources = amount(1)
    world.pod("bad-t-9", "ns/bad", cpu=0, memory=0)
    return world


def run(world, *plugins, how="isolate"):
    tiers = [[Priority, *plugins, Gang], [Predicates, Binpack]]
    return world.run(policy(*tiers, on_plugin_error=how), verify=False)


TURNS = {
    "job_valid": faulty("job_valid", "job"),
    "job_ready": faulty("job_ready", "job"),
    "job_pipelined": faulty("job_pipelined", "job"),
    "job_enqueueable": faulty("job_enqueueable", "job"),
    "job_enqueued": faulty("job_enqueued", "job"),
    "allocatable": faulty("allocatable", "queue", "task", subject="task"),
    "pre_predicate": faulty("pre_predicate", "task"),
    "predicate": faulty("predicate", "task"),
    "predicate row": faulty("predicate", "task", scope="row"),
    "predicate_nodes": faulty("predicate_nodes", "task"),
    "predicate_nodes static": faulty("predicate_nodes", "task", scope="static"),
    "node_order": faulty("node_order", "task"),
    "batch_node_order": faulty("batch_node_order", "task"),
    "batch_node_order row": faulty("batch_node_order", "task", scope="row"),
    "node_map": faulty("node_map", "task"),
    "best_node": faulty("best_node", "task"),
    "on_allocate": faulty("on_allocate", "task"),
    "setup_bind_context": faulty("setup_bind_context", "task"),
    "pre_bind": faulty("pre_bind", "bind_context"),
    "bind_request_mutate": faulty("bind_request_mutate", "task"),
}


def world_for(name):
    world = crowd()
    if name == "job_pipelined":  # called only for jobs that are not ready
        world.inventory.groups["ns/bad"].min_member = 3
        del world.inventory.pods["bad-t-9"]
        world.pod("bad-t-2", "ns/bad", cpu=9)
    if "static" in name or "row" in name:  # its own task class: answers are cached
        for pod in world.inventory.pods.values():
            if pod.group == "ns/bad" and pod.request.cpu:
                pod.node_selector = {"kubernetes.io/os": "linux"}
        for node in world.inventory.nodes.values():
            node.labels = {"kubernetes.io/os": "linux"}
    return world


@pytest.mark.parametrize("name", TURNS)
def test_the_job_is_skipped_and_the_reason_names_the_plugin(name):
    world, entry = world_for(name), TURNS[name]
    decisions = run(world, entry)
    assert {uid.split("-")[0] for uid in bound(decisions)} == {"first", "last"}
    assert reasons(decisions)["bad"] == (
        f"plugin faulty (pumice-faulty 2.7) failed in {name.split()[0]}: ZeroDivisionError: oops "
        "(<string>:3)"
    )
    assert reasons(decisions)["first"] == reasons(decisions)["last"] == ""


@pytest.mark.parametrize("name", TURNS)
def test_the_failed_job_leaves_no_placement(name):
    """The others are placed as if the job did not exist."""
    world, entry = world_for(name), TURNS[name]
    without = world_for(name)
    del without.inventory.groups["ns/bad"]
    expected = bound(run(without))
    assert bound(run(world, entry)) == expected


@pytest.mark.parametrize("name", TURNS)
def test_it_is_fatal_where_the_policy_says_so(name):
    with pytest.raises(PluginError, match="plugin faulty") as e:
        run(world_for(name), TURNS[name], how="raise")
    assert isinstance(e.value.__cause__, ZeroDivisionError)
    assert e.value.exit_status == 1


# -- order points


ORDERS = {
    "queue_order": faulty("queue_order"),
    "job_order": faulty("job_order"),
    "task_order": faulty("task_order"),
}


@pytest.mark.parametrize("name", ORDERS)
def test_in_an_order_point_it_abstains(name):
    expected = run(crowd())
    decisions = run(crowd(), ORDERS[name])
    assert decisions.binds == expected.binds
    assert set(reasons(decisions).values()) == {""}


@pytest.mark.parametrize("name", ORDERS)
def test_in_an_order_point_it_is_fatal_where_the_policy_says_so(name):
    world = crowd().job("other", queue="r")
    with pytest.raises(PluginError, match=name):
        run(world, ORDERS[name], how="raise")


@pytest.mark.parametrize("point", ["job_order", "task_order"])
@pytest.mark.parametrize("answer", [None, "raise"])
def test_a_key_of_none_lets_the_next_plugin_decide(point, answer):
    def key(self, item):
        if answer == "raise":
            raise ZeroDivisionError("oops")
        return answer

    methods = {
        point: hookimpl(eval("lambda self, left, right: 0")),
        f"{point}_key": hookimpl(
            eval("lambda self, job: key(self, job)", {"key": key})
            if point == "job_order"
            else eval("lambda self, task: key(self, task)", {"key": key})
        ),
    }
    entry = plugin_entry(type("Silent", (Plugin,), methods), source=SOURCE)
    world = World().node("a", cpu=1)
    if point == "job_order":
        world.job("low").job("high", priority=5)
        expected = "high-t-0"
    else:
        world.job("j", tasks=0, min_member=1).pod("j-t-0", "ns/j", priority=1)
        world.pod("j-t-1", "ns/j", priority=5)
        expected = "j-t-1"
    tiers = policy([entry, Priority], on_plugin_error="isolate")
    assert list(bound(world.run(tiers, verify=False))) == [expected]
    session = world.session(tiers)
    items = list(session.jobs.values()) if point == "job_order" else session.cluster.tasks.values()
    if point == "job_order":
        session.order.job_heap(items)
    else:
        session.order.sorted_tasks(items)
    assert {e.point for e in session.plugin_errors} == ({f"{point}_key"} if answer else set())


# -- the life cycle


def test_an_error_at_the_end_does_not_lose_what_was_decided():
    closed = []

    class Close(Plugin):
        @hookimpl
        def on_session_close(self):
            closed.append(self.name)

    decisions = run(crowd(), faulty("on_session_close"), plugin_entry(Close))
    assert len(decisions.binds) == 7
    assert phases(decisions)["first"] == "Inqueue"
    assert closed == ["close"]


def test_a_plugin_that_cannot_open_is_left_out_where_it_could_not_refuse():
    decisions = run(crowd(), faulty("on_session_open"))
    assert decisions.binds == run(crowd()).binds
    assert [(fault.name, fault.hook) for fault in decisions.faults] == [
        ("faulty", "on_session_open")
    ]


def test_errors_are_counted_and_a_later_action_retries_the_job():
    world = crowd()
    session = world.session(
        policy([Gang], [faulty("allocatable", "queue", "task")], on_plugin_error="isolate")
    )
    job = session.jobs["ns/bad"]
    with session.turn(job), session.statement() as statement:
        statement.allocate(session.cluster.tasks["bad-t-0"], 0)
        with session.statement() as inner:
            inner.allocate(session.cluster.tasks["bad-t-1"], 0)
            raise PluginError("some_point", "faulty", "dist 1", ValueError("x"))
    assert len(session.plugin_errors) == 1
    assert job.plugin_errors == ["plugin faulty (dist 1) failed in some_point: ValueError: x"]
    assert session.nodes.used.sum() == 0


def test_unclosed_statements_are_discarded_with_the_failed_job():
    session = crowd().session(policy([Gang], on_plugin_error="isolate"))
    with session.turn(session.jobs["ns/bad"]):
        outer, inner = session.statement(), session.statement()
        outer.allocate(session.cluster.tasks["bad-t-0"], 0)
        inner.allocate(session.cluster.tasks["bad-t-1"], 0)
        raise PluginError("some_point", "faulty", "dist 1", ValueError("x"))
    assert session.nodes.used.sum() == 0


def test_a_block_may_be_entered_again_for_another_job():
    session = crowd().session(policy([Gang], on_plugin_error="isolate"))
    turn = session.turn()
    for number, name in enumerate(("first", "bad")):
        job = turn.job = session.jobs[f"ns/{name}"]
        with turn:
            session.statement().allocate(session.cluster.tasks[f"{name}-t-0"], 0)
            raise PluginError("some_point", f"faulty-{number}", "dist 1", ValueError("x"))
        assert len(job.plugin_errors) == 1
        assert session.nodes.used.sum() == 0


def test_an_error_of_the_action_costs_the_job_and_is_reported():
    session = crowd().session(policy([Gang], on_plugin_error="isolate"))
    session.current_action = "allocate"
    job = session.jobs["ns/bad"]
    with session.turn(job), session.statement() as statement:
        statement.allocate(session.cluster.tasks["bad-t-0"], 0)
        raise KeyError("bug")
    assert session.nodes.used.sum() == 0
    assert job.plugin_errors[0].startswith(
        "action allocate (pumice-tests 1.0) failed in execute: KeyError: 'bug' (tests/framework/"
    )
    assert isinstance(session.plugin_errors[0], ActionError)


@pytest.mark.parametrize("passed", [KeyboardInterrupt, InvariantError])
def test_an_interrupt_and_a_failed_check_are_not_contained(passed):
    session = crowd().session(policy([Gang], on_plugin_error="isolate"))
    with pytest.raises(passed), session.turn(session.jobs["ns/bad"]):
        raise passed("stop")
