"""Queues and pod groups of both families, and the tree that queues form."""

import math

import pytest

from pumice.manifests import read_objects
from pumice.model.facts import Inventory
from pumice.model.resources import Resource

GPU = "nvidia.com/gpu"
INF = math.inf


def read(*objects: dict, **options) -> Inventory:
    return read_objects(((f"objects[{i}]", item) for i, item in enumerate(objects)), **options)


def clean(*objects: dict) -> Inventory:
    inventory = read(*objects)
    assert not inventory.problems, inventory.problems[0]
    return inventory


def thing(version: str, kind: str, name: str, spec: dict, **rest) -> dict:
    metadata = {"name": name, **rest.pop("metadata", {})}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec, **rest}


def volcano_queue(name: str, *, status: dict | None = None, metadata: dict | None = None, **spec):
    version = "scheduling.volcano.sh/v1beta1"
    return thing(version, "Queue", name, spec, metadata=metadata or {}, status=status or {})


def kai_queue(name: str, **spec) -> dict:
    return thing("scheduling.run.ai/v2", "Queue", name, spec)


def volcano_group(name: str, *, status: dict | None = None, metadata: dict | None = None, **spec):
    version, metadata = "scheduling.volcano.sh/v1beta1", {"namespace": "ns", **(metadata or {})}
    return thing(version, "PodGroup", name, spec, metadata=metadata, status=status or {})


def kai_group(name: str, *, status: dict | None = None, metadata: dict | None = None, **spec):
    version, metadata = "scheduling.run.ai/v2alpha2", {"namespace": "ns", **(metadata or {})}
    return thing(version, "PodGroup", name, spec, metadata=metadata, status=status or {})


def test_a_bare_volcano_queue_has_the_defaults():
    queue = clean(volcano_queue("q")).queues["q"]
    assert (queue.family, queue.weight, queue.priority, queue.state) == ("volcano", 1, 0, "Open")
    assert queue.reclaimable
    assert (queue.deserved, queue.guarantee, queue.limit) == (None, None, None)
    assert (queue.parent, queue.over_quota_weight) == ("", None)


def test_everything_of_a_volcano_queue():
    queue = clean(
        volcano_queue("p"),
        volcano_queue(
            "q",
            metadata={"annotations": {"a": "b"}, "creationTimestamp": "1970-01-01T00:00:05Z"},
            weight=0,
            priority=7,
            parent="p",
            reclaimable=False,
            capability={"cpu": "4", "memory": "8Gi", GPU: "2", "deviceclass/gpu.example.com": "3"},
            deserved={"cpu": "2", "memory.deviceclass/gpu.example.com": "4Gi"},
            guarantee={"resource": {"cpu": "1"}},
            affinity={
                "nodeGroupAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": ["g"]}
            },
            status={"state": "Closed"},
        ),
    ).queues["q"]
    assert (queue.weight, queue.priority, queue.parent, queue.state) == (0, 7, "p", "Closed")
    assert not queue.reclaimable
    assert queue.limit == Resource(4000, 8 * 2**30, {GPU: 2000})
    assert queue.deserved == Resource(2000)
    assert queue.guarantee == Resource(1000)
    assert queue.device_limits == {
        "capability": {"deviceclass/gpu.example.com": "3"},
        "deserved": {"memory.deviceclass/gpu.example.com": "4Gi"},
    }
    assert list(queue.affinity) == ["nodeGroupAffinity"]
    assert queue.created == 5.0


def test_absent_zero_and_unlimited_are_three_things():
    absent, empty, partial = (
        clean(volcano_queue("q", **spec)).queues["q"].limit
        for spec in ({}, {"capability": {}}, {"capability": {"memory": "0", GPU: "0"}})
    )
    assert absent is None
    assert empty == Resource(INF, INF)
    assert partial == Resource(INF, INF, {GPU: 0})
    assert clean(volcano_queue("q", deserved={})).queues["q"].deserved == Resource()


