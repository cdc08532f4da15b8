"""Small clusters for tests, built in a few calls from the same facts as real ones."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Self

from pumice._nearest import did_you_mean
from pumice.backends.memory import MemoryBackend
from pumice.model.cluster import build_cluster
from pumice.model.facts import Inventory, Node, Pod, PodGroup, PriorityClass, Queue
from pumice.model.resources import Resource
from pumice.scheduler import Scheduler
from pumice.session.session import Session

if TYPE_CHECKING:
    from pumice.config import Policy
    from pumice.decisions import Decisions

GI = 1 << 30
GPU = "nvidia.com/gpu"
NAMESPACE = "ns"
NOW = 1_800_000_000.0


def amount(cpu: float = 0, memory: float = 0, gpu: float = 0, **scalars: float) -> Resource:
    """Resources: CPU in cores, memory in Gi, GPUs as a number; other scalars as they are."""
    if gpu:
        scalars[GPU] = gpu * 1000
    return Resource(int(cpu * 1000), int(memory * GI), scalars)


class Cluster:
    """A cluster that is built in a few calls. Everything is in the namespace ``ns``.

    >>> cluster = Cluster().nodes("a", "b", gpu=8).queue("q", weight=2)
    >>> cluster.job("j", tasks=2, gpu=1, queue="q", priority=10).running("r", on="a")

    Other keywords of a method are facts of the object, by the names in
    :mod:`pumice.model.facts`.
    """

    def __init__(self) -> None:
        self.inventory = Inventory()
        """The facts that it was made from; in a test, where they are collected."""
        self.now = NOW
        """Epoch seconds of the cycle."""

    def nodes(self, *names: str, **facts: Any) -> Self:
        """Equal nodes; keywords as for :meth:`node`."""
        for name in names:
            self.node(name, **facts)
        return self

    def node(
        self,
        name: str,
        cpu: float = 4,
        memory: float = 8,
        gpu: float = 0,
        pods: int = 110,
        **facts: Any,
    ) -> Self:
        """A node: cores, memory in Gi, GPUs and the maximum number of pods."""
        _check_keywords("node", facts, Node)
        resources = amount(cpu, memory, gpu, pods=pods)
        self.inventory.nodes[name] = Node(name, resources, resources, pods, **facts)
        return self

    def queue(self, name: str, **facts: Any) -> Self:
        """A queue; keywords are facts of :class:`pumice.Queue`."""
        _check_keywords("queue", facts, Queue)
        self.inventory.queues[name] = Queue(name, **facts)
        return self

    def job(
        self,
        name: str,
        tasks: int = 1,
        *,
        cpu: float = 1,
        memory: float = 1,
        gpu: float = 0,
        min_member: int | None = None,
        queue: str = "q",
        phase: str = "Inqueue",
        priority: int = 0,
        on: Sequence[str] = (),
        pod: dict[str, Any] | None = None,
        **facts: Any,
    ) -> Self:
        """A job with ``tasks`` pods ``name-t-0`` …, the first ones running on the nodes ``on``.

        The minimum is all of them unless ``min_member`` is given. A missing queue is created.
        ``pod`` has facts of each pod, the other keywords are facts of the pod group.
        """
        _check_keywords("job", facts, PodGroup)
        if queue not in self.inventory.queues:
            self.queue(queue)
        if priority:
            facts["priority_class"] = f"p{priority}"
            self.inventory.priority_classes[f"p{priority}"] = PriorityClass(
                f"p{priority}", priority
            )
        uid = f"{NAMESPACE}/{name}"
        self.inventory.groups[uid] = PodGroup(
            uid,
            name,
            NAMESPACE,
            queue=queue,
            min_member=tasks if min_member is None else min_member,
            phase=phase,
            **facts,
        )
        for number in range(tasks):
            self.pod(
                f"{name}-t-{number}",
                uid,
                cpu=cpu,
                memory=memory,
                gpu=gpu,
                node=on[number] if number < len(on) else "",
                priority=priority,
                **(pod or {}),
            )
        return self

    def running(
        self, name: str, on: str | Sequence[str], tasks: int | None = None, **facts: Any
    ) -> Self:
        """A job whose tasks all run: on one node, or one on each of several."""
        nodes = [on] * (tasks or 1) if isinstance(on, str) else list(on)
        return self.job(name, len(nodes), on=nodes, **{"phase": "Running", **facts})

    def pod(
        self,
        name: str,
        group: str = "",
        *,
        cpu: float = 1,
        memory: float = 1,
        gpu: float = 0,
        node: str = "",
        role: str = "",
        **facts: Any,
    ) -> Self:
        """A pod; with a node it is running unless ``phase`` is given. Its name is its uid."""
        _check_keywords("pod", facts, Pod)
        if role:
            facts["annotations"] = {**facts.get("annotations", {}), "volcano.sh/task-spec": role}
        self.inventory.pods[name] = Pod(
            name,
            name,
            NAMESPACE,
            amount(cpu, memory, gpu, pods=1),
            group=group,
            node_name=node,
            **{"phase": "Running" if node else "Pending", **facts},
        )
        return self

    def session(self, policy: Policy, **options: Any) -> Session:
        """A session on a fresh copy of the cluster."""
        return Session(build_cluster(self.inventory, now=self.now), policy, **options)

    def run(self, policy: Policy, *, verify: bool = True, **options: Any) -> Decisions:
        """One cycle, with the accounts and every cached answer checked."""
        backend = MemoryBackend(self.inventory, now=self.now)
        return Scheduler(backend, policy, verify=verify, **options).run_once()


def _check_keywords(method: str, facts: Mapping[str, Any], cls: type) -> None:
    """Refuse a keyword that is neither one of the method nor a fact of what it makes."""
    names = [field.name for field in fields(cls)]
    for name in facts:
        if name not in names:
            own = list(inspect.signature(getattr(Cluster, method)).parameters)[1:-1]
            known = [*own, *(fact for fact in names if fact not in own)]
            near = did_you_mean(name, known) or f"; known are {', '.join(known)}"
            raise TypeError(f"cluster.{method}() has no keyword {name!r}{near}")
