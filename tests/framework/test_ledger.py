"""The ledger: stable names, only the requested events, and no cost when it is off."""

import contextlib
import json
import types

import numpy as np
import pytest

from pumice import Plugin, hookimpl
from pumice.errors import PluginError
from pumice.ledger import Ledger, plain
from pumice.verdicts import NodeVerdicts
from pumice_builtin_plugins.binpack import Binpack
from pumice_builtin_plugins.gang import Gang
from pumice_builtin_plugins.predicates.plugin import Predicates
from pumice_builtin_plugins.priority import Priority
from tests.framework._build import World, bound, plugin_entry, policy, task
from tests.framework._worlds import seeded_world

EVENTS = {
    "question", "vote", "verdicts", "scores", "allocate", "pipeline", "evict", "unevict", "undo",
    "commit", "discard", "refuse", "keep", "merge", "bind", "plugin_error", "note", "search",
    "repeat", "action",
}  # fmt: skip
POLICY = policy([Priority, Gang], [Predicates, Binpack])


def world():
    return World().node("a").node("b").job("j", tasks=2, priority=5).job("big", cpu=9)


def record(points=None, *, statements=True, policy_=POLICY):
    events = []
    ledger = Ledger(events.append, points, statements=statements)
    decisions = world().run(policy_, ledger=ledger, verify=False)
    return events, decisions


def test_a_ledger_without_a_sink_stores_the_same_events():
    handed, _ = record()
    ledger = Ledger()
    world().run(POLICY, ledger=ledger, verify=False)
    assert list(ledger.events()) == handed
    assert list(ledger.events()) == handed, "they may be read twice"
    assert ledger.sequence == len(handed)


def test_questions_for_victims_are_stored_as_they_are_handed_on():
    class Failing(Plugin):
        @hookimpl
        def reclaimable(self, reclaimer, candidates):
            raise RuntimeError("boom")

    def ask(ledger):
        cluster = world().job("run", tasks=2, on=["a", "b"])
        session = cluster.session(
            policy([Priority, Gang], [Failing], on_plugin_error="isolate"), ledger=ledger
        )
        running = [task(session, "run-t-0"), task(session, "run-t-1")]
        session.ask.preemptable(task(session, "j-t-0"), running)
        with contextlib.suppress(PluginError):
            session.ask.reclaimable(task(session, "j-t-0"), running)

    handed = []
    ask(Ledger(handed.append))
    stored = Ledger()
    ask(stored)
    assert list(stored.events()) == handed
    assert stored.sequence == len(handed)
    votes = [(e["event"], e["point"]) for e in handed if e.get("point") == "preemptable"]
    assert votes == [("vote", "preemptable"), ("vote", "preemptable"), ("question", "preemptable")]


def test_a_ledger_with_a_sink_stores_nothing():
    ledger = Ledger(lambda event: None)
    world().run(POLICY, ledger=ledger, verify=False)
    assert list(ledger.events()) == []
    assert ledger.sequence > 0


def test_an_event_does_not_change_with_its_objects():
    said = []

    class Fickle(Plugin):
        @hookimpl
        def victim_tasks(self, tasks):
            return said

    ledger = Ledger(None, ["victim_tasks"])
    session = world().session(policy([Fickle]), ledger=ledger)
    asked = [task(session, "j-t-0")]
    session.ask.victim_tasks(asked)
    asked.append(task(session, "j-t-1"))
    said.append(asked[1])
    assert [(e["args"], e["answer"]) for e in ledger.events()] == [([["ns/j-t-0"]], [])] * 2


def test_every_event_has_a_stable_name_and_a_number():
    events, _ = record()
    assert {event["event"] for event in events} <= EVENTS
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert {"question", "vote", "verdicts", "scores", "allocate", "bind", "commit", "action"} <= {
        event["event"] for event in events
    }


def test_events_are_plain_data():
    events, _ = record()
    json.dumps(events, allow_nan=False)


def test_a_vote_records_plugin_arguments_and_answer():
    events, _ = record(["job_ready"])
    votes = [e for e in events if e["event"] == "vote"]
    assert votes[0] | {"seq": 0} == {
        "seq": 0,
        "cycle": 1,
        "job": "ns/j",
        "event": "vote",
        "point": "job_ready",
        "plugin": "gang",
        "tier": 1,
        "args": ["ns/j"],
        "answer": False,
    }
    asked = [e for e in events if e["event"] == "question"]
    assert asked[0]["args"] == ["ns/j"]
    assert {e["answer"] for e in asked} == {True, False}


@pytest.mark.parametrize(
    "point", ["job_ready", "job_order", "pre_predicate", "predicate", "node_order", "task_order"]
)
def test_recording_one_point_records_only_it(point):
    events, _ = record([point], statements=False)
    recorded = {e["point"].removesuffix("_key") for e in events if "point" in e}
    assert recorded == {point}
    assert {e["event"] for e in events if "point" not in e} <= {"action"}