def test_a_kai_queue_is_read_in_the_units_of_volcano():
    queue = clean(
        kai_queue("p"),
        kai_queue(
            "q",
            parentQueue="p",
            displayName="Team Q",
            priority=5,
            preemptMinRuntime="1h30m",
            reclaimMinRuntime="2m0.5s",
            resources={
                "cpu": {"quota": 1500, "limit": -1, "overQuotaWeight": 2},
                "memory": {"quota": 100, "limit": 200},
                "gpu": {"quota": 0.29, "limit": 4, "overQuotaWeight": 0.5},
            },
        ),
    ).queues["q"]
    assert queue.family == "kai"
    assert queue.deserved == Resource(1500, 100 * 10**6, {GPU: 290})
    assert queue.limit == Resource(INF, 200 * 10**6, {GPU: 4000})
    assert queue.over_quota_weight == Resource(2, 0, {GPU: 0.5})
    assert (queue.parent, queue.display_name, queue.priority) == ("p", "Team Q", 5)
    assert (queue.preempt_min_runtime, queue.reclaim_min_runtime) == (5400.0, 120.5)


def test_what_a_kai_queue_leaves_unset_is_zero():
    queue = clean(kai_queue("q")).queues["q"]
    nothing = Resource(0, 0, {GPU: 0})
    assert queue.deserved == queue.limit == queue.over_quota_weight == nothing
    assert queue.priority == 100
    assert queue.preempt_min_runtime is None


@pytest.mark.parametrize(
    "queue, message",
    [
        (volcano_queue("q", weight=-1), "spec.weight: expected a whole number >= 0"),
        (volcano_queue("q", capability={"cpu": "x"}), "spec.capability.cpu: 'x' is not a"),
        (volcano_queue("q", deserved={"cpu": "-1"}), "spec.deserved.cpu: -1 is negative"),
        (
            volcano_queue("q", capability={"deviceclass/x": "y"}),
            "spec.capability.deviceclass/x: 'y' is not a quantity",
        ),
        (volcano_queue("q", guarantee={"resource": []}), "spec.guarantee.resource: expected an"),
        (volcano_queue("q", parent=["p"]), "spec.parent: expected a string, got a list"),
        (
            kai_queue("q", resources={"gpu": {"quota": -2}}),
            "spec.resources.gpu.quota: -2 is negative",
        ),
        (
            kai_queue("q", resources={"gpu": {"quota": "2"}}),
            "spec.resources.gpu.quota: expected a whole number or a number, got a string",
        ),
        (kai_queue("q", preemptMinRuntime="soon"), "spec.preemptMinRuntime: 'soon' is not a"),
    ],
)
def test_a_malformed_queue_is_skipped_and_reported(queue, message):
    inventory = read(volcano_queue("other"), queue)
    assert "q" not in inventory.queues
    (problem,) = inventory.problems
    assert problem.message.startswith(message)
    assert (problem.where, problem.object) == ("objects[1]", "Queue q")


def test_the_default_queue_is_made_where_it_is_missing():
    default = clean(volcano_group("g")).queues["default"]
    assert (default.family, default.weight, default.reclaimable) == ("volcano", 1, True)
    assert set(clean(volcano_queue("q")).queues) == {"q", "default"}
    assert clean(volcano_queue("default", weight=5)).queues["default"].weight == 5
    assert set(read(volcano_group("g"), default_queue="main").queues) == {"main"}


def test_the_default_queue_is_not_put_among_kai_queues():
    assert set(clean(kai_queue("q"), kai_group("g", queue="q")).queues) == {"q"}
    assert not read().queues


def test_the_root_is_made_only_where_a_volcano_queue_names_it():
    inventory = clean(volcano_queue("q", parent="root"))
    root = inventory.queues["root"]
    assert (root.weight, root.reclaimable, root.children) == (1, False, ["q"])
    assert "root" not in clean(volcano_queue("q")).queues
    assert "root" not in read(kai_queue("q", parentQueue="root")).queues


def test_the_parent_of_the_root_does_not_count():
    assert clean(volcano_queue("root", parent="root")).queues["root"].parent == ""


@pytest.mark.parametrize("backwards", [False, True])
def test_children_are_linked_in_any_order(backwards):
    objects = [kai_queue("a"), kai_queue("b", parentQueue="a"), kai_queue("c", parentQueue="b")]
    queues = clean(*(reversed(objects) if backwards else objects)).queues
    assert [queues[name].children for name in "abc"] == [["b"], ["c"], []]


def reported(inventory: Inventory) -> dict[str, str]:
    return {problem.object: problem.message for problem in inventory.problems}


