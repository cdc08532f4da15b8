"""The embedded cluster: how decisions are applied between cycles."""

import pytest

from pumice.backends import Backend
from pumice.backends.adopt import adopt
from pumice.backends.memory import MemoryBackend
from pumice.decisions import Bind, Decisions, Eviction, JobState, PipelinedTask
from pumice.model.build import task_status
from pumice.model.cluster import build_cluster
from pumice.model.facts import Inventory, Node, Pod, PodGroup, Queue
from pumice.model.resources import Resource
from pumice.model.task import TaskStatus

ONE_CPU = Resource(cpu=1000)


def pod(name: str, **facts) -> Pod:
    facts = {"group": "ns/job", "request": ONE_CPU, **facts}
    return Pod(uid=f"uid-{name}", name=name, namespace="ns", **facts)


def inventory(*pods: Pod, **facts) -> Inventory:
    room = Resource(cpu=8000)
    group = PodGroup(uid="ns/job", name="job", namespace="ns", queue="q", phase="Inqueue")
    return Inventory(
        pods={p.uid: p for p in pods},
        nodes={name: Node(name, room, room, max_pods=10) for name in ("a", "b")},
        groups={"ns/job": group},
        queues={"q": Queue("q")},
        **facts,
    )


def bind(name: str, node: str = "a", **annotations: str) -> Bind:
    return Bind(f"ns/{name}", f"uid-{name}", node, annotations)


def eviction(name: str) -> Eviction:
    return Eviction(f"ns/{name}", f"uid-{name}", "a", "preempt", "ns/other", "room")


def states(backend: MemoryBackend) -> dict[str, tuple[str, str]]:
    pods = backend.snapshot().pods.values()
    return {p.name: (task_status(p).label, p.node_name) for p in pods}


def carried_out(backend: MemoryBackend, **decisions) -> dict[str, tuple[str, str]]:
    backend.apply(Decisions(**decisions))
    backend.advance()
    return states(backend)


RUNNING = {"phase": "Running", "node_name": "a"}


def test_the_memory_backend_is_a_backend():
    assert isinstance(MemoryBackend(Inventory()), Backend)


def test_decisions_are_applied_when_the_backend_advances():
    backend = MemoryBackend(inventory(pod("x")))
    backend.apply(Decisions(binds=[bind("x")]))
    assert states(backend) == {"x": ("Pending", "")}
    backend.advance()
    backend.advance()
    assert states(backend) == {"x": ("Running", "a")}
    assert len(backend.history) == 1


@pytest.mark.parametrize(
    "between, bound, evicted",
    [
        ("settle", ("Running", "b"), None),
        ("recreate", ("Running", "b"), ("Pending", "")),
        ("none", ("Binding", "b"), ("Releasing", "a")),
    ],
)
def test_bound_and_evicted_pods_after_a_cycle(between, bound, evicted):
    backend = MemoryBackend(inventory(pod("x"), pod("y", **RUNNING)), between=between)
    after = carried_out(backend, binds=[bind("x", "b")], evictions=[eviction("y")])
    assert after["x"] == bound
    assert after.get("y") == evicted


def test_a_binding_pod_reserves_its_resources_in_the_next_cycle():
    backend = MemoryBackend(inventory(pod("x")), between="none")
    carried_out(backend, binds=[bind("x")])
    cluster = build_cluster(backend.snapshot(), now=backend.now())
    assert cluster.tasks["uid-x"].status is TaskStatus.BINDING
    assert cluster.nodes.idle[cluster.nodes.row_of["a"]][0] == 7000


@pytest.mark.parametrize("between", ["settle", "recreate"])
def test_a_slow_eviction_holds_its_resources_for_its_cycles(between):
    backend = MemoryBackend(inventory(pod("y", **RUNNING)), between=between, eviction_takes=2)
    seen = [carried_out(backend, evictions=[eviction("y")]).get("y")]
    for _ in range(2):
        backend.advance()
        seen.append(states(backend).get("y"))
    gone = None if between == "settle" else ("Pending", "")
    assert seen == [("Releasing", "a"), ("Releasing", "a"), gone]


@pytest.mark.parametrize("between", ["settle", "recreate", "none"])
def test_a_terminating_pod_may_go_from_outside(between):
    backend = MemoryBackend(inventory(pod("y", **RUNNING)), between=between, eviction_takes=1)
    assert carried_out(backend, evictions=[eviction("y")]) == {"y": ("Releasing", "a")}
    backend.replace(inventory())
    assert carried_out(backend) == {}


def test_a_task_evicted_twice_in_a_cycle_is_evicted_once():
    backend = MemoryBackend(inventory(pod("y", **RUNNING)), between="recreate")
    after = carried_out(backend, evictions=[eviction("y"), eviction("y")])
    assert after == {"y": ("Pending", "")}


def test_an_evicted_pod_has_neither_its_status_override_nor_its_gpu_groups():
    running = pod("y", status_override="Running", gpu_groups=("0",), created=3.0, **RUNNING)
    backend = MemoryBackend(inventory(running), between="recreate")
    assert carried_out(backend, evictions=[eviction("y")]) == {"y": ("Pending", "")}
    evicted = backend.snapshot().pods["uid-y"]
    assert (evicted.status_override, evicted.gpu_groups, evicted.created) == ("", (), 3.0)


