"""Inventories: unknown kinds, duplicates, malformed objects, and the shared cases."""

import copy
from pathlib import Path

import msgspec
import pytest
from msgspec import Raw

from pumice.manifests import Pool, read_object, table_of
from tests.framework.manifests._reading import VOLCANO, hyper_node, read, thing


@pytest.mark.parametrize(
    "version, kind, meant",
    [("v1", "Nod", "Node"), (VOLCANO, "Podgroup", "PodGroup"), ("v1", "Pods", "Pod")],
)
def test_a_misspelt_kind_is_reported(version, kind, meant):
    inventory = read(thing(version, kind, "x"))
    (problem,) = inventory.problems
    assert problem.message == f"kind {kind!r} is not known"
    assert problem.hint == f"did you mean {meant!r}?"
    assert not inventory.ignored_kinds


def test_other_kinds_are_counted_and_nothing_else():
    inventory = read(
        thing("apps/v1", "Deployment", "d"),
        thing("apps/v1", "Deployment", "e"),
        thing("v1", "Service", "s"),
        thing("example.com/v1", "Queue", "q"),
        thing("example.com/v1", "AllowList", "l"),
    )
    assert not inventory.problems
    assert inventory.ignored_kinds == {
        "apps/Deployment": 2,
        "Service": 1,
        "example.com/Queue": 1,
        "example.com/AllowList": 1,
    }


@pytest.mark.parametrize(
    "first",
    [
        thing("v1", "Pod", "x", "ns"),
        thing("v1", "Node", "x"),
        thing(VOLCANO, "Queue", "x"),
        thing(VOLCANO, "PodGroup", "x", "ns"),
        thing("scheduling.k8s.io/v1", "PriorityClass", "x", value=1),
        thing("v1", "PersistentVolumeClaim", "x", "ns"),
    ],
    ids=lambda item: item["kind"],
)
def test_of_two_objects_with_one_name_the_first_counts(first):
    second = copy.deepcopy(first)
    second["metadata"]["labels"] = {"second": "yes"}
    inventory = read(first, second)
    (problem,) = inventory.problems
    assert problem.where == "objects[1]"
    assert problem.message == "is listed twice; the first one counts"
    assert str(problem).count(first["kind"]) == 1
    tables = [inventory.pods, inventory.nodes, inventory.groups]
    assert not any(fact.labels for table in tables for fact in table.values())


def test_pods_with_the_same_name_or_uid_are_duplicates():
    def pod(name: str, uid: str) -> dict:
        manifest = thing("v1", "Pod", name, "ns")
        manifest["metadata"]["uid"] = uid
        return manifest

    inventory = read(pod("a", "1"), pod("a", "2"), pod("b", "1"))
    assert [fact.name for fact in inventory.pods.values()] == ["a"]
    assert [problem.message for problem in inventory.problems] == [
        "is listed twice; the first one counts",
        "has the uid of pod ns/a",
    ]


@pytest.mark.parametrize(
    "item, label, message",
    [
        ("text", "object", "expected an object, got a string"),
        ([], "object", "expected an object, got a list"),
        (None, "object", "expected an object, got nothing"),
        ({}, "object (unnamed)", "is not a Kubernetes object: it has no kind"),
        ({"kind": "Pod"}, "Pod (unnamed)", "has no apiVersion"),
        ({"kind": 5}, "object (unnamed)", "kind: expected a string, got a whole number"),
        ({"apiVersion": "v1", "kind": "Pod"}, "Pod (unnamed)", "has no metadata.name"),
        (
            {"apiVersion": "v1", "kind": "Pod", "metadata": []},
            "Pod (unnamed)",
            "metadata: expected an object, got a list",
        ),
        ({True: 1}, "object (unnamed)", "holds a value that JSON cannot express"),
        ({"kind": "\ud800"}, "\ud800 (unnamed)", "holds a value that JSON cannot express"),
        (msgspec.Raw(b"{"), "object", "is not valid JSON"),
        (msgspec.Raw(b'{"kind": "\xff"}'), "object", "holds text that is not UTF-8"),
        (
            thing("topology.volcano.sh/v1alpha1", "HyperNode", "h"),
            "HyperNode h",
            "has no spec",
        ),
        (
            hyper_node({"regexMatch": {"pattern": "("}}),
            "HyperNode h",
            "spec.members[0].selector.regexMatch.pattern: '(' is not a regular expression",
        ),
        (
            thing("v1", "ResourceQuota", "q", "ns", spec={"hard": {"cpu": "x"}}),
            "ResourceQuota ns/q",
            "hard.cpu: 'x' is not a quantity",
        ),
        (thing("v1", "ConfigMap", "m", "ns", spec=5), "ConfigMap ns/m", "spec: expected an object"),
    ],
)
def test_what_is_not_an_object_is_reported(item, label, message):
    inventory = read(item, thing("v1", "Node", "n"))
    assert list(inventory.nodes) == ["n"]
    (problem,) = inventory.problems
    assert (problem.where, problem.object) == ("objects[0]", label)
    assert problem.message.startswith(message)