def test_a_kai_queue_without_its_parent_goes_with_all_below_it():
    inventory = read(
        kai_queue("c", parentQueue="b"),
        kai_queue("b", parentQueue="depratment"),
        kai_queue("department"),
        kai_group("g", queue="c"),
    )
    assert set(inventory.queues) == {"department"}
    assert not inventory.groups
    assert reported(inventory) == {
        "Queue b": "names the unknown parent queue 'depratment'",
        "Queue c": "is below queue 'b', which is left out",
        "PodGroup ns/g": "names queue 'c', which is left out",
    }
    assert inventory.problems[0].hint == "did you mean 'department'?"


def test_a_volcano_queue_without_its_parent_stays_and_is_reported():
    inventory = read(volcano_queue("q", parent="gone"), volcano_group("g", queue="q"))
    assert "q" in inventory.queues
    assert "ns/g" in inventory.groups
    assert reported(inventory) == {"Queue q": "names the unknown parent queue 'gone'"}


@pytest.mark.parametrize("make, key", [(kai_queue, "parentQueue"), (volcano_queue, "parent")])
def test_queues_in_a_circle_are_dropped_and_reported(make, key):
    inventory = read(
        make("a", **{key: "c"}),
        make("b", **{key: "a"}),
        make("c", **{key: "b"}),
        make("below", **{key: "b"}),
        make("self", **{key: "self"}),
        make("fine"),
        make("leaf", **{key: "fine"}),
    )
    assert {"fine", "leaf"} <= set(inventory.queues) <= {"fine", "leaf", "default"}
    messages = reported(inventory)
    assert set(messages) == {f"Queue {name}" for name in ("a", "b", "c", "below", "self")}
    assert messages["Queue a"] == "is its own ancestor: a → c → b → a"
    assert messages["Queue below"] == "is below queue 'b', which is left out"
    assert messages["Queue self"] == "is its own ancestor: self → self"


def test_two_families_cannot_share_a_queue_name():
    inventory = read(volcano_queue("q", weight=3), kai_queue("q"))
    assert inventory.queues["q"].weight == 3
    assert reported(inventory) == {"Queue q": "has the name of a Queue of the other family"}


def test_everything_of_a_volcano_group():
    group = clean(
        volcano_queue("q"),
        volcano_group(
            "g",
            metadata={
                "labels": {"a": "b"},
                "annotations": {"c": "d"},
                "creationTimestamp": "1970-01-01T00:00:07Z",
            },
            queue="q",
            minMember=3,
            minTaskMember={"": 1, "worker": 2},
            minResources={"cpu": "3", "requests.memory": "1Ki", "count/pods": "2"},
            priorityClassName="high",
            networkTopology={"mode": "hard", "highestTierAllowed": 0},
            subGroupPolicy=[
                {
                    "name": "s",
                    "labelSelector": {"matchLabels": {"x": "y"}},
                    "matchLabelKeys": ["k"],
                    "subGroupSize": 2,
                    "minSubGroups": 1,
                    "networkTopology": {"mode": "soft", "highestTierName": "rack"},
                },
                {"name": "t"},
            ],
            status={
                "phase": "Inqueue",
                "conditions": [{"type": "Scheduled", "status": "True", "transitionID": "1"}],
            },
        ),
    ).groups["ns/g"]
    assert (group.name, group.namespace, group.family) == ("g", "ns", "volcano")
    assert (group.queue, group.min_member, group.phase) == ("q", 3, "Inqueue")
    assert group.min_task_member == {"": 1, "worker": 2}
    assert group.min_resources == Resource(3000)
    assert group.quota_min_resources == {
        "cpu": 3000,
        "requests.memory": 1024,
        "count/pods": 2000,
    }
    assert (group.priority_class, group.labels, group.created) == ("high", {"a": "b"}, 7.0)
    assert group.annotations == {"c": "d"}
    assert group.conditions == [{"type": "Scheduled", "status": "True", "transitionID": "1"}]
    assert group.network_topology is not None
    assert (group.network_topology.mode, group.network_topology.highest_tier_allowed) == ("hard", 0)
    first, second = group.sub_group_policies
    assert first.label_selector == {"matchLabels": {"x": "y"}}
    assert (first.match_label_keys, first.size, first.min_sub_groups) == (("k",), 2, 1)
    assert first.network_topology is not None
    assert first.network_topology.highest_tier_name == "rack"
    assert (second.label_selector, second.size, second.network_topology) == (None, None, None)