def test_a_terminating_pod_still_uses_its_gpus():
    running = pod("y", status_override="Running", gpu_groups=("0",), **RUNNING)
    backend = MemoryBackend(inventory(running), eviction_takes=1)
    assert carried_out(backend, evictions=[eviction("y")]) == {"y": ("Releasing", "a")}
    assert backend.snapshot().pods["uid-y"].gpu_groups == ("0",)


def test_the_status_override_wins_over_the_phase():
    assert task_status(pod("x", status_override="Releasing")) is TaskStatus.RELEASING
    assert task_status(pod("x", status_override="Strange")) is TaskStatus.UNKNOWN


def test_facts_of_an_earlier_cycle_are_not_changed():
    facts = inventory(pod("x"), pod("y", **RUNNING))
    backend = MemoryBackend(facts)
    state = JobState("ns/job", "q", "Running", 1, 0, "")
    carried_out(backend, binds=[bind("x")], evictions=[eviction("y")], jobs=[state])
    assert {p.name: p.phase for p in facts.pods.values()} == {"x": "Pending", "y": "Running"}
    assert facts.groups["ns/job"].phase == "Inqueue"


@pytest.mark.parametrize(
    "between, phase", [("settle", "Running"), ("recreate", "Running"), ("none", "Inqueue")]
)
def test_phases_and_conditions_are_stored_unless_nothing_happens_between_cycles(between, phase):
    backend = MemoryBackend(inventory(pod("x")), between=between)
    first, second = ({"type": "Unschedulable", "status": s} for s in ("True", "False"))
    for condition in (first, second):
        state = JobState("ns/job", "q", "Running", 1, 0, "", conditions=(condition,))
        carried_out(backend, jobs=[state])
    group = backend.snapshot().groups["ns/job"]
    assert group.phase == phase
    assert list(group.conditions) == ([] if between == "none" else [second])


@pytest.mark.parametrize("occurred, node", [(True, "b"), (False, "")])
def test_a_pipelined_task_nominates_its_node_if_a_task_was_evicted_for_it(occurred, node):
    backend = MemoryBackend(inventory(pod("x")))
    carried_out(backend, pipelined=[PipelinedTask("ns/x", "uid-x", "b", occurred)])
    assert backend.snapshot().pods["uid-x"].nominated_node == node


def test_a_pod_that_starts_to_run_has_its_annotations_and_the_time():
    backend = MemoryBackend(inventory(pod("x", nominated_node="b")), now=60.0)
    carried_out(backend, binds=[bind("x", gpu="3")])
    started = backend.snapshot().pods["uid-x"]
    assert (started.annotations, started.start_time) == ({"gpu": "3"}, 60.0)
    assert started.nominated_node == ""
    assert [(c["type"], c["status"]) for c in started.conditions] == [("PodScheduled", "True")]


def test_the_clock_starts_after_every_object_and_moves_in_steps():
    facts = inventory(pod("x", created=100.0), pod("y", created=50.0, start_time=200.0))
    backend = MemoryBackend(facts)
    assert backend.now() == 201.0
    backend.advance()
    assert backend.now() == 201.0
    backend.step(5)
    assert backend.now() == 206.0
    assert MemoryBackend(Inventory()).now() > 0


class TestAdoption:
    def test_a_plain_pending_pod_becomes_a_job_of_one(self):
        plain = pod("x", group="", priority_class="high", created=7.0)
        facts = inventory(plain)
        adopted = adopt(facts, queue="default")
        group = adopted.groups["ns/podgroup-x"]
        assert (group.queue, group.min_member, group.phase) == ("default", 1, "Pending")
        assert (group.priority_class, group.created) == ("high", 7.0)
        assert adopted.pods["uid-x"].group == "ns/podgroup-x"
        assert "default" in adopted.queues
        assert plain.group == ""
        assert "default" not in facts.queues

    @pytest.mark.parametrize(
        "facts",
        [
            {"group": "ns/job"},
            {"group": "", "scheduler_name": "other-scheduler"},
            {"group": "", "phase": "Running", "node_name": "a"},
            {"group": "", "deleted": 1.0},
        ],
        ids=["has a group", "asks for another scheduler", "runs", "is being deleted"],
    )
    def test_other_pods_are_left_alone(self, facts):
        before = inventory(pod("x", **facts))
        adopted = adopt(before)
        assert adopted.groups.keys() == {"ns/job"}
        assert adopted.queues.keys() == {"q"}

    @pytest.mark.parametrize(
        "names, ours", [((), True), (("pumice",), False), (("default-scheduler",), True)]
    )
    def test_the_policy_may_say_which_scheduler_names_are_ours(self, names, ours):
        plain = pod("x", group="", scheduler_name="default-scheduler")
        adopted = adopt(inventory(plain), scheduler_names=names)
        assert ("ns/podgroup-x" in adopted.groups) is ours
