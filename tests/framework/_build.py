"""Small clusters and policies for tests: a few words each, real facts underneath."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal, Self

from pumice import Action, Plugin
from pumice.backends.memory import MemoryBackend
from pumice.config import ActionEntry, PluginEntry, Policy, SchedulerSettings
from pumice.decisions import Decisions
from pumice.discovery import Source
from pumice.hookspecs import POINTS
from pumice.model.cluster import build_cluster
from pumice.model.facts import Inventory, Node, Pod, PodGroup, PriorityClass, Queue
from pumice.model.resources import Resource
from pumice.model.task import Task
from pumice.scheduler import Scheduler
from pumice.session.session import Session
from pumice_builtin_actions.allocate import Allocate
from pumice_builtin_actions.backfill import Backfill
from pumice_builtin_actions.enqueue import Enqueue

GI = 1 << 30
GPU = "nvidia.com/gpu"
NOW = 1_800_000_000.0
SOURCE = Source("pumice-tests", "1.0", "tests:Here")
VOLCANO = (Enqueue, Allocate, Backfill)

Seat = type[Plugin] | PluginEntry


def amount(cpu: float = 0, memory: float = 0, gpu: float = 0, **scalars: float) -> Resource:
    """CPU in cores, memory in Gi, GPUs in whole ones; other scalars as they are."""
    if gpu:
        scalars[GPU] = gpu * 1000
    return Resource(int(cpu * 1000), int(memory * GI), scalars)


def seat(
    plugin: type[Plugin],
    name: str = "",
    *,
    enable: Iterable[str] | None = None,
    disable: Iterable[str] = (),
    source: Source = SOURCE,
    **options: Any,
) -> PluginEntry:
    """A plugin as a tier names it; by default under the name of its class."""
    return PluginEntry(
        name or plugin.__name__.lower(),
        plugin,
        plugin.Options.model_validate(options),
        source,
        tuple(point for point in POINTS if hasattr(plugin, point)),
        None if enable is None else frozenset(enable),
        frozenset(disable),
    )


def policy(
    *tiers: Sequence[Seat],
    actions: Sequence[type[Action]] = VOLCANO,
    on_plugin_error: Literal["raise", "isolate"] = "raise",
) -> Policy:
    """A policy of classes, without any discovery. A plugin's error is fatal unless isolated."""
    return Policy(
        actions=tuple(
            ActionEntry(action.__name__.lower(), action, action.Options(), SOURCE)
            for action in actions
        ),
        tiers=tuple(
            tuple(entry if isinstance(entry, PluginEntry) else seat(entry) for entry in tier)
            for tier in tiers
        ),
        scheduler=SchedulerSettings(on_plugin_error=on_plugin_error),
        warnings=(),
        origin="test",
        raw={},
    )


class World:
    """A cluster that is put together in a few calls. Every name is its object's uid.

    >>> world = World().node("a", cpu=4).job("j", tasks=2, cpu=1)
    >>> world.run(policy([Gang])).binds
    """

    def __init__(self) -> None:
        self.inventory = Inventory()

    def node(
        self,
        name: str,
        cpu: float = 4,
        memory: float = 8,
        gpu: float = 0,
        pods: int = 110,
        **facts: Any,
    ) -> Self:
        room = amount(cpu, memory, gpu, pods=pods)
        self.inventory.nodes[name] = Node(name, room, room, pods, **facts)
        return self

    def queue(self, name: str, **facts: Any) -> Self:
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

        All of them must be placed unless ``min_member`` says otherwise. ``pod`` has facts for
        each pod, the other keywords facts of the group.
        """
        if queue not in self.inventory.queues:
            self.queue(queue)
        if priority:
            facts["priority_class"] = f"p{priority}"
            self.inventory.priority_classes[f"p{priority}"] = PriorityClass(
                f"p{priority}", priority
            )
        uid = f"ns/{name}"
        self.inventory.groups[uid] = PodGroup(
            uid,
            name,
            "ns",
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
        """A pod; on a node it runs, unless its ``phase`` says otherwise."""
        if role:
            facts["annotations"] = {**facts.get("annotations", {}), "volcano.sh/task-spec": role}
        self.inventory.pods[name] = Pod(
            name,
            name,
            "ns",
            amount(cpu, memory, gpu, pods=1),
            group=group,
            node_name=node,
            **{"phase": "Running" if node else "Pending", **facts},
        )
        return self

    def session(self, policy: Policy, **options: Any) -> Session:
        """A session on a fresh copy of the cluster."""
        return Session(build_cluster(self.inventory, now=NOW), policy, **options)

    def run(self, policy: Policy, *, verify: bool = True, **options: Any) -> Decisions:
        """One cycle, with the books and every remembered answer checked."""
        backend = MemoryBackend(self.inventory, now=NOW)
        return Scheduler(backend, policy, verify=verify, **options).run_once()


def task(session: Session, name: str) -> Task:
    return session.cluster.tasks[name]


def bound(decisions: Decisions) -> dict[str, str]:
    """Task name → node."""
    return {bind.uid: bind.node for bind in decisions.binds}


def promised(decisions: Decisions) -> dict[str, str]:
    return {promise.uid: promise.node for promise in decisions.pipelined}


def reasons(decisions: Decisions) -> dict[str, str]:
    """Job name → why it waits."""
    return {state.job.removeprefix("ns/"): state.reason for state in decisions.jobs}


def phases(decisions: Decisions) -> dict[str, str]:
    return {state.job.removeprefix("ns/"): state.phase for state in decisions.jobs}
