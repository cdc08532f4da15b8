"""Why a job waits: one code and one sentence."""

from pumice.explain.codes import CODES
from pumice.explain.verdict import verdict_of
from pumice.model.task import TaskStatus
from pumice.verdicts import Refusal
from pumice_builtin_plugins.gang import Gang
from pumice_builtin_plugins.predicates.plugin import Predicates
from tests.framework._build import World, policy, session_with

_S = TaskStatus


def verdict(*statuses, **facts):
    return verdict_of(*session_with(*statuses, **facts))


def test_a_job_that_waits_for_nothing_has_none():
    assert verdict(_S.RUNNING, _S.SUCCEEDED) is None
    assert verdict(_S.BINDING) is None


def test_a_plugins_error_is_the_reason():
    session, job = session_with(_S.PENDING)
    job.plugin_errors += ["first", "last"]
    assert verdict_of(session, job) == ("PluginFault", "last")


def test_each_refusal_is_reported_once():
    session, job = session_with(_S.PENDING)
    job.refusals += [Refusal("OverLimit", "too much")] * 2 + [Refusal("OverLimit", "no")]
    assert verdict_of(session, job) == ("OverLimit", "too much; no")


def test_a_job_that_an_action_must_admit_first():
    session, job = session_with(_S.PENDING, phase="Pending")
    session.admits_jobs = True
    assert verdict_of(session, job) == ("NotAdmitted", "not let into its queue yet")
    job.refusals.append(Refusal("NotEnqueueable", "the queue is full"))
    assert verdict_of(session, job) == ("NotEnqueueable", "the queue is full")


def test_reserved_room_is_no_lack_of_nodes():
    session, job = session_with(_S.PIPELINED)
    found = verdict_of(session, job)
    assert found == ("WaitsForRelease", "waits for resources to be freed on node a")


def test_the_eviction_that_came_furthest_is_the_reason():
    session, job = session_with(_S.PENDING)
    session.current_action = "reclaim"
    session.note(job, "NoVictims", "there is none")
    session.current_action = "preempt"
    session.note(job, "VictimsProtected", "all are spared")
    found = verdict_of(session, job)
    assert found.code == "VictimsProtected"
    assert found.text.endswith("; preempt: all are spared")


def test_a_task_larger_than_any_node_never_runs():
    world = World().node("a", cpu=4).job("j", cpu=5)
    found = world.run(policy([Gang], [Predicates])).jobs[0]
    assert (found.code, found.reason) == (
        "TooLarge",
        "j-t-0 asks for 5 cpu, the largest node has 4",
    )
    assert CODES[found.code].never


def test_a_gang_larger_than_all_nodes_never_runs():
    world = World().node("a", cpu=4).node("b", cpu=4).job("j", tasks=3, cpu=3)
    found = world.run(policy([Gang], [Predicates])).jobs[0]
    assert found.code == "TooLarge"
    assert found.reason.startswith(
        "the gang needs 3 tasks at once, all nodes together would hold 2"
    )


def test_a_full_node_is_not_never():
    world = World().node("a", cpu=4).job("run", cpu=3, on=["a"]).job("j", cpu=2)
    found = {state.job: state for state in world.run(policy([Gang], [Predicates])).jobs}["ns/j"]
    assert (found.code, found.reason) == (
        "NodesFull",
        "none of 1 node takes it: 1 Insufficient cpu (asks for 2 cpu, the best node has 1 free)",
    )


def test_every_code_says_what_it_means_and_what_helps():
    for code in CODES.values():
        assert code.title, code.code
        assert code.meaning.endswith("."), code.code
        assert code.remedy.endswith("."), code.code
