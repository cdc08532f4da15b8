"""Archives, and the snapshots of KAI's scheduler in them."""

import gzip
import io
import json
import zipfile

import pytest

from pumice.errors import ManifestError
from pumice.manifests import load
from pumice.manifests.archives import unpacked


def meta(name, **more):
    return {"name": name, "creationTimestamp": None, **more}


def snapshot() -> bytes:
    """Objects as Go writes those of a lister: without kind and apiVersion."""
    share = {"quota": -1, "limit": -1, "overQuotaWeight": 1}
    queue = {"resources": {"cpu": share, "memory": share, "gpu": share}}
    container = {"name": "main", "resources": {"requests": {"cpu": "1"}}}
    pods = [
        {
            "metadata": meta(name, namespace="x", annotations={"pod-group-name": "g"}),
            "spec": {"containers": [container]},
            "status": {"phase": "Pending"},
        }
        for name in ("a", "b")
    ]
    lists = {
        "pods": pods,
        "nodes": [
            {"metadata": meta("n1"), "spec": {}, "status": {"allocatable": {"cpu": "4", "pods": 9}}}
        ],
        "queues": [{"metadata": meta("q"), "spec": queue, "status": {}}],
        "podGroups": [
            {
                "metadata": meta("g", namespace="x"),
                "spec": {"queue": "q", "minMember": 2},
                "status": {},
            }
        ],
        "priorityClasses": [{"metadata": meta("train"), "value": 50}],
        "topologies": [{"metadata": meta("t"), "spec": {"levels": [{"nodeLabel": "rack"}]}}],
        "bindRequests": [],
        "csiDrivers": None,
    }
    whole = {"config": {"actions": "allocate"}, "schedulerParams": {}, "rawObjects": lists}
    return json.dumps({**whole, "discovery": {"serverVersion": None}}).encode()


def zipped(**members: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name.replace("_", "."), content)
    return file.getvalue()


@pytest.mark.parametrize(
    "name, pack",
    [
        ("s.zip", lambda data: zipped(snapshot_json=data)),
        ("named-otherwise", lambda data: zipped(snapshot_json=data, readme_txt=b"hello")),
        ("s.gz", gzip.compress),
        ("snapshot.json", bytes),
    ],
)
def test_a_snapshot_is_read(tmp_path, name, pack):
    file = tmp_path / name
    file.write_bytes(pack(snapshot()))
    inventory = load([file])
    assert not inventory.problems
    assert not inventory.ignored_kinds
    assert list(inventory.nodes) == ["n1"]
    assert inventory.groups["x/g"].min_member == 2
    assert {pod.group for pod in inventory.pods.values()} == {"x/g"}
    assert inventory.queues["q"].family == "kai"
    assert inventory.priority_classes["train"].value == 50
    assert list(inventory.others["Topology"]) == ["t"]


def test_a_problem_says_where_in_the_snapshot(tmp_path):
    whole = json.loads(snapshot())
    whole["rawObjects"]["podGroups"][0]["spec"]["minMember"] = "two"
    whole["rawObjects"]["inventions"] = [{"metadata": {"name": "i"}}]
    file = tmp_path / "s.zip"
    file.write_bytes(zipped(snapshot_json=json.dumps(whole).encode()))
    problems = {p.where: p.message for p in load([file]).problems}
    assert "spec.minMember" in problems[f"{file} rawObjects.podGroups[0]"]
    assert "no kind" in problems[f"{file} rawObjects.inventions[0]"]


def test_manifests_may_be_packed_too(tmp_path):
    file = tmp_path / "nodes.yaml.gz"
    file.write_bytes(gzip.compress(b"apiVersion: v1\nkind: Node\nmetadata: {name: n1}\n"))
    assert list(load([file]).nodes) == ["n1"]


@pytest.mark.parametrize(
    "data, message",
    [
        (zipped(snapshot_json=snapshot())[:-30], "the archive cannot be read"),
        (gzip.compress(snapshot())[:-20], "the archive cannot be read"),
        (zipped(a_json=b"{}", b_json=b"{}"), "has 2 files, 0 of them snapshot.json"),
        (zipped(**{"x/snapshot_json": b"", "y/snapshot_json": b""}), "2 of them snapshot.json"),
    ],
)
def test_a_damaged_archive_is_named(tmp_path, data, message):
    file = tmp_path / "s.zip"
    file.write_bytes(data)
    with pytest.raises(ManifestError, match=message) as raised:
        load([file])
    assert str(file) in str(raised.value)


@pytest.mark.parametrize("pack", [gzip.compress, lambda data: zipped(snapshot_json=data)])
def test_an_archive_is_not_unpacked_beyond_a_limit(pack):
    with pytest.raises(ManifestError, match="when unpacked"):
        unpacked("s", pack(bytes(10_000)), 9_999)
    assert unpacked("s", pack(bytes(10_000)), 10_000) == bytes(10_000)
