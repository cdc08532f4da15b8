"""What a shadow reports of a scheduler in charge, step by step."""

from dataclasses import replace

import pytest

from pumice import Eviction, MemoryBackend, Scheduler, load_policy
from pumice.manifests import read_objects
from pumice.shadow import Shadow
from pumice.shadow.observer import bound_at

START = 1_800_000_000.0


def node(name):
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name},
        "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"}},
    }


def pod(name, cpu="1"):
    requests = {"resources": {"requests": {"cpu": cpu}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "x",
            "uid": name,
            "annotations": {"scheduling.k8s.io/group-name": name},
            "creationTimestamp": "2027-01-15T08:00:00Z",
        },
        "spec": {"containers": [{"name": "c", "image": "i", **requests}]},
        "status": {"phase": "Pending"},
    }


def group(name, minimum=1):
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": "x"},
        "spec": {"minMember": minimum},
        "status": {"phase": "Inqueue"},
    }


class Real(MemoryBackend):
    """A cluster that another scheduler is in charge of."""

    clock = START

    def apply(self, decisions):
        """Nothing is carried out."""

    def now(self):
        return self.clock

    def change(self, uid, **fields):
        facts = self.snapshot()
        facts.pods[uid] = replace(facts.pods[uid], **fields)


@pytest.fixture
def real():
    items = [node("n1"), pod("a"), group("a"), pod("b"), group("b", 2)]
    return Real(read_objects([(item["kind"], item) for item in items]))


@pytest.fixture
def shadow(real):
    overrides = ["scheduler.scheduler_names=[]"]
    return Shadow(Scheduler(real, load_policy(None, preset="volcano", overrides=overrides)))


def test_the_first_decision_for_a_pod_is_compared_with_its_bind(real, shadow):
    first = shadow.run_cycle()
    assert [(bind.task, bind.node) for bind in first.would_bind] == [("x/a", "n1")]
    assert not first.differs
    assert first.utilisation["cpu"].actual == 0
    assert first.utilisation["cpu"].shadow == 0.25
    real.clock += 10
    assert shadow.run_cycle().would_bind == ()  # decided already
    waiting = shadow.summary()
    assert (waiting.would_start, waiting.would_start_seconds) == (1, 10)
    real.change("a", node_name="n1")
    real.clock += 10
    (bound,) = shadow.run_cycle().bound
    assert (bound.outcome, bound.shadow_node, bound.seconds) == ("same", "n1", 20)
    summary = shadow.summary()
    assert (summary.bound, summary.same, summary.would_start) == (1, 1, 0)
    assert (summary.wait.actual, summary.wait.shadow) == (20, 0)
    assert summary.utilisation["cpu"].actual == 0
    assert summary.utilisation["cpu"].shadow == 0.25
    assert summary.differing == 0


def test_another_node_differs_and_the_time_of_the_bind_is_that_of_its_condition(real, shadow):
    real.snapshot().nodes["n0"] = replace(real.snapshot().nodes["n1"], name="n0")
    shadow.run_cycle()
    said = {"type": "PodScheduled", "status": "True", "lastTransitionTime": "2027-01-15T08:00:04Z"}
    real.change("a", node_name="elsewhere", conditions=(said,))
    real.clock += 10
    cycle = shadow.run_cycle()
    assert cycle.differs
    assert (cycle.bound[0].outcome, cycle.bound[0].seconds) == ("other_node", 4)


def test_a_pod_that_would_wait_has_the_reason_of_its_job(real, shadow):
    shadow.run_cycle()
    real.change("b", node_name="n1")
    cycle = shadow.run_cycle()
    (bound,) = cycle.bound
    assert cycle.differs
    assert (bound.outcome, bound.shadow_node) == ("waits", "")
    assert bound.code
    assert bound.reason
    assert shadow.summary().waits == 1


def test_pods_of_which_nothing_was_decided(real, shadow):
    shadow.run_cycle()
    facts = real.snapshot()
    facts.pods["c"] = replace(facts.pods["a"], uid="c", name="c", node_name="n1")
    del facts.pods["b"]
    cycle = shadow.run_cycle()
    assert (cycle.unseen, cycle.bound) == (1, ())
    assert shadow.summary().unseen == 1


def test_evictions_are_those_of_the_disruption_condition(real, shadow):
    real.change("a", node_name="n1", phase="Running")
    real.change("b", node_name="n1", phase="Running")
    shadow.run_cycle()
    shadow._would_evict["a"] = Eviction("x/a", "a", "n1", "reclaim", "x/z", "room")
    target = {"type": "DisruptionTarget", "status": "True"}
    real.change("a", deleted=real.clock, conditions=(target,))
    real.change("b", deleted=real.clock)  # its owner deletes it
    assert shadow.run_cycle().evicted == ("x/a",)
    assert shadow.run_cycle().evicted == ()
    summary = shadow.summary()
    assert (summary.evicted, summary.both_evict, summary.differing) == (1, 1, 1)


def test_a_condition_without_a_time_says_nothing(real):
    one = replace(real.snapshot().pods["a"], conditions=({"type": "PodScheduled"},))
    assert bound_at(one, 7.0) == 7.0
