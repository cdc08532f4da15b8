"""Reading damaged objects never raises and never affects other objects."""

import copy
import datetime
import math
import tempfile
from pathlib import Path

from hypothesis import strategies as st

from pumice.errors import ManifestError
from pumice.manifests import load
from tests.framework.manifests._reading import GPU, VOLCANO, hyper_node, read, thing
from tests.fuzz.seeds import kai, volcano
from tests.sampling import random_examples

# Random damage

SELECTOR = {"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "k", "operator": "Exists"}]}
TERM = {"labelSelector": SELECTOR, "topologyKey": "zone", "namespaces": ["ns"]}

STORED = {
    "BindRequest", "CSIDriver", "CSINode", "CSIStorageCapacity", "DeviceClass", "NodeShard",
    "Numatopology", "PersistentVolume", "PersistentVolumeClaim", "ResourceClaim",
    "ResourceClaimTemplate", "ResourceSlice", "Topology",
}  # fmt: skip


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
    hyper_node({"exactMatch": {"name": "n"}}),
    {"apiVersion": "v1", "kind": "List", "items": [thing("v1", "Node", "n2")]},
    *{item["kind"]: item for item in (*volcano(), *kai()) if item["kind"] in STORED}.values(),
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
    assert inventory.others.keys() >= STORED
    assert len(inventory.nodes) == 2
    assert len(inventory.groups) == 2


@random_examples(50, 400, st.lists(DAMAGE, min_size=1, max_size=4))
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


@random_examples(40, 200, JUNK)
def test_no_junk_raises(junk):
    inventory = read(junk, thing("v1", "Node", "bystander"))
    assert "bystander" in inventory.nodes


TEXT = st.text(st.sampled_from("[]{}:,-&*!|>?%@#'\"\\ab1.~ \n\t\0\ufeff"), max_size=60)


@random_examples(150, 2000, st.sampled_from(["json", "yaml"]), TEXT | st.binary(max_size=30))
def test_no_text_raises_anything_but_a_manifest_error(suffix, text):
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, f"x.{suffix}")
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        try:
            report = str(load([file]).problems[0])
        except ManifestError as error:
            report = str(error)
        assert str(file) in report