def test_a_bare_volcano_group_is_in_the_default_queue():
    group = clean(volcano_group("g")).groups["ns/g"]
    assert (group.queue, group.min_member, group.phase) == ("default", 0, "")
    assert (group.min_resources, group.network_topology) == (None, None)
    assert read(volcano_group("g"), default_queue="main").groups["ns/g"].queue == "main"


def test_no_minimum_and_an_empty_minimum_are_two_things():
    assert clean(volcano_group("g", minResources={})).groups["ns/g"].min_resources == Resource()


def test_everything_of_a_kai_group():
    group = clean(
        kai_queue("q"),
        kai_group(
            "g",
            queue="q",
            minMember=2,
            priorityClassName="train",
            preemptibility="non-preemptible",
            markUnschedulable=False,
            schedulingBackoff=1,
            topologyConstraint={"topology": "t", "requiredTopologyLevel": "rack"},
            subGroups=[
                {"name": "a"},
                {
                    "name": "b",
                    "minMember": 2,
                    "parent": "a",
                    "topologyConstraint": {"topology": "t"},
                },
            ],
            status={"schedulingConditions": [{"type": "UnschedulableOnNodePool"}]},
        ),
    ).groups["ns/g"]
    assert (group.family, group.queue, group.min_member) == ("kai", "q", 2)
    assert (group.priority_class, group.preemptibility) == ("train", "non-preemptible")
    assert (group.mark_unschedulable, group.scheduling_backoff) == (False, 1)
    assert group.topology_constraint == {"topology": "t", "requiredTopologyLevel": "rack"}
    first, second = group.sub_groups
    assert (first.name, first.min_member, first.parent) == ("a", 1, "")
    assert (second.min_member, second.parent) == (2, "a")
    assert second.topology_constraint == {"topology": "t"}
    assert group.conditions == [{"type": "UnschedulableOnNodePool"}]


@pytest.mark.parametrize("make", [volcano_group, kai_group])
def test_a_group_of_an_unknown_queue_is_left_out_and_the_nearest_name_reported(make):
    queue = kai_queue if make is kai_group else volcano_queue
    inventory = read(queue("research"), make("g", queue="resaerch"), make("h", queue="research"))
    assert list(inventory.groups) == ["ns/h"]
    (problem,) = inventory.problems
    assert str(problem) == (
        "objects[1]: PodGroup ns/g: names the unknown queue 'resaerch' (did you mean 'research'?)"
    )


def test_a_kai_group_must_name_its_queue():
    assert reported(read(kai_queue("q"), kai_group("g"))) == {
        "PodGroup ns/g": "spec.queue: is empty"
    }


def test_kai_groups_share_one_name_space():
    inventory = read(
        kai_queue("q"),
        kai_group("g", queue="q"),
        kai_group("g", queue="q", metadata={"namespace": "other"}),
    )
    assert list(inventory.groups) == ["ns/g"]
    assert reported(inventory) == {"PodGroup other/g": "has the name of ns/g"}


@pytest.mark.parametrize(
    "group, message",
    [
        (volcano_group("g", minMember=-1), "spec.minMember: expected a whole number >= 0"),
        (volcano_group("g", minMember="2"), "spec.minMember: expected a whole number, got a"),
        (volcano_group("g", minResources={"cpu": "?"}), "spec.minResources.cpu: '?' is not a"),
        (
            volcano_group("g", networkTopology={"mode": "firm"}),
            "spec.networkTopology.mode: invalid",
        ),
        (volcano_group("g", subGroupPolicy=[{}]), "spec.subGroupPolicy[0]: object missing"),
        (kai_group("g", queue="q", subGroups={"a": 1}), "spec.subGroups: expected a list"),
        (kai_group("g", queue="q", subGroups=[{}]), "spec.subGroups[0]: object missing"),
    ],
)
def test_a_malformed_group_is_skipped_and_reported(group, message):
    inventory = read(kai_queue("q"), group)
    assert not inventory.groups
    (problem,) = inventory.problems
    assert problem.message.startswith(message)
