"""Small clusters with every kind of object, which the mutator damages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Object = dict[str, Any]

SELECTOR = {"matchLabels": {"app": "a"}, "matchExpressions": [{"key": "app", "operator": "Exists"}]}
TERM = {"labelSelector": SELECTOR, "topologyKey": "zone", "namespaces": ["ns"]}
NODE_TERMS = {
    "nodeSelectorTerms": [
        {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["z0", "z1"]}]}
    ]
}
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def thing(version: str, kind: str, name: str, namespace: str = "", **rest: Any) -> Object:
    metadata = {"name": name, "namespace": namespace} if namespace else {"name": name}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **rest}


def node(number: int) -> Object:
    amounts = {"cpu": "8", "memory": "16Gi", "pods": "20", "nvidia.com/gpu": "2"}
    made = thing("v1", "Node", f"n{number}", status={"allocatable": amounts, "capacity": amounts})
    made["metadata"]["labels"] = {
        "zone": f"z{number % 2}",
        "kubernetes.io/hostname": f"n{number}",
        "nvidia.com/gpu.memory": "16000",
    }
    made["spec"] = {"taints": [{"key": "k", "effect": "PreferNoSchedule"}], "unschedulable": False}
    made["status"]["conditions"] = [{"type": "Ready", "status": "True"}]
    made["status"]["images"] = [{"names": ["i"], "sizeBytes": 10**8}]
    return made


def pod(name: str, annotations: dict[str, str], **spec: Any) -> Object:
    container = {
        "name": "c",
        "image": "i",
        "resources": {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "2"}},
        "ports": [{"hostPort": 8000 + len(name), "protocol": "TCP"}],
        "env": [{"name": "E", "valueFrom": {"configMapKeyRef": {"name": "cm"}}}],
    }
    made = thing("v1", "Pod", name, "ns", spec={"containers": [container], **spec})
    made["metadata"] |= {
        "uid": f"u-{name}",
        "labels": {"app": "a"},
        "annotations": dict(annotations),
        "creationTimestamp": "2026-01-01T00:00:00Z",
    }
    made["status"] = {"phase": "Running" if "nodeName" in spec else "Pending"}
    return made


AFFINITY = {
    "nodeAffinity": {
        REQUIRED: NODE_TERMS,
        PREFERRED: [{"weight": 1, "preference": NODE_TERMS["nodeSelectorTerms"][0]}],
    },
    "podAffinity": {PREFERRED: [{"weight": 2, "podAffinityTerm": TERM}]},
    "podAntiAffinity": {REQUIRED: [{**TERM, "labelSelector": {"matchLabels": {"app": "b"}}}]},
}
SPREAD = [
    {
        "maxSkew": 5,
        "topologyKey": "zone",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": SELECTOR,
    }
]
TOLERATIONS = [{"key": "k", "operator": "Exists", "effect": "NoSchedule"}]


def shared() -> list[Object]:
    """Objects that both families read."""
    request = {"name": "r", "exactly": {"deviceClassName": "nic", "count": 1}}
    slices = {
        "driver": "nic.example.com",
        "nodeName": "n0",
        "pool": {"name": "n0", "generation": 1, "resourceSliceCount": 1},
        "devices": [
            {"name": "d0", "attributes": {"size": {"int": 3}}, "capacity": {"m": {"value": "1Gi"}}}
        ],
    }
    cel = {"cel": {"expression": "device.driver == 'nic.example.com'"}}
    volume = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "fast",
        "nodeAffinity": {"required": NODE_TERMS},
        "csi": {"driver": "csi.example.com", "volumeHandle": "h"},
    }
    claim = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "fast",
        "resources": {"requests": {"storage": "1Gi"}},
    }
    return [
        *(node(number) for number in range(3)),
        thing("scheduling.k8s.io/v1", "PriorityClass", "high", value=100),
        thing("v1", "Namespace", "ns"),
        thing("v1", "ConfigMap", "cm", "ns", data={"a": "b"}),
        thing("v1", "PersistentVolumeClaim", "pvc", "ns", spec=claim, status={"phase": "Pending"}),
        thing("v1", "PersistentVolume", "pv", spec=volume, status={"phase": "Available"}),
        thing(
            "storage.k8s.io/v1",
            "StorageClass",
            "fast",
            provisioner="csi.example.com",
            volumeBindingMode="WaitForFirstConsumer",
            allowedTopologies=[{"matchLabelExpressions": [{"key": "zone", "values": ["z0"]}]}],
        ),
        thing(
            "storage.k8s.io/v1",
            "CSINode",
            "n0",
            spec={"drivers": [{"name": "csi.example.com", "allocatable": {"count": 5}}]},
        ),
        thing("storage.k8s.io/v1", "CSIDriver", "csi.example.com", spec={"storageCapacity": True}),
        thing(
            "storage.k8s.io/v1",
            "CSIStorageCapacity",
            "cap",
            "ns",
            storageClassName="fast",
            capacity="5Gi",
            nodeTopology=SELECTOR,
        ),
        thing("resource.k8s.io/v1", "DeviceClass", "nic", spec={"selectors": [cel]}),
        thing("resource.k8s.io/v1", "ResourceSlice", "n0-nic", spec=slices),
        thing(
            "resource.k8s.io/v1",
            "ResourceClaim",
            "rc",
            "ns",
            spec={"devices": {"requests": [request]}},
        ),
        thing(
            "resource.k8s.io/v1",
            "ResourceClaimTemplate",
            "rct",
            "ns",
            spec={"spec": {"devices": {"requests": [request]}}},
        ),
        thing("policy/v1", "PodDisruptionBudget", "pdb", "ns", spec={"selector": SELECTOR}),
        thing("v1", "ResourceQuota", "rq", "ns", spec={"hard": {"pods": "50"}}, status={}),
    ]


def volcano() -> list[Object]:
    api = "scheduling.volcano.sh/v1beta1"
    member = {"type": "Node", "selector": {"labelMatch": {"matchLabels": {"zone": "z0"}}}}
    group = {"scheduling.k8s.io/group-name": "g", "volcano.sh/task-spec": "w"}
    running = {"scheduling.k8s.io/group-name": "old"}
    numa = {
        "policies": {"CPUManagerPolicy": "static", "TopologyManagerPolicy": "best-effort"},
        "numares": {"cpu": {"allocatable": "0-7", "capacity": 8}},
        "cpuDetail": {str(cpu): {"numa": cpu // 4, "socket": 0, "core": cpu} for cpu in range(8)},
    }
    claims = [{"name": "r", "resourceClaimName": "rc"}]
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": "pvc"}}]
    objects = [
        *shared(),
        thing(api, "Queue", "root", spec={"weight": 1}),
        thing(
            api,
            "Queue",
            "q",
            spec={"weight": 1, "capability": {"cpu": "20"}, "deserved": {"cpu": "4"}},
            status={"state": "Open"},
        ),
        thing(api, "Queue", "r", spec={"weight": 2, "reclaimable": True}),
        thing(
            api,
            "PodGroup",
            "g",
            "ns",
            spec={
                "queue": "q",
                "minMember": 2,
                "minTaskMember": {"w": 1},
                "minResources": {"cpu": "2"},
                "priorityClassName": "high",
                "networkTopology": {"mode": "soft", "highestTierAllowed": 1},
            },
            status={"phase": "Pending"},
        ),
        thing(api, "PodGroup", "old", "ns", spec={"queue": "r", "minMember": 1}),
        pod("a", group, affinity=AFFINITY, tolerations=TOLERATIONS),
        pod("b", group, topologySpreadConstraints=SPREAD, volumes=volumes),
        pod("c", group, resourceClaims=claims, priority=5, schedulerName="volcano"),
        pod("x", running, nodeName="n1", nodeSelector={"zone": "z1"}),
        pod("y", running, nodeName="n2", initContainers=[{"name": "i"}], overhead={"cpu": "1"}),
        pod("plain", {}),
        thing(
            "topology.volcano.sh/v1alpha1", "HyperNode", "h", spec={"tier": 1, "members": [member]}
        ),
        thing("nodeinfo.volcano.sh/v1alpha1", "Numatopology", "n0", spec=numa),
        thing("shard.volcano.sh/v1alpha1", "NodeShard", "volcano", status={"nodesInUse": ["n0"]}),
    ]
    for item in objects:
        if item["kind"] == "PodGroup":
            item["metadata"]["annotations"] = {
                "volcano.sh/sla-waiting-time": "1h",
                "volcano.sh/task-topology-affinity": "w,v",
                "volcano.sh/preemptable": "true",
            }
        if item["kind"] == "Pod":
            item["metadata"]["annotations"] |= {
                "volcano.sh/cooldown-time": "5m",
                "volcano.sh/revocable-zone": "*",
                "volcano.sh/preemptable": "true",
            }
    return objects


def kai() -> list[Object]:
    unlimited = {"quota": -1, "limit": -1, "overQuotaWeight": 1}
    resources = {"cpu": unlimited, "memory": unlimited, "gpu": {**unlimited, "quota": 1}}
    api, groups = "scheduling.run.ai/v2", "scheduling.run.ai/v2alpha2"
    constraint = {"topology": "t", "preferredTopologyLevel": "zone"}
    shared_gpu = {"pod-group-name": "g", "gpu-fraction": "0.5"}
    running = pod("x", {"pod-group-name": "old"}, nodeName="n1")
    running["spec"]["containers"][0]["resources"]["requests"]["nvidia.com/gpu"] = "1"
    return [
        *shared(),
        thing(api, "Queue", "top", spec={"resources": resources, "preemptMinRuntime": "1m"}),
        thing(api, "Queue", "q", spec={"parentQueue": "top", "resources": resources}),
        thing(api, "Queue", "r", spec={"parentQueue": "top", "resources": resources}),
        thing(
            groups,
            "PodGroup",
            "g",
            "ns",
            spec={"queue": "q", "minMember": 1, "topologyConstraint": constraint},
        ),
        thing(
            groups,
            "PodGroup",
            "old",
            "ns",
            spec={"queue": "r", "minMember": 1, "subGroups": [{"name": "s", "minMember": 1}]},
        ),
        pod("a", shared_gpu, affinity=AFFINITY, tolerations=TOLERATIONS),
        pod(
            "b", {"pod-group-name": "g"}, resourceClaims=[{"name": "r", "resourceClaimName": "rc"}]
        ),
        pod(
            "c",
            {"pod-group-name": "g"},
            volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "pvc"}}],
        ),
        running,
        thing(
            "kai.scheduler/v1alpha1",
            "Topology",
            "t",
            spec={"levels": [{"nodeLabel": "zone"}, {"nodeLabel": "kubernetes.io/hostname"}]},
        ),
        thing(
            "scheduling.run.ai/v1alpha2",
            "BindRequest",
            "c",
            "ns",
            spec={"podName": "c", "selectedNode": "n0", "backoffLimit": 3},
            status={"phase": "Pending"},
        ),
    ]


EVERY_PLUGIN = {
    "actions": ["enqueue", "allocate", "backfill", "reclaim", "preempt", "gangpreempt"],
    "tiers": [
        {"plugins": ["priority", "gang", "conformance", "sla", "tdm", "pdb", "cdp"]},
        {
            "plugins": [
                "drf", "predicates", "capacity", "nodeorder", "binpack", "deviceshare",
                "dynamicresources", "numa-aware", "network-topology-aware", "resourcequota",
                "task-topology", "nodegroup", "overcommit", "rescheduling", "usage",
                "resource-strategy-fit",
            ]
        },
    ],
}  # fmt: skip
"""Plugins of Volcano that its preset leaves out."""
SEEDS: dict[str, tuple[Callable[[], list[Object]], Mapping[str, Any]]] = {
    "volcano": (volcano, {"preset": "volcano"}),
    "kai": (kai, {"preset": "kai"}),
    "pumice": (volcano, {"preset": "pumice"}),
    "every plugin": (volcano, EVERY_PLUGIN),
}
"""Objects and the policy that schedules them."""
