"""Kinds with few fields, and kinds that are stored unparsed."""

import pytest

from tests.framework.manifests._reading import GPU, hyper_node, read, thing


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
        hyper_node({"regexMatch": {"pattern": "n-.*"}}, tierName="rack"),
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
