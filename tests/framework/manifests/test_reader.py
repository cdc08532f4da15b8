"""Inventories: the kinds that are read, duplicates, malformed objects; reading never raises."""

import copy
import datetime
import math
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pumice.manifests import read_objects
from pumice.model.facts import Inventory

GPU = "nvidia.com/gpu"


def read(*objects: object, into: Inventory | None = None) -> Inventory:
    items = ((f"objects[{i}]", item) for i, item in enumerate(objects))
    return read_objects(items, into=into)


def thing(version: str, kind: str, name: str, namespace: str = "", **rest) -> dict:
    metadata = {"name": name, "namespace": namespace} if namespace else {"name": name}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **rest}


VOLCANO = "scheduling.volcano.sh/v1beta1"


def test_the_smaller_kinds():
    inventory = read(
        thing(
            "scheduling.k8s.io/v1",
            "PriorityClass",
            "high",
            value=100,
            globalDefault=True,
            preemptionPolicy="Never",
        ),
        thing(
            "policy/v1",
            "PodDisruptionBudget",
            "b",
            "ns",
            spec={"selector": {"matchLabels": {"a": "b"}}},
            status={"disruptionsAllowed": 2, "disruptedPods": {"p": "2024-01-01T00:00:00Z"}},
        ),
        thing(
            "topology.volcano.sh/v1alpha1",
            "HyperNode",
            "h",
            spec={
                "tier": 1,
                "tierName": "rack",
                "members": [{"type": "Node", "selector": {"regexMatch": {"pattern": "n-.*"}}}],
            },
        ),
        thing(
            "v1",
            "ResourceQuota",
            "rq",
            "ns",
            spec={"hard": {"cpu": "9"}},
            status={
                "hard": {"requests.cpu": "4", "requests.memory": "1Ki", "pods": "3", GPU: "1"},
                "used": {"requests.cpu": "500m"},
            },
        ),
        thing("v1", "ResourceQuota", "fresh", "ns", spec={"hard": {"memory": "1Ki"}}),
    )
    assert not inventory.problems
    high = inventory.priority_classes["high"]
    assert (high.value, high.global_default, high.preemption_policy) == (100, True, "Never")
    budget = inventory.budgets["ns/b"]
    assert (budget.disruptions_allowed, budget.disrupted_pods) == (2, {"p"})
    assert budget.selector == {"matchLabels": {"a": "b"}}
    hyper = inventory.hypernodes["h"]
    assert (hyper.tier, hyper.tier_name, hyper.members[0]["type"]) == (1, "rack", "Node")
    quota = inventory.quotas["ns/rq"]
    assert quota.hard == {"requests.cpu": 4000, "requests.memory": 1024, "pods": 3, GPU: 1000}
    assert quota.used == {"requests.cpu": 500}
    assert quota.raw["spec"] == {"hard": {"cpu": "9"}}
    assert inventory.quotas["ns/fresh"].hard == {"memory": 1024}


@pytest.mark.parametrize(
    "version, kind, key",
    [
        ("v1", "PersistentVolumeClaim", "default/x"),
        ("v1", "PersistentVolume", "x"),
        ("v1", "ConfigMap", "default/x"),
        ("v1", "Namespace", "x"),
        ("storage.k8s.io/v1", "StorageClass", "x"),
        ("storage.k8s.io/v1", "CSINode", "x"),
        ("resource.k8s.io/v1", "ResourceClaim", "default/x"),
        ("resource.k8s.io/v1beta1", "ResourceSlice", "x"),
        ("nodeinfo.volcano.sh/v1alpha1", "Numatopology", "x"),
        ("shard.volcano.sh/v1alpha1", "NodeShard", "x"),
        ("scheduling.run.ai/v1alpha2", "BindRequest", "default/x"),
        ("kai.scheduler/v1alpha1", "Topology", "x"),
    ],
)
def test_some_kinds_are_stored_unparsed(version, kind, key):
    inventory = read(thing(version, kind, "x", spec={"a": [1]}))
    stored = inventory.others[kind][key]
    assert stored["kind"] == kind
    assert ("spec" in stored) is (kind != "ConfigMap")