def test_a_value_without_quotes_gets_the_hint_to_quote_it():
    pod = thing("v1", "Pod", "p", "ns")
    pod["metadata"]["annotations"] = {"volcano.sh/preemptable": True}
    assert read(pod).problems[0].hint == "quote the value"


def test_objects_may_be_json_text():
    inventory = read(msgspec.Raw(msgspec.json.encode(thing("v1", "Node", "n"))))
    assert list(inventory.nodes) == ["n"]


def test_objects_may_be_added_to_an_inventory():
    first = read(
        thing(VOLCANO, "Queue", "q", spec={"parent": "gone"}),
        thing("v1", "Pod", "p", "ns"),
        thing("apps/v1", "Deployment", "d"),
    )
    assert len(first.problems) == 1
    second = read(
        thing(VOLCANO, "PodGroup", "g", "ns", spec={"queue": "q"}),
        thing("v1", "Pod", "p", "ns"),
        thing("apps/v1", "Deployment", "e"),
        into=first,
    )
    assert second is first
    assert "ns/g" in second.groups
    assert [problem.message for problem in second.problems] == [
        "names the unknown parent queue 'gone'",
        "is listed twice; the first one counts",
    ]
    assert second.ignored_kinds == {"apps/Deployment": 2}


# The shared cases


def strays(objects: list[dict]) -> set[str]:
    """The pod groups that name a queue which is not there."""
    queues = {item["metadata"]["name"] for item in objects if item["kind"] == "Queue"}
    return {
        f"PodGroup {item['metadata']['namespace']}/{item['metadata']['name']}"
        for item in objects
        if item["kind"] == "PodGroup" and item["spec"].get("queue", "default") not in queues
    }


def test_shared_cases_have_no_problem_but_groups_of_unknown_queues(shared: Path):
    files = sorted((shared / "conformance").rglob("*.json"))
    if not files:
        pytest.skip("the shared material has no conformance cases")
    for file in files:
        case = msgspec.json.decode(file.read_bytes())
        inventory = read(*case["objects"])
        for objects in case.get("extra", {}).get("add_before_cycle", {}).values():
            inventory = read(*objects, into=inventory)
        reported = {problem.object: problem.message for problem in inventory.problems}
        assert set(reported) == strays(case["objects"]), file
        assert all(text.startswith("names the unknown queue") for text in reported.values()), file
        assert not inventory.ignored_kinds, file


@pytest.mark.parametrize(
    "group, kind, table, key",
    [
        ("", "Node", "nodes", "a"),
        ("", "Pod", "pods", "u"),
        ("scheduling.volcano.sh", "Queue", "queues", "a"),
        ("scheduling.run.ai", "PodGroup", "groups", "x/a"),
        ("storage.k8s.io", "StorageClass", "others", "a"),
    ],
)
def test_one_object_is_read_by_itself(group, kind, table, key):
    meta = {"name": "a", "uid": "u"} | ({"namespace": "x"} if kind in ("Pod", "PodGroup") else {})
    item = {"metadata": meta, "spec": {"queue": "q", "containers": []}}
    read = read_object(group, kind, Raw(msgspec.json.encode(item)), Pool())
    assert read is not None
    assert read[0] == key
    assert table_of(group, kind) == table


def test_a_kind_that_scheduling_does_not_read_gives_nothing():
    assert read_object("apps", "Deployment", Raw(b"{}"), Pool()) is None
