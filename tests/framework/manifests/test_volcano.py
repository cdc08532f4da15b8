"""Volcano's queues and pod groups."""

from pumice.model.resources import Resource
from tests.framework.manifests._objects import GPU, INF, clean, read, volcano_group, volcano_queue


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