def test_unparsed_objects_lose_managed_fields_and_data():
    claim = thing("v1", "ConfigMap", "m", "ns", data={"big": "x" * 1000})
    claim["metadata"]["managedFields"] = [{}]
    assert read(claim).others["ConfigMap"]["ns/m"] == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "m", "namespace": "ns"},
    }


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
            thing(
                "topology.volcano.sh/v1alpha1",
                "HyperNode",
                "h",
                spec={
                    "tier": 1,
                    "members": [{"type": "Node", "selector": {"regexMatch": {"pattern": "("}}}],
                },
            ),
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


# Random damage

SELECTOR = {"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "k", "operator": "Exists"}]}
TERM = {"labelSelector": SELECTOR, "topologyKey": "zone", "namespaces": ["ns"]}
VALID: list[dict] = [
    {
        **thing("v1", "Pod", "p", "ns"),
        "metadata": {
            "name": "p",
            "namespace": "ns",
            "uid": "u",
            "labels": {"a": "b"},
            "annotations": {"scheduling.k8s.io/group-name": "g", "pod-group-name": "k"},
            "creationTimestamp": "2024-01-01T00:00:00Z",
            "ownerReferences": [{"kind": "Job", "name": "j", "uid": "1", "controller": True}],
        },
        "spec": {
            "nodeName": "n",
            "priority": 5,
            "overhead": {"cpu": "1"},
            "resources": {"requests": {"cpu": "2"}},
            "schedulingGates": [{"name": "x"}],
            "nodeSelector": {"zone": "a"},
            "tolerations": [{"key": "k", "operator": "Exists", "tolerationSeconds": 3}],
            "affinity": {
                "nodeAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": {
                        "nodeSelectorTerms": [
                            {"matchExpressions": [{"key": "k", "operator": "In"}]}
                        ]
                    }
                },
                "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [TERM]},
            },
            "topologySpreadConstraints": [
                {"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule"}
            ],
            "volumes": [
                {"name": "v", "persistentVolumeClaim": {"claimName": "c"}},
                {"name": "t", "projected": {"sources": [{"configMap": {"name": "m"}}]}},
            ],
            "resourceClaims": [{"name": "r", "resourceClaimName": "c"}],
            "containers": [
                {
                    "name": "c",
                    "image": "i",
                    "resources": {"requests": {"cpu": "1", GPU: 1}, "limits": {"memory": "1Gi"}},
                    "ports": [{"hostPort": 80, "protocol": "TCP"}],
                    "env": [{"name": "E", "valueFrom": {"configMapKeyRef": {"name": "m"}}}],
                }
            ],
            "initContainers": [{"name": "i", "restartPolicy": "Always"}],
        },
        "status": {
            "phase": "Running",
            "startTime": "2024-01-01T00:00:00Z",
            "conditions": [{"type": "Ready", "status": "True"}],
            "containerStatuses": [{"name": "c", "allocatedResources": {"cpu": "2"}}],
            "resourceClaimStatuses": [{"name": "r", "resourceClaimName": "c"}],
        },
    },
    thing(
        "v1",
        "Node",
        "n",
        spec={"taints": [{"key": "k", "effect": "NoSchedule"}], "unschedulable": False},
        status={
            "capacity": {"cpu": "4", "memory": "8Gi", "pods": 10, GPU: "2"},
            "allocatable": {"cpu": "4"},
            "conditions": [{"type": "Ready", "status": "True"}],
            "images": [{"names": ["a"], "sizeBytes": 1}],
        },
    ),
    thing(
        VOLCANO,
        "Queue",
        "q",
        spec={
            "weight": 1,
            "parent": "root",
            "reclaimable": True,
            "capability": {"cpu": "4", "deviceclass/x": "1"},
            "deserved": {"cpu": "1"},
            "guarantee": {"resource": {"cpu": "1"}},
            "affinity": {"nodeGroupAffinity": {}},
        },
        status={"state": "Open"},
    ),
    thing("scheduling.run.ai/v2", "Queue", "kp", spec={"parentQueue": "kq"}),
    thing(
        "scheduling.run.ai/v2",
        "Queue",
        "kq",
        spec={"preemptMinRuntime": "5m", "resources": {"gpu": {"quota": 1, "limit": -1}}},
    ),
    thing(
        VOLCANO,
        "PodGroup",
        "g",
        "ns",
        spec={
            "queue": "q",
            "minMember": 1,
            "minTaskMember": {"w": 1},
            "minResources": {"cpu": "1"},
            "networkTopology": {"mode": "hard", "highestTierAllowed": 1},
            "subGroupPolicy": [
                {"name": "s", "labelSelector": SELECTOR, "matchLabelKeys": ["k"], "subGroupSize": 1}
            ],
        },
        status={"phase": "Pending", "conditions": [{"type": "x"}]},
    ),
    thing(
        "scheduling.run.ai/v2alpha2",
        "PodGroup",
        "k",
        "ns",
        spec={"queue": "kp", "subGroups": [{"name": "a", "topologyConstraint": {"topology": "t"}}]},
    ),
    thing("scheduling.k8s.io/v1", "PriorityClass", "pc", value=5),
    thing("policy/v1", "PodDisruptionBudget", "b", "ns", spec={"selector": SELECTOR}, status={}),
    thing("v1", "ResourceQuota", "rq", "ns", spec={"hard": {"cpu": "1"}}, status={"used": {}}),
    thing("v1", "ConfigMap", "cm", "ns", data={"a": "b"}),
    thing("storage.k8s.io/v1", "StorageClass", "sc", provisioner="x"),
    thing(
        "topology.volcano.sh/v1alpha1",
        "HyperNode",
        "h",
        spec={
            "tier": 1,
            "members": [{"type": "Node", "selector": {"exactMatch": {"name": "n"}}}],
        },
    ),
    {"apiVersion": "v1", "kind": "List", "items": [thing("v1", "Node", "n2")]},
]


