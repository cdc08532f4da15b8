"""The end of a cycle: phases, reasons, messages, and pipelined tasks."""

from dataclasses import replace

import numpy as np
import pytest

from pumice import Plugin, hookimpl
from pumice.backends.memory import MemoryBackend
from pumice.fit_errors import FitErrors
from pumice.model.task import TaskStatus, Transaction
from pumice.scheduler import Scheduler
from pumice.status import (
    close,
    counted_phase,
    fit_error_text,
    scheduling_reason,
    shown_phase,
)
from pumice.verdicts import FitError
from pumice_builtin_plugins.gang import Gang
from pumice_builtin_plugins.predicates.plugin import Predicates
from tests.framework._build import World, phases, pipelined, policy, reasons, session_with

_S = TaskStatus


def job_with(*statuses, **facts):
    """A job whose tasks are in these statuses."""
    return session_with(*statuses, **facts)[1]


@pytest.mark.parametrize(
    "statuses, minimum, before, phase",
    [
        pytest.param([_S.RUNNING], 1, "Inqueue", "Running", id="enough run"),
        pytest.param([_S.BOUND, _S.RUNNING], 2, "Inqueue", "Running", id="bound counts"),
        pytest.param([_S.RUNNING, _S.PENDING], 2, "Inqueue", "Inqueue", id="not enough"),
        pytest.param([_S.BINDING], 1, "Inqueue", "Inqueue", id="binding does not count yet"),
        pytest.param([_S.ALLOCATED], 1, "Inqueue", "Inqueue", id="allocated neither"),
        pytest.param([_S.PENDING], 1, "", "Pending", id="not let in"),
        pytest.param([_S.PENDING], 1, "Running", "Pending", id="fell back"),
        pytest.param([_S.SUCCEEDED], 1, "Running", "Completed", id="done"),
        pytest.param([_S.SUCCEEDED, _S.FAILED], 2, "Running", "Completed", id="done, some failed"),
        pytest.param([_S.SUCCEEDED, _S.RUNNING], 1, "Running", "Running", id="some still run"),
        pytest.param([_S.RELEASING], 1, "Running", "Running", id="leaving counts"),
        pytest.param([], 0, "", "Completed", id="nothing of nothing"),
    ],
)
def test_phases(statuses, minimum, before, phase):
    job = job_with(*statuses, phase=before, min_member=minimum)
    assert counted_phase(job) == phase


def test_a_terminating_pod_without_a_node_does_not_count():
    job = job_with(_S.RELEASING)
    task_ = next(iter(job.tasks.values()))
    task_.node = ""
    assert counted_phase(job) == "Inqueue"


@pytest.mark.parametrize(
    "condition, shown",
    [
        ({"type": "Unschedulable", "status": "True", "transitionID": "now"}, "Unknown"),
        ({"type": "Unschedulable", "status": "True", "transitionID": "before"}, "Running"),
        ({"type": "Unschedulable", "status": "False", "transitionID": "now"}, "Running"),
        ({"type": "Scheduled", "status": "True", "transitionID": "now"}, "Running"),
    ],
)
def test_a_running_job_below_its_minimum_is_unknown(condition, shown):
    job = job_with(_S.RUNNING, phase="Running")
    job.conditions = [condition]
    assert shown_phase(job, "now") == shown


# -- reasons


def test_the_reason_counts_statuses_and_names_the_first_task():
    job = job_with(_S.PENDING, _S.PENDING, _S.RUNNING, min_member=3)
    job.fit_errors["j-t-1"] = FitErrors.for_all(FitError.of("Insufficient cpu"), 4)
    assert fit_error_text(job) == (
        "pod group is not ready, 1 Running, 2 Pending, 3 minAvailable; Pending: 2 Unschedulable. "
        "Origin reason is j-t-1: 0/4 nodes are unavailable: 4 Insufficient cpu."
    )


def test_a_ready_job_says_so():
    job = job_with(_S.RUNNING, _S.PENDING)
    assert fit_error_text(job) == (
        "pod group is ready, 1 Pending, 1 Running, 1 minAvailable; Pending: 1 Unschedulable"
    )


@pytest.mark.parametrize(
    "last, expected",
    [
        (
            Transaction(_S.ALLOCATED, "a", False),
            (
                "Schedulable",
                "Pod ns/j-t-0 can possibly be assigned to a, once minAvailable is satisfied",
                "",
            ),
        ),
        (
            Transaction(_S.PIPELINED, "a", False),
            (
                "Unschedulable",
                "Pod ns/j-t-0 can possibly be assigned to a, once resource is released and "
                "minAvailable is satisfied",
                "",
            ),
        ),
        (
            Transaction(_S.PIPELINED, "a", True),
            (
                "Unschedulable",
                "Pod ns/j-t-0 can possibly be assigned to a, once resource is released and "
                "minAvailable is satisfied",
                "a",
            ),
        ),
        (None, ("Unschedulable", "0/1 nodes are unavailable: 1 full.", "")),
        (Transaction(_S.RELEASING, "a", False), ("Releasing", "", "")),
    ],
    ids=["allocated", "pipelined", "pipelined by eviction", "pending", "other"],
)
def test_messages_of_single_tasks(last, expected):
    job = job_with(_S.PENDING)
    one = next(iter(job.tasks.values()))
    job.fit_errors[one.uid] = FitErrors.for_all(FitError.of("full"), 1)
    one.last_transaction = last
    assert scheduling_reason(one) == expected