def test_node_queries_are_recorded_as_vectors():
    events, _ = record(["predicate", "node_order"], statements=False)
    verdicts = [e for e in events if e["event"] == "verdicts"]
    assert verdicts[0] | {"seq": 0} == {
        "seq": 0,
        "cycle": 1,
        "job": "ns/j",
        "event": "verdicts",
        "point": "predicate",
        "plugin": "predicates",
        "task": "ns/j-t-0",
        "nodes": 2,
        "rejected": 0,
    }
    assert {e["plugin"] for e in events if e["event"] == "scores"} == {"binpack"}


def test_statements_can_be_left_out():
    events, _ = record([], statements=False)
    assert {e["event"] for e in events} == {"action"}


def test_operations_and_their_undo_are_recorded():
    events = []
    cluster = world().job("run", on=["b"])
    session = cluster.session(POLICY, ledger=Ledger(events.append, []))
    run, waiting = task(session, "run-t-0"), task(session, "j-t-0")
    with session.statement() as statement:
        statement.evict(run, "room", claimant=session.jobs["ns/j"])
        statement.unevict(run)
        statement.pipeline(waiting, 0)
        statement.rollback(2)
        with session.statement() as inner:
            inner.allocate(waiting, 0)
            statement.merge(inner)
    with session.statement() as statement:
        statement.allocate(waiting, 1)
        statement.keep()
    assert [e["event"] for e in events] == [
        "evict", "unevict", "pipeline", "undo", "allocate", "merge",
        "undo", "undo", "undo", "discard", "allocate", "keep",
    ]  # fmt: skip
    assert events[0] == {
        "seq": 1,
        "cycle": 0,
        "job": None,
        "event": "evict",
        "task": "ns/run-t-0",
        "node": "b",
        "reason": "room",
        "claimant": "ns/j",
    }
    (discarded,) = (e for e in events if e["event"] == "discard")
    assert (discarded["operations"], discarded["kinds"]) == (
        3,
        {"evict": 1, "unevict": 1, "allocate": 1},
    )


def test_a_plugin_error_is_recorded():
    class Faulty(Plugin):
        @hookimpl
        def job_order(self, left, right):
            raise RuntimeError("boom")

    events = []
    session = world().session(
        policy([Faulty], on_plugin_error="isolate"), ledger=Ledger(events.append, [])
    )
    session.order.job_before(*session.jobs.values())
    (event,) = events
    assert (event["event"], event["point"], event["plugin"]) == (
        "plugin_error",
        "job_order",
        "faulty",
    )
    assert "boom" in event["text"]


# -- it changes nothing


@pytest.mark.parametrize("seed", range(20))
def test_a_ledger_changes_no_decision(seed):
    recorded = seeded_world(seed).run(POLICY, ledger=Ledger(lambda event: None))
    assert recorded.as_json() == seeded_world(seed).run(POLICY).as_json()


def test_without_a_ledger_the_compiled_functions_are_the_rules_own():
    """The same code objects as a rule compiles, with nothing around them."""
    session = world().session(POLICY)
    from pumice.hookspecs import POINTS

    for name, point in POINTS.items():
        compiled = getattr(session.ask, name)
        impls = [[impl for impl, _ in tier] for tier in session.ask.voters[name]]
        own = point.rule.compile(name, impls, session.report)
        assert isinstance(compiled, types.FunctionType)
        assert compiled.__code__ is own.__code__, name


def test_a_ledger_that_watches_one_point_wraps_only_that():
    off = world().session(POLICY)
    on = world().session(POLICY, ledger=Ledger(lambda event: None, ["job_ready"]))
    for name in off.ask.voters:
        wrapped = getattr(on.ask, name).__code__ is not getattr(off.ask, name).__code__
        assert wrapped == (name == "job_ready"), name


def test_a_method_that_takes_all_arguments_is_called_directly():
    class All(Plugin):
        @hookimpl
        def job_order(self, left, right):
            return 0

    session = world().session(policy([All]))
    ((impl, plugin),) = session.ask.voters["job_order"][0]
    assert impl.fn == plugin.job_order


# -- plain values


def test_values_are_recorded_as_names_and_summaries():
    session = world().session(POLICY)
    assert plain(task(session, "j-t-0")) == "ns/j-t-0"
    assert plain(session.jobs["ns/j"]) == "ns/j"
    assert plain(session.queues["q"]) == "q"
    assert plain(session.nodes.handle(0)) == "a"
    assert plain([1, None, {"k": task(session, "j-t-0")}]) == [1, None, {"k": "ns/j-t-0"}]
    assert plain(np.arange(3)) == [0, 1, 2]
    assert plain(np.arange(100)) == {"nodes": 100}
    verdicts = NodeVerdicts.accept(4).reject(np.array([True, False, False, False]), "no")
    assert plain(verdicts) == {"nodes": 4, "ok": 3}
    assert plain(session.nodes.view()) == {"nodes": 2}


def test_the_same_decisions_are_bound_and_recorded():
    events, decisions = record([])
    binds = {e["task"].removeprefix("ns/"): e["node"] for e in events if e["event"] == "bind"}
    assert binds == bound(decisions)


def test_a_name_of_the_policy_is_the_name_in_the_ledger():
    tiers = policy([plugin_entry(Gang, "my-gang")])
    events, _ = record(["job_ready"], policy_=tiers)
    assert {e["plugin"] for e in events if e["event"] == "vote"} == {"my-gang"}
