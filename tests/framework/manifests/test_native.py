"""Kubernetes' own pod groups, and Pumice's."""

import pytest

from pumice import Scheduler, load_policy
from pumice.backends.memory import MemoryBackend
from pumice.manifests import NATIVE_API, OWN_API, read_objects

NATIVE = f"{NATIVE_API}/v1alpha2"
OWN = f"{OWN_API}/v1alpha1"


def item(version, kind, name, namespace="x", labels=None, annotations=None, **content):
    meta = {"name": name, "labels": labels or {}, "annotations": annotations or {}}
    if namespace:
        meta["namespace"] = namespace
    return {"apiVersion": version, "kind": kind, "metadata": meta, **content}


def native(name="g", labels=None, **spec):
    spec = {"schedulingPolicy": {"gang": {"minCount": 3}}, **spec}
    return item(NATIVE, "PodGroup", name, labels=labels, spec=spec)


def pod(name, group="", created="2026-01-01T00:00:00Z", cpu="1", **more):
    spec = {"containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]}
    if group:
        spec["schedulingGroup"] = {"podGroupName": group}
    if "priority_class" in more:
        spec["priorityClassName"] = more.pop("priority_class")
    made = item("v1", "Pod", name, spec=spec, **more)
    made["metadata"]["creationTimestamp"] = created
    return made


def node(name, cpu="8", **labels):
    return item(
        "v1",
        "Node",
        name,
        namespace="",
        labels=labels,
        status={
            "allocatable": {"cpu": cpu, "memory": "8Gi", "pods": "20"},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    )


def read(*items):
    inventory = read_objects((f"item {i}", one) for i, one in enumerate(items))
    assert not inventory.problems
    return inventory


def binds(inventory):
    policy = load_policy(None, preset="pumice")
    decisions = Scheduler(MemoryBackend(inventory), policy, verify=True).run_once()
    return {bind.task: bind.node for bind in decisions.binds}


def test_the_gang_policy_and_the_pods_of_a_native_group():
    inventory = read(native(), pod("a", "g"), pod("b", "g"))
    group = inventory.groups["x/g"]
    assert (group.min_member, group.api_group, group.queue) == (3, NATIVE_API, "default")
    assert {p.group for p in inventory.pods.values()} == {"x/g"}


def test_without_a_gang_policy_a_pod_may_start_alone():
    assert read(native(schedulingPolicy={"basic": {}})).groups["x/g"].min_member == 1


def test_an_annotation_of_volcano_wins_over_the_native_group():
    marks = {"scheduling.k8s.io/group-name": "other"}
    (one,) = read(pod("a", "g", annotations=marks)).pods.values()
    assert one.group == "x/other"


WORKLOAD = item(NATIVE, "Workload", "w", labels={"pumice/queue": "by-workload"}, spec={})
REFERENCE = {"workload": {"workloadName": "w", "podGroupTemplateName": "t"}}


@pytest.mark.parametrize(
    "labels, reference, pod_labels, queue",
    [
        ({"pumice/queue": "by-group"}, REFERENCE, {"pumice/queue": "by-pod"}, "by-group"),
        (None, REFERENCE, {"pumice/queue": "by-pod"}, "by-workload"),
        (None, None, {"kai.scheduler/queue": "by-pod"}, "by-pod"),
        (None, None, None, "default"),
    ],
)
def test_who_names_the_queue_of_a_native_group(labels, reference, pod_labels, queue):
    queues = [
        item(OWN, "Queue", name, namespace="", spec={})
        for name in ("by-group", "by-workload", "by-pod")
    ]
    inventory = read(
        *queues,
        WORKLOAD,
        native(labels=labels, podGroupTemplateRef=reference),
        pod("a", "g", labels=pod_labels),
    )
    assert inventory.groups["x/g"].queue == queue


def test_the_priority_class_of_a_native_group_is_its_own_or_that_of_its_first_pod():
    late = pod("a", "g", created="2026-01-02T00:00:00Z", priority_class="low")
    early = pod("b", "g", priority_class="high")
    assert read(native(), late, early).groups["x/g"].priority_class == "high"
    own = native(priorityClassName="mine")
    assert read(own, late, early).groups["x/g"].priority_class == "mine"


def test_the_phase_of_a_native_group_comes_from_its_condition():
    group = native()
    assert read(group).groups["x/g"].phase == "Pending"
    group["status"] = {"conditions": [{"type": "PodGroupScheduled", "status": "True"}]}
    assert read(group).groups["x/g"].phase == "Running"


def test_pumices_own_queue():
    spec = {"parent": "top", "weight": 3, "priority": 2, "closed": True, "reclaimable": False}
    amounts = {"deserved": {"cpu": 4}, "limit": {"cpu": "6"}, "guarantee": {"memory": "1Gi"}}
    top = item(OWN, "Queue", "top", namespace="", spec={})
    queue = item(OWN, "Queue", "q", namespace="", spec={**spec, **amounts})
    inventory = read(top, queue)
    fact = inventory.queues["q"]
    assert (fact.parent, fact.weight, fact.priority, fact.is_open) == ("top", 3, 2, False)
    assert (fact.api_group, fact.reclaimable) == (OWN_API, False)
    assert (fact.deserved.cpu, fact.limit.cpu, fact.guarantee.memory) == (4000, 6000, 1 << 30)
    assert fact.limit.memory == float("inf")
    assert inventory.queues["top"].children == ["q"]


def test_pods_join_pumices_own_group_by_the_name_of_their_gang():
    group = item(OWN, "PodGroup", "g", spec={"minMember": 2})
    inventory = read(
        group,
        pod("a", annotations={"pumice/gang": "g"}),
        pod("b", labels={"pumice/gang": "g"}),
        pod("c", labels={"pumice/gang": "other"}),
    )
    assert {p.name: p.group for p in inventory.pods.values()} == {"a": "x/g", "b": "x/g", "c": ""}


RACK = "example.test/rack"


@pytest.mark.parametrize("own", [False, True])
def test_a_topology_key_keeps_a_gang_in_one_domain(own):
    if own:
        group = item(OWN, "PodGroup", "g", spec={"minMember": 3, "topologyKey": RACK})
    else:
        group = native(schedulingConstraints={"topology": [{"key": RACK}]})
    pods = [pod(n, "" if own else "g", annotations={"pumice/gang": "g"}) for n in "abc"]
    spread = [node("n1", "2", **{RACK: "a"}), node("n2", "2", **{RACK: "b"}), node("n3", "9")]
    assert binds(read(group, *pods, *spread)) == {}
    more = node("n4", "1", **{RACK: "b"})
    assert set(binds(read(group, *pods, *spread, more)).values()) == {"n2", "n4"}
