"""Small clusters of the KAI family: queues with quotas, jobs with GPUs, one session on them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from pumice.config import policy_from_dict
from pumice.config.settings import AS_UPSTREAM
from pumice.model.cluster import build_cluster
from pumice.model.facts import Inventory, Node, Pod, PodGroup, Queue
from pumice.model.families.kai.pod_sets import SUB_GROUP_LABEL
from pumice.model.gpu.request import GPU
from pumice.model.job import Job
from pumice.model.resources import Resource
from pumice.model.task import Task
from pumice.session.session import Session
from pumice.solver.task_batches import TaskBatches

INF = math.inf
NOW = 1_000_000.0


def bound(gpu: float, cpu: float = INF, memory: float = INF) -> Resource:
    """GPUs in whole ones, CPU in milli, memory in bytes."""
    return Resource(cpu, memory, {GPU: gpu * 1000})


def ask(gpu: float = 1, cpu: int = 100, memory: int = 1000, **facts: Any) -> dict[str, Any]:
    """A pod: ``on`` is its node, ``sub_group`` its sub-group's name, ``fraction`` and
    ``gpu_memory`` ask for a part of a device."""
    return {"gpu": gpu, "cpu": cpu, "memory": memory, **facts}


class FairWorld:
    """An inventory under construction, and the session that was opened on it last."""

    session: Session

    def __init__(self) -> None:
        self.inventory = Inventory()
        self.memory: dict[str, Any] = {}
        self.now = NOW

    def node(
        self, name: str = "n", gpu: int = 8, gpu_memory: int | None = None, **facts: Any
    ) -> None:
        room = Resource(32_000, 10**9, {"pods": 110, GPU: gpu * 1000})
        labels = {"nvidia.com/gpu.count": str(gpu)}
        if gpu_memory:
            labels["nvidia.com/gpu.memory"] = str(gpu_memory)
        self.inventory.nodes[name] = Node(name, room, room, 110, labels=labels, **facts)

    def queue(
        self,
        name: str,
        quota: float | Resource = 0,
        *,
        weight: float | Resource = 1,
        limit: float | Resource = INF,
        priority: int = 100,
        parent: str = "",
        **facts: Any,
    ) -> None:
        """A queue; numbers are GPUs, while CPU and memory are without bound."""
        weights = weight
        if not isinstance(weights, Resource):
            weights = Resource(1, 1, {GPU: weights})
        self.inventory.queues[name] = Queue(
            name,
            family="kai",
            deserved=quota if isinstance(quota, Resource) else bound(quota),
            limit=limit if isinstance(limit, Resource) else bound(limit),
            over_quota_weight=weights,
            priority=priority,
            parent=parent,
            **{"created": float(len(self.inventory.queues)), **facts},
        )
        if parent:
            self.inventory.queues[parent].children.append(name)

    def job(
        self,
        name: str,
        queue: str,
        *pods: Mapping[str, Any],
        min_member: int | None = None,
        **facts: Any,
    ) -> None:
        """A job of namespace ``ns``, whose pods are all needed unless ``min_member`` is given."""
        uid = f"ns/{name}"
        self.inventory.groups[uid] = PodGroup(
            uid,
            name,
            "ns",
            queue=queue,
            min_member=len(pods) if min_member is None else min_member,
            **{"family": "kai", "created": float(len(self.inventory.groups)), **facts},
        )
        for index, pod in enumerate(pods):
            self._pod(uid, f"{name}-{index}", index, dict(pod))

    def _pod(self, group: str, name: str, index: int, pod: dict[str, Any]) -> None:
        node = pod.pop("on", "")
        annotations = dict(pod.pop("annotations", {}))
        scalars = {"pods": 1, **pod.pop("scalars", {})}
        if sub_group := pod.pop("sub_group", ""):
            pod["labels"] = {**pod.get("labels", {}), SUB_GROUP_LABEL: sub_group}
        fraction, gpu_memory = pod.pop("fraction", None), pod.pop("gpu_memory", None)
        gpu, cpu, memory = pod.pop("gpu"), pod.pop("cpu"), pod.pop("memory")
        if fraction is not None:
            annotations["gpu-fraction"] = str(fraction)
        elif gpu_memory is not None:
            annotations["gpu-memory"] = str(gpu_memory)
        elif gpu:
            scalars[GPU] = gpu * 1000
        self.inventory.pods[name] = Pod(
            name,
            name,
            "ns",
            Resource(cpu, memory, scalars),
            group=group,
            node_name=node,
            annotations=annotations,
            **{"phase": "Running" if node else "Pending", "created": float(index), **pod},
        )

    def open(self, *plugins: Any, actions: Mapping[str, Any] | None = None, **options: Any) -> Any:
        """Open a session; the first plugin's instance in it is given back.

        ``options`` are those of the first plugin, ``actions`` has those of actions by name.
        """
        actions = actions or {"fair_allocate": {}}
        names = [plugin if isinstance(plugin, str) else plugin["name"] for plugin in plugins]
        policy = policy_from_dict(
            {
                "actions": list(actions),
                "action": dict(actions),
                "tiers": [{"plugins": list(plugins)}],
                "plugin": {names[0]: options},
                "scheduler": {"on_plugin_error": "raise"},
                "evictions": AS_UPSTREAM,
            }
        )
        cluster = build_cluster(self.inventory, now=self.now)
        self.session = Session(cluster, policy, memory=self.memory)
        return self.session.plugins[names[0]]

    def task(self, name: str) -> Task:
        return self.session.cluster.tasks[name]

    def job_of(self, name: str) -> Job:
        return self.session.jobs[f"ns/{name}"]

    def queue_of(self, name: str) -> Queue:
        return self.session.queues[name]

    def scenario(
        self, preemptor: str, *victims: str, allow_consolidating: bool = True
    ) -> SimpleNamespace:
        """What a validator is given: all of a job against these tasks."""
        by_job: dict[str, SimpleNamespace] = {}
        for name in victims:
            task = self.task(name)
            assert task.job is not None
            entry = by_job.setdefault(task.job.uid, SimpleNamespace(job=task.job, tasks=[]))
            entry.tasks.append(task)
        job = self.job_of(preemptor)
        return SimpleNamespace(
            preemptor=job.subset(job.tasks.values()),
            victims=by_job,
            allow_consolidating=allow_consolidating,
        )

    def shares(self, *queues: str) -> list[float]:
        """Fair shares of GPUs, in whole ones."""
        given = (self.session.ask.get_queue_fair_share(self.queue_of(name)) for name in queues)
        return [share.get(GPU) / 1000 for share in given if share is not None]

    def first(self, left: str, right: str, **jobs: Any) -> str:
        """The queue that is served first, compared in both directions."""
        l_queue, r_queue = self.queue_of(left), self.queue_of(right)
        l_job, r_job = (
            self.job_of(jobs[name]) if name in jobs else None for name in ("left_job", "right_job")
        )
        l_gone, r_gone = (
            [self.job_of(name) for name in jobs.get(side, ())]
            for side in ("left_victims", "right_victims")
        )
        order = self.session.ask.queue_order
        forth = order(l_queue, r_queue, l_job, r_job, l_gone, r_gone)
        back = order(r_queue, l_queue, r_job, l_job, r_gone, l_gone)
        assert forth == -back != 0
        return left if forth < 0 else right


def placing_order(*labels: Mapping[str, str], plugins: Sequence[str]) -> list[int]:
    """The numbers of a job's pods with these labels, in the order in which they are placed."""
    world = FairWorld()
    world.node()
    world.queue("q")
    world.job("j", "q", *[ask(labels=label) for label in labels])
    world.open(*plugins)
    tasks = list(world.job_of("j").tasks.values())
    compared = [task.name for task in TaskBatches(world.session.ask).sorted_tasks(tasks)]
    keyed = [task.name for task in world.session.order.sorted_tasks(tasks)]
    assert keyed == compared
    return [int(name.rpartition("-")[2]) for name in compared]
