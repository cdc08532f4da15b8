"""Random clusters of either family's objects, nearly full, as manifests."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from typing import Any

from tests.evictions.cluster import Cluster
from tests.evictions.objects import GPU, Pod, exceeds
from tests.evictions.placement import over_capacity

START = datetime(2026, 3, 1, 9, tzinfo=UTC).timestamp()
NOW = START + 3600
_NAMESPACES = ["a", "a", "a", "b", "b"]
_CLASSES = {
    "volcano": {"low": 10, "mid": 50, "high": 200},
    "kai": {"low": 10, "train": 50, "urgent": 75, "build": 100},
}
_SYSTEM = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
_API = {"volcano": "scheduling.volcano.sh/v1beta1", "kai": "scheduling.run.ai/v2"}
_GROUP_API = {"volcano": "scheduling.volcano.sh/v1beta1", "kai": "scheduling.run.ai/v2alpha2"}

Items = list[dict[str, Any]]


def draw(seed: int, family: str) -> Items:
    """The objects of a cluster; the same for the same seed and family."""
    return _Drawing(random.Random(f"{family}/{seed}"), family).items()


def _time(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat().replace("+00:00", "Z")


class _Drawing:
    def __init__(self, dice: random.Random, family: str) -> None:
        self.dice, self.family = dice, family
        self.created = START

    def items(self) -> Items:
        dice = self.dice
        jobs = dice.randint(3, 14)
        self.with_gpus = self.family == "kai" or dice.random() < 0.5
        nodes = [
            self._node(f"n{number}") for number in range(dice.randint(2, max(2, min(8, jobs // 2))))
        ]
        classes = _CLASSES[self.family] | _SYSTEM
        items: Items = [
            *nodes,
            *(
                {
                    "apiVersion": "scheduling.k8s.io/v1",
                    "kind": "PriorityClass",
                    "metadata": {"name": name},
                    "value": value,
                }
                for name, value in classes.items()
            ),
        ]
        cpu = sum(float(node["status"]["allocatable"]["cpu"]) for node in nodes)
        gpu = sum(float(node["status"]["allocatable"].get(GPU, 0)) for node in nodes)
        queues = self._queues(cpu, gpu)
        items += queues
        leaves = [q["metadata"]["name"] for q in queues if q["metadata"]["name"][0] == "q"]
        for number in range(jobs):
            items += self._job(f"j{number}", dice.choice(leaves))
        if dice.random() < 0.25:
            items.append(self._budget())
        # Some queues hold most of the cluster at first, so that the others must take it back.
        self.busy = {name: dice.choice([0.2, 0.6, 0.95, 0.95]) for name in leaves}
        self._start_jobs(items)
        if self.family == "volcano":
            self._close_queues(queues)
        return items

    # -- nodes and queues

    def _node(self, name: str) -> dict[str, Any]:
        dice = self.dice
        labels = {
            "zone": dice.choice("ab"),
            "kubernetes.io/hostname": name,
            "disk": dice.choice(["ssd", "hdd"]),
        }
        room = {
            "cpu": str(dice.choice([2, 4, 4, 8, 16])),
            "memory": f"{dice.choice([8, 16, 32])}Gi",
            "pods": str(dice.choice([3, 5, 20, 110])),
        }
        if self.with_gpus and dice.random() < 0.7:
            room[GPU] = str(dice.choice([1, 2, 2, 4, 8]))
            labels |= {
                "nvidia.com/gpu.memory": str(dice.choice([16000, 16000, 40000])),
                "nvidia.com/gpu.count": room[GPU],
            }
        spec: dict[str, Any] = {}
        if dice.random() < 0.15:
            effect = dice.choice(["NoSchedule", "NoSchedule", "NoExecute", "PreferNoSchedule"])
            spec["taints"] = [{"key": "dedicated", "value": "x", "effect": effect}]
        if dice.random() < 0.04:
            spec["unschedulable"] = True
        return {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": labels},
            "spec": spec,
            "status": {
                "allocatable": room,
                "capacity": room,
                "conditions": [{"type": "Ready", "status": "True"}],
            },
        }

    def _queues(self, cpu: float, gpu: float) -> Items:
        dice = self.dice
        names = [f"q{number}" for number in range(dice.choice([1, 2, 2, 3, 3, 4]))]
        parents: list[str] = []
        if self.family == "kai":
            parents = [f"d{number}" for number in range(dice.choice([1, 1, 2]))]
        elif dice.random() < 0.3:
            parents = ["p0", "p1"][: dice.choice([1, 2])]
        make = self._kai_queue if self.family == "kai" else self._volcano_queue
        return [
            *(make(name, "", cpu, gpu, len(parents)) for name in parents),
            *(
                make(name, dice.choice(parents) if parents else "", cpu, gpu, len(names))
                for name in names
            ),
        ]

    def _volcano_queue(
        self, name: str, parent: str, cpu: float, gpu: float, count: int
    ) -> dict[str, Any]:
        dice = self.dice
        spec: dict[str, Any] = {"weight": dice.choice([1, 1, 2, 4])}
        if parent or name[0] == "p":
            spec["parent"] = parent or "root"
        if dice.random() < 0.25:
            spec["deserved"] = {"cpu": str(max(int(cpu / count), 1))}
            if gpu:
                spec["deserved"][GPU] = str(max(int(gpu / count), 1))
        if dice.random() < 0.2:
            spec["capability"] = {"cpu": str(max(int(cpu * dice.choice([0.4, 0.7])), 1))}
            if gpu and dice.random() < 0.5:
                spec["capability"][GPU] = str(max(int(gpu * 0.6), 1))
        if dice.random() < 0.1:
            spec["guarantee"] = {"resource": {"cpu": str(max(int(cpu * 0.1), 1))}}
        if dice.random() < 0.1:
            spec["reclaimable"] = False
        if dice.random() < 0.1:
            spec["priority"] = 5
        return self._object(_API["volcano"], "Queue", name, spec=spec, status={"state": "Open"})

    def _close_queues(self, queues: Items) -> None:
        for queue in queues:
            if queue["metadata"]["name"][0] == "q" and self.dice.random() < 0.08:
                queue["status"] = {"state": self.dice.choice(["Closed", "Closing"])}

    def _kai_queue(
        self, name: str, parent: str, cpu: float, gpu: float, count: int
    ) -> dict[str, Any]:
        dice = self.dice
        free = {"quota": -1, "limit": -1, "overQuotaWeight": 1}
        quota = int(gpu / count) if not parent else dice.choice([0, 1, 2, int(gpu / count), 0.5])
        resources = {
            "cpu": {**free, "quota": dice.choice([-1, -1, int(cpu * 1000 / count)])},
            "memory": free,
            "gpu": {
                "quota": quota,
                "limit": dice.choice([-1, -1, -1, max(int(gpu / 2), 1)]) if parent else -1,
                "overQuotaWeight": dice.choice([0, 1, 1, 2, 3]),
            },
        }
        spec: dict[str, Any] = {"resources": resources}
        if parent:
            spec["parentQueue"] = parent
        if dice.random() < 0.15:
            spec["priority"] = 150
        if dice.random() < 0.15:
            spec["preemptMinRuntime"] = dice.choice(["30s", "60s", "2m"])
        if dice.random() < 0.15:
            spec["reclaimMinRuntime"] = dice.choice(["30s", "60s", "2m"])
        return self._object(_API["kai"], "Queue", name, spec=spec)

    # -- jobs

    def _job(self, name: str, queue: str) -> Items:
        dice, family = self.dice, self.family
        self.created += dice.choice([0, 1, 60])
        count = dice.choice([1, 1, 2, 2, 3, 4, 6])
        minimum = dice.choice([1, count, count, dice.randint(1, count)])
        namespace, priority_class = dice.choice(_NAMESPACES), dice.choice(list(_CLASSES[family]))
        if dice.random() < 0.06:
            namespace = "kube-system"
        if dice.random() < 0.04:
            priority_class = dice.choice(list(_SYSTEM))
        group_spec: dict[str, Any] = {
            "queue": queue,
            "minMember": minimum,
            "priorityClassName": priority_class,
        }
        if family == "kai" and dice.random() < 0.2:
            group_spec["preemptibility"] = dice.choice(["preemptible", "non-preemptible"])
        status = {"phase": "Pending"} if family == "volcano" else {}
        group = self._object(
            _GROUP_API[family], "PodGroup", name, namespace, spec=group_spec, status=status
        )
        template = self._pod_spec(priority_class)
        key = "scheduling.k8s.io/group-name" if family == "volcano" else "pod-group-name"
        annotations = {key: name, **template.pop("annotations")}
        labels = {"app": dice.choice("xyz")} if dice.random() < 0.9 else {}
        pods = []
        for number in range(count):
            pod = self._object("v1", "Pod", f"{name}-{number}", namespace, spec=dict(template))
            pod["metadata"] |= {
                "uid": f"{namespace}-{name}-{number}",
                "labels": dict(labels),
                "annotations": annotations,
            }
            pod["status"] = {"phase": "Pending"}
            pods.append(pod)
        return [group, *pods]

    def _pod_spec(self, priority_class: str) -> dict[str, Any]:
        dice = self.dice
        requests: dict[str, str] = {}
        annotations: dict[str, str] = {}
        if dice.random() > 0.04:
            requests["cpu"] = dice.choice(["250m", "500m", "1", "2", "2", "3", "4"])
            requests["memory"] = f"{dice.choice([1, 1, 2, 4, 6])}Gi"
            if self.with_gpus and dice.random() < (0.7 if self.family == "kai" else 0.4):
                shared = dice.random() if self.family == "kai" else 1
                if shared < 0.3:
                    annotations["gpu-fraction"] = dice.choice(["0.3", "0.5", "0.5", "0.7"])
                elif shared < 0.4:
                    annotations["gpu-memory"] = dice.choice(["4000", "8000"])
                else:
                    requests[GPU] = dice.choice(["1", "1", "2", "4"])
        container: dict[str, Any] = {"name": "main", "resources": {"requests": requests}}
        if GPU in requests:
            container["resources"]["limits"] = {GPU: requests[GPU]}
        if dice.random() < 0.08:
            container["ports"] = [{"containerPort": 8080, "hostPort": 8080}]
        values = _CLASSES[self.family] | _SYSTEM
        spec: dict[str, Any] = {
            "containers": [container],
            "priorityClassName": priority_class,
            "priority": values[priority_class],
            "annotations": annotations,
        }
        if dice.random() < 0.15:
            spec["nodeSelector"] = {"zone": dice.choice("ab")}
        if dice.random() < 0.15:
            spec["tolerations"] = [{"key": "dedicated", "operator": "Exists"}]
        affinity = self._affinity()
        if affinity:
            spec["affinity"] = affinity
        if self.family == "volcano" and dice.random() < 0.1:
            annotations["volcano.sh/preemptable"] = dice.choice(["false", "false", "true"])
        return spec

    def _affinity(self) -> dict[str, Any]:
        dice, required = self.dice, "requiredDuringSchedulingIgnoredDuringExecution"
        drawn = dice.random()
        term = {
            "labelSelector": {"matchLabels": {"app": dice.choice("xyz")}},
            "topologyKey": dice.choice(
                ["kubernetes.io/hostname", "kubernetes.io/hostname", "zone"]
            ),
        }
        if drawn < 0.08:
            return {"podAntiAffinity": {required: [term]}}
        if drawn < 0.11:
            return {"podAffinity": {required: [term]}}
        if drawn < 0.15:
            rule = {"key": "disk", "operator": dice.choice(["In", "NotIn"]), "values": ["ssd"]}
            terms = [{"matchExpressions": [rule]}]
            return {"nodeAffinity": {required: {"nodeSelectorTerms": terms}}}
        return {}

    def _budget(self) -> dict[str, Any]:
        dice = self.dice
        spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": dice.choice("xyz")}}}
        status = {"disruptionsAllowed": dice.choice([0, 0, 1])}
        return self._object(
            "policy/v1", "PodDisruptionBudget", "pdb", dice.choice("ab"), spec=spec, status=status
        )

    def _object(
        self, api: str, kind: str, name: str, namespace: str = "", **parts: Any
    ) -> dict[str, Any]:
        metadata: dict[str, Any] = {"name": name, "creationTimestamp": _time(self.created)}
        if namespace:
            metadata["namespace"] = namespace
        return {"apiVersion": api, "kind": kind, "metadata": metadata, **parts}

    # -- what runs at the start

    def _start_jobs(self, items: Items) -> None:
        """Let gangs run where they fit, until the cluster is as full as it should be."""
        cluster = Cluster(items)
        objects = {
            f"{item['metadata']['namespace']}/{item['metadata']['name']}": item
            for item in items
            if item["kind"] == "Pod"
        }
        groups = {
            f"{item['metadata']['namespace']}/{item['metadata']['name']}": item
            for item in items
            if item["kind"] == "PodGroup"
        }
        for gang in cluster.gangs.values():
            if self.dice.random() > self.busy[gang.queue]:
                continue
            for pod in gang.pods:
                self._start(cluster, pod)
            if gang.running() < gang.minimum or self._over_limit(cluster, gang.queue):
                for pod in gang.pods:
                    cluster.take(pod)
            if gang.running():
                self._write_running(groups[gang.uid])
                for pod in gang.pods:
                    if pod.node:
                        self._write_placed(objects[pod.key], pod)

    def _start(self, cluster: Cluster, pod: Pod) -> None:
        names = list(cluster.nodes)
        self.dice.shuffle(names)
        for name in names:
            node = cluster.nodes[name]
            if cluster.filters.refusal(pod, node, cluster.present):
                continue
            for number in range(int(node.allocatable.get(GPU, 0))):
                groups = (f"{name}-gpu{number}",) if pod.devices else ()
                cluster.place(pod, name, groups)
                if not over_capacity(node, cluster.present[name].values()):
                    return
                cluster.take(pod)
                if not groups:
                    break
            if not node.allocatable.get(GPU) and not pod.devices:
                cluster.place(pod, name)
                if not over_capacity(node, cluster.present[name].values()):
                    return
                cluster.take(pod)

    def _over_limit(self, cluster: Cluster, queue: str) -> bool:
        used = cluster.usage(
            (pod, name) for name, pods in cluster.present.items() for pod in pods.values()
        )
        return any(
            exceeds(used[one.name].get(name, 0.0), bound)
            for one in cluster.path(queue)
            for name, bound in one.limit.items()
        )

    def _write_running(self, group: dict[str, Any]) -> None:
        if self.family == "volcano":
            group["status"] = {"phase": "Running"}
        else:
            at = _time(NOW - self.dice.choice([5, 45, 600]))
            group["metadata"]["annotations"] = {"kai.scheduler/last-start-timestamp": at}

    def _write_placed(self, item: dict[str, Any], pod: Pod) -> None:
        at = item["metadata"]["creationTimestamp"]
        item["spec"]["nodeName"] = pod.node
        if pod.gpu_groups:
            item["metadata"]["labels"]["runai-gpu-group"] = pod.gpu_groups[0]
        item["status"] = {
            "phase": "Running",
            "startTime": at,
            "conditions": [{"type": "PodScheduled", "status": "True", "lastTransitionTime": at}],
        }