def places(value: object, path: tuple = ()) -> list[tuple]:
    paths = [path]
    if isinstance(value, dict):
        for key, part in value.items():
            paths += places(part, (*path, key))
    elif isinstance(value, list):
        for i, part in enumerate(value):
            paths += places(part, (*path, i))
    return paths


PLACES = [(i, *path) for i, item in enumerate(VALID) for path in places(item)]
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=8),
    st.binary(max_size=4),
    st.sampled_from(["", "-1", "1e40", "q", "kp", "root", "\ud800", math.inf, 2**70]),
    st.dates(),
    st.datetimes(timezones=st.none() | st.just(datetime.UTC)),
    st.tuples(st.integers()),
)
KEYS = st.text(max_size=5) | st.integers() | st.booleans() | st.none() | st.just("kind")
JUNK = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=6,
)
DAMAGE = st.tuples(st.sampled_from(PLACES), st.sampled_from(["set", "drop", "wrap", "copy"]), JUNK)


def damaged(damages: list[tuple]) -> list:
    objects = copy.deepcopy(VALID)
    for path, how, junk in damages:
        holder: object = objects
        for step in path[:-1]:
            if not isinstance(holder, dict | list) or step not in (
                holder if isinstance(holder, dict) else range(len(holder))
            ):
                break
            holder = holder[step]
        else:
            _damage(holder, path[-1], how, junk)
    return objects


def _damage(holder: object, step: object, how: str, junk: object) -> None:
    known = isinstance(holder, dict) or (isinstance(holder, list) and step in range(len(holder)))
    if not known:
        return
    if how == "set":
        holder[step] = junk
    elif how == "drop" and isinstance(holder, dict):
        holder.pop(step, None)
    elif how == "wrap" and (isinstance(holder, list) or step in holder):
        holder[step] = [holder[step]]
    elif how == "copy" and isinstance(holder, list):
        holder.append(copy.deepcopy(holder[step]))


def test_the_undamaged_objects_are_all_read():
    inventory = read(*copy.deepcopy(VALID))
    assert not inventory.problems
    assert len(inventory.nodes) == 2
    assert len(inventory.groups) == 2


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(DAMAGE, min_size=1, max_size=4))
def test_a_damaged_object_never_raises_and_the_others_are_read(damages):
    inventory = read(*damaged(damages), thing("v1", "Node", "bystander"))
    assert "bystander" in inventory.nodes
    for problem in inventory.problems:
        assert problem.message
        assert problem.object
    for queue in inventory.queues.values():
        assert queue.family == "volcano" or not queue.parent or queue.parent in inventory.queues
    for group in inventory.groups.values():
        assert group.queue in inventory.queues


@settings(max_examples=100, deadline=None)
@given(JUNK)
def test_no_junk_raises(junk):
    inventory = read(junk, thing("v1", "Node", "bystander"))
    assert "bystander" in inventory.nodes


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
