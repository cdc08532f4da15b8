"""KAI's queues and pod groups."""

from pumice.model.resources import Resource
from tests.framework.manifests._objects import GPU, INF, clean, kai_group, kai_queue, read, reported


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


def test_the_status_of_a_kai_queue_is_not_read():
    status = {"allocated": {"cpu": "4"}, "childQueues": ["a"]}
    assert not read({**kai_queue("q"), "status": status}).problems
