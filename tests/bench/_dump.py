"""A dump of a cluster as ``kubectl get nodes,pods,podgroups,queues -A -o json`` prints it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

INDENT = 4
"""As kubectl indents."""
_BORN = "2026-03-01T08:00:00Z"


def write_dump(path: Path, nodes: int, jobs: int, tasks: int, *, every: int = 2) -> None:
    """One of ``every`` so many jobs waits; the others run, their tasks spread over the nodes."""
    with path.open("w", encoding="utf-8") as file:
        file.write('{\n    "apiVersion": "v1",\n    "items": [\n')
        for number, item in enumerate(_items(nodes, jobs, tasks, every)):
            file.write(",\n" if number else "")
            file.write(item)
        file.write('\n    ],\n    "kind": "List",\n    "metadata": {\n')
        file.write('        "resourceVersion": ""\n    }\n}\n')


def _items(nodes: int, jobs: int, tasks: int, every: int) -> Iterator[str]:
    node, queue, group, running = (_text(make()) for make in (_node, _queue, _group, _pod))
    waiting = _text(_pending(_pod()))
    for number in range(nodes):
        yield _filled(node, NODE=_node_name(number), ID=number)
    for number in range(4):
        yield _filled(queue, QUEUE=f"team-{number}", ID=number)
    for number in range(jobs):
        waits = number % every == every - 1
        phase = "Pending" if waits else "Running"
        names = {"QUEUE": f"team-{number % 4}", "JOB": f"train-{number:05}"}
        yield _filled(group, PHASE=phase, ID=number, **names).replace('"@MIN@"', str(tasks))
        for index in range(tasks):
            ident = number * tasks + index
            place = _node_name(((number - number // every) * tasks + index) % nodes)
            text = waiting if waits else running
            yield _filled(text, TASK=f"train-{number:05}-{index}", ID=ident, NODE=place, **names)


def _node_name(number: int) -> str:
    return f"gpu-{number:05}.cluster.example.com"


def _text(item: dict[str, Any]) -> str:
    lines = json.dumps(item, indent=INDENT, sort_keys=True).splitlines()
    return "\n".join(" " * 2 * INDENT + line for line in lines)


def _filled(text: str, **values: object) -> str:
    for key, value in values.items():
        text = text.replace(f"@{key}@", f"{value:012}" if key == "ID" else str(value))
    return text


def _uid(kind: str) -> str:
    return f"{kind}-4e1b-4d6a-9c55-@ID@"


def _node() -> dict[str, Any]:
    room = {
        "cpu": "32",
        "ephemeral-storage": "958610Mi",
        "hugepages-2Mi": "0",
        "memory": "128Gi",
        "nvidia.com/gpu": "8",
        "pods": "110",
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "annotations": {
                "node.alpha.kubernetes.io/ttl": "0",
                "volumes.kubernetes.io/controller-managed-attach-detach": "true",
            },
            "creationTimestamp": _BORN,
            "labels": {
                "beta.kubernetes.io/arch": "amd64",
                "beta.kubernetes.io/os": "linux",
                "kubernetes.io/arch": "amd64",
                "kubernetes.io/hostname": "@NODE@",
                "kubernetes.io/os": "linux",
                "node.kubernetes.io/instance-type": "gpu-8x",
                "nvidia.com/gpu.count": "8",
                "nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB",
                "topology.kubernetes.io/region": "north",
                "topology.kubernetes.io/zone": "north-1",
            },
            "name": "@NODE@",
            "resourceVersion": "7@ID@",
            "uid": _uid("0a3f6d10"),
        },
        "spec": {"podCIDR": "10.0.0.0/24", "podCIDRs": ["10.0.0.0/24"], "providerID": "x://@NODE@"},
        "status": {
            "addresses": [
                {"address": "10.1.0.1", "type": "InternalIP"},
                {"address": "@NODE@", "type": "Hostname"},
            ],
            "allocatable": room,
            "capacity": room,
            "conditions": [
                _condition("MemoryPressure", "False", "KubeletHasSufficientMemory"),
                _condition("DiskPressure", "False", "KubeletHasNoDiskPressure"),
                _condition("PIDPressure", "False", "KubeletHasSufficientPID"),
                _condition("Ready", "True", "KubeletReady"),
            ],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
            "images": [
                {"names": [f"registry.example.com/team/image-{n}:1.{n}"], "sizeBytes": 10**9 + n}
                for n in range(6)
            ],
            "nodeInfo": {
                "architecture": "amd64",
                "containerRuntimeVersion": "containerd://1.7.20",
                "kernelVersion": "6.8.0-48-generic",
                "kubeletVersion": "v1.31.2",
                "operatingSystem": "linux",
                "osImage": "Ubuntu 24.04 LTS",
            },
        },
    }


def _queue() -> dict[str, Any]:
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {"creationTimestamp": _BORN, "name": "@QUEUE@", "uid": _uid("3c7bb0d2")},
        "spec": {"reclaimable": True, "weight": 1},
        "status": {"state": "Open"},
    }


def _group() -> dict[str, Any]:
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {
            "creationTimestamp": _BORN,
            "name": "@JOB@",
            "namespace": "@QUEUE@",
            "ownerReferences": [_owner("batch.volcano.sh/v1alpha1", "Job", "@JOB@")],
            "uid": _uid("51d2c9aa"),
        },
        "spec": {"minMember": "@MIN@", "queue": "@QUEUE@"},
        "status": {"phase": "@PHASE@"},
    }


def _pod() -> dict[str, Any]:
    room = {"cpu": "4", "memory": "16Gi", "nvidia.com/gpu": "1"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "annotations": {
                "scheduling.k8s.io/group-name": "@JOB@",
                "volcano.sh/queue-name": "@QUEUE@",
                "volcano.sh/task-spec": "worker",
            },
            "creationTimestamp": _BORN,
            "generateName": "@JOB@-",
            "labels": {
                "app.kubernetes.io/name": "trainer",
                "volcano.sh/job-name": "@JOB@",
                "volcano.sh/queue-name": "@QUEUE@",
                "volcano.sh/task-spec": "worker",
            },
            "name": "@TASK@",
            "namespace": "@QUEUE@",
            "ownerReferences": [_owner("batch.volcano.sh/v1alpha1", "Job", "@JOB@")],
            "resourceVersion": "9@ID@",
            "uid": _uid("77f0e81b"),
        },
        "spec": {
            "containers": [
                {
                    "command": ["python", "-m", "train", "--config", "/etc/train/config.yaml"],
                    "env": [{"name": "JOB", "value": "@JOB@"}, {"name": "TASK", "value": "@TASK@"}],
                    "image": "registry.example.com/team/trainer:1.4.2",
                    "imagePullPolicy": "IfNotPresent",
                    "name": "main",
                    "resources": {"limits": room, "requests": room},
                    "terminationMessagePath": "/dev/termination-log",
                    "volumeMounts": [{"mountPath": "/data", "name": "data"}],
                }
            ],
            "dnsPolicy": "ClusterFirst",
            "enableServiceLinks": True,
            "nodeName": "@NODE@",
            "nodeSelector": {"kubernetes.io/os": "linux"},
            "preemptionPolicy": "PreemptLowerPriority",
            "priority": 0,
            "restartPolicy": "OnFailure",
            "schedulerName": "volcano",
            "serviceAccount": "default",
            "terminationGracePeriodSeconds": 30,
            "tolerations": [
                _toleration("node.kubernetes.io/not-ready"),
                _toleration("node.kubernetes.io/unreachable"),
            ],
            "volumes": [{"emptyDir": {}, "name": "data"}],
        },
        "status": {
            "conditions": [
                _condition("Initialized", "True"),
                _condition("Ready", "True"),
                _condition("PodScheduled", "True"),
            ],
            "containerStatuses": [
                {
                    "containerID": "containerd://f00d0000000000000000000000000000@ID@",
                    "image": "registry.example.com/team/trainer:1.4.2",
                    "name": "main",
                    "ready": True,
                    "restartCount": 0,
                    "state": {"running": {"startedAt": _BORN}},
                }
            ],
            "hostIP": "10.1.0.1",
            "phase": "Running",
            "podIP": "10.0.0.1",
            "qosClass": "Guaranteed",
            "startTime": _BORN,
        },
    }


def _pending(pod: dict[str, Any]) -> dict[str, Any]:
    """The same pod before it has a place."""
    spec = {key: value for key, value in pod["spec"].items() if key != "nodeName"}
    return {**pod, "spec": spec, "status": {"phase": "Pending", "qosClass": "Guaranteed"}}


def _owner(api: str, kind: str, name: str) -> dict[str, Any]:
    return {
        "apiVersion": api,
        "blockOwnerDeletion": True,
        "controller": True,
        "kind": kind,
        "name": name,
        "uid": _uid("c0ffee00"),
    }


def _condition(kind: str, status: str, reason: str = "") -> dict[str, Any]:
    details = {"reason": reason, "message": f"kubelet says {reason}"} if reason else {}
    return {"lastTransitionTime": _BORN, "status": status, "type": kind, **details}


def _toleration(key: str) -> dict[str, Any]:
    return {"effect": "NoExecute", "key": key, "operator": "Exists", "tolerationSeconds": 300}