def test_a_task_that_was_not_considered_has_no_message():
    one = next(iter(job_with(_S.PENDING).tasks.values()))
    assert scheduling_reason(one) == ("Unschedulable", "", "")


def test_a_discarded_placement_shows_in_the_reason():
    """One task of the gang fits, the other does not: nothing is bound."""
    world = World().node("a", cpu=1).node("b", cpu=1)
    world.job("run", on=["b"]).job("j", tasks=2)
    decisions = world.run(policy([Gang], [Predicates]))
    assert reasons(decisions)["j"] == (
        "1 of 2 tasks fit, minAvailable is 2; j-t-1: none of 2 nodes takes it: 2 Insufficient cpu"
    )


# -- closing


def test_a_closed_session_reports_jobs_tasks_and_pipelined_tasks():
    world = World().node("a", cpu=2).node("b", cpu=1).job("run", on=["a"], phase="Running")
    world.job("leaves", on=["b"], pod={"deleted": 1.0}, phase="Running").job("wait", tasks=2)
    decisions = world.run(policy([Gang], [Predicates]))
    assert phases(decisions) == {"run": "Running", "leaves": "Running", "wait": "Inqueue"}
    assert pipelined(decisions) == {"wait-t-1": "b"}
    assert decisions.binds == []
    assert decisions.task_states["ns/wait-t-0"] == ("Allocated", "a")
    assert decisions.task_states["ns/wait-t-1"] == ("Pipelined", "b")
    waiting = next(state for state in decisions.jobs if state.job == "ns/wait")
    assert (waiting.queue, waiting.ready, waiting.pending) == ("q", 1, 0)
    assert decisions.as_json()["pipelined"] == [
        {"task": "ns/wait-t-1", "job": "ns/wait", "node": "b", "gpu_groups": []}
    ]


def test_closing_notifies_the_plugins_first():
    seen = []

    class Watcher(Plugin):
        @hookimpl
        def on_session_close(self):
            seen.extend(job.phase for job in self.session.jobs.values())

    world = World().node("a").job("j", on=["a"], phase="Inqueue")
    session = world.session(policy([Gang, Watcher]))
    close(session)
    assert seen == ["Inqueue"]
    assert session.jobs["ns/j"].phase == "Running"
    assert session.jobs["ns/j"].conditions[0]["type"] == "Scheduled"


def test_an_histogram_of_many_nodes_stays_small():
    errors = FitErrors.for_all(FitError.of("full"), 10_000)
    assert str(errors) == "0/10000 nodes are unavailable: 10000 full."
    assert errors.verdicts.codes.nbytes + errors.verdicts.reasons.nbytes == 50_000
    assert isinstance(errors.verdicts.codes, np.ndarray)


class TestWaitingCondition:
    def cycles(self):
        """A job that waits for two cycles until the node is large enough, and then starts."""
        world = World().node("a", cpu=1).job("want", cpu=2)
        backend = MemoryBackend(world.inventory, now=world.now)
        scheduler = Scheduler(backend, policy([]))
        nodes = world.inventory.nodes
        for number in range(4):
            if number == 2:
                larger = World().node("a", cpu=2).inventory.nodes
                backend.replace(replace(backend.snapshot(), nodes={**nodes, **larger}))
            (state,) = scheduler.run_once().jobs
            yield [one for one in state.conditions if one["type"] == "Waiting"]
            backend.advance()
            backend.step(10)

    def test_its_time_says_since_when(self):
        first, second, *_ = self.cycles()
        assert first == second
        assert first[0]["status"] == "True"

    def test_it_ends_once_when_the_job_starts(self):
        first, _, third, fourth = self.cycles()
        assert third[0]["status"] == "False"
        assert third[0]["lastTransitionTime"] > first[0]["lastTransitionTime"]
        assert fourth == []


class Silent(MemoryBackend):
    """A backend that nobody asks why jobs wait."""

    reads_reasons = False


@pytest.mark.parametrize("backend", [MemoryBackend, Silent])
def test_who_reads_no_reasons_gets_the_states_that_change_a_pod_group(backend):
    world = World()
    world.node("n", cpu=2)
    world.queue("q")
    world.job("fits", queue="q", tasks=1, cpu=1)
    world.job("waits", queue="q", tasks=1, cpu=9)
    decided = Scheduler(backend(world.inventory), policy([Gang, Predicates]))
    cycles = [decided.run_once() for _ in range(2)]
    assert [bind.task for bind in cycles[0].binds] == ["ns/fits-t-0"]
    phase_of = {
        state.job: (state.phase, state.reason, state.conditions) for state in cycles[0].jobs
    }
    waits = cycles[1].jobs
    if backend is Silent:
        assert phase_of == {}, "both were and are Inqueue"
        assert not waits
        assert not cycles[0].task_states
    else:
        assert "asks for 9 cpu" in phase_of["ns/waits"][1]
        assert phase_of["ns/waits"][2]
        assert {state.job for state in waits} == {"ns/fits", "ns/waits"}


def test_a_phase_that_changes_is_decided_for_those_too_who_read_no_reasons():
    world = World()
    world.node("n", cpu=2)
    world.queue("q")
    world.job("new", queue="q", tasks=1, cpu=9, phase="Pending")
    (state,) = Scheduler(Silent(world.inventory), policy([Gang, Predicates])).run_once().jobs
    assert (state.job, state.phase, state.reason, state.conditions) == ("ns/new", "Inqueue", "", ())
