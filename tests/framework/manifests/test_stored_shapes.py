"""Malformed objects of the kinds that plugins read are reported, and the others are read."""

import pytest

from tests.framework.manifests._reading import read, thing
from tests.fuzz.seeds import kai, pod, volcano

RESOURCE = "resource.k8s.io/v1"
STORAGE = "storage.k8s.io/v1"
KAI = "kai.scheduler/v1alpha1"


def claim(*requests):
    return {"devices": {"requests": list(requests)}}


@pytest.mark.parametrize(
    "version, kind, content, message",
    [
        (RESOURCE, "ResourceClaim", {"spec": claim("gpu")}, "spec.devices.requests[0]: expected"),
        (RESOURCE, "ResourceClaim", {"spec": []}, "spec: expected an object"),
        (
            RESOURCE,
            "ResourceClaim",
            {"spec": claim({"exactly": {"count": "2"}})},
            "spec.devices.requests[0].exactly.count: expected a whole number, got a string",
        ),
        (RESOURCE, "ResourceClaim", {"status": {"allocation": 1}}, "status.allocation: expected"),
        (RESOURCE, "ResourceClaimTemplate", {"spec": {"spec": claim(1)}}, "spec.spec.devices"),
        (RESOURCE, "DeviceClass", {"spec": {"selectors": ["x"]}}, "spec.selectors[0]: expected"),
        (RESOURCE, "ResourceSlice", {"spec": {"devices": [1]}}, "spec.devices[0]: expected"),
        (RESOURCE, "ResourceSlice", {"spec": {"pool": {"generation": "x"}}}, "spec.pool.gen"),
        (KAI, "Topology", {"spec": {"levels": ["zone"]}}, "spec.levels[0]: expected"),
        (KAI, "Topology", {"spec": {"levels": [{}]}}, "spec.levels[0]"),
        (KAI, "Topology", {}, "`spec`"),
        (KAI, "Topology", {"spec": {"levels": [{"nodeLabel": "a"}] * 17}}, "spec.levels"),
        ("scheduling.run.ai/v1alpha2", "BindRequest", {"spec": {"selectedNode": 3}}, "spec.sel"),
        ("nodeinfo.volcano.sh/v1alpha1", "Numatopology", {"spec": {"cpuDetail": []}}, "spec.cpu"),
        ("shard.volcano.sh/v1alpha1", "NodeShard", {"status": {"nodesInUse": "a"}}, "status.nod"),
        ("v1", "PersistentVolumeClaim", {"spec": {"resources": 1}}, "spec.resources: expected"),
        ("v1", "PersistentVolume", {"spec": {"claimRef": "x"}}, "spec.claimRef: expected"),
        (STORAGE, "StorageClass", {"allowedTopologies": [1]}, "allowedTopologies[0]: expected"),
        (STORAGE, "CSINode", {"spec": {"drivers": [{}]}}, "spec.drivers[0]"),
        (STORAGE, "CSIDriver", {"spec": {"storageCapacity": "yes"}}, "spec.storageCapacity"),
        (STORAGE, "CSIStorageCapacity", {"capacity": []}, "capacity: expected"),
        ("v1", "Namespace", {"metadata": {"name": "x", "labels": []}}, "metadata.labels: expected"),
    ],
)
def test_a_malformed_object_costs_itself(version, kind, content, message):
    inventory = read({**thing(version, kind, "x"), **content}, thing("v1", "Node", "n"))
    (problem,) = inventory.problems
    assert message in problem.message
    assert problem.object == f"{kind} x"
    assert kind not in inventory.others
    assert "n" in inventory.nodes


@pytest.mark.parametrize("kind", ["podAffinity", "podAntiAffinity", "nodeAffinity"])
def test_an_unknown_field_of_an_affinity_is_not_ignored(kind):
    inventory = read(pod("p", {}, affinity={kind: {"someFutureField": 1}}), pod("q", {}))
    (problem,) = inventory.problems
    unknown = "object contains unknown field `someFutureField`"
    assert problem.message == f"spec.affinity.{kind}: {unknown}"
    assert [p.name for p in inventory.pods.values()] == ["q"]


def test_null_counts_as_not_stated():
    inventory = read(
        thing(RESOURCE, "ResourceClaim", "x", spec={"devices": {"requests": None}}, status=None)
    )
    assert not inventory.problems


@pytest.mark.parametrize("objects", [volcano, kai])
def test_well_formed_objects_are_stored_as_they_are(objects):
    items = [item for item in objects() if item["kind"] != "ConfigMap"]
    inventory = read(*items)
    assert not inventory.problems
    stored = [raw for table in inventory.others.values() for raw in table.values()]
    assert stored == [item for item in items if item in stored]
    assert len(stored) > 10
