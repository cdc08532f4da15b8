"""Small clusters for tests of plugins: objects by a line each, then a session of one plugin."""

from collections.abc import Mapping
from typing import Any

import pytest

from pumice.config import policy_from_dict
from pumice.model.cluster import build_cluster
from pumice.model.facts import Inventory, Node, Pod, PodGroup, Queue, ResourceQuota
from pumice.model.job import Job
from pumice.model.resources import Resource
from pumice.model.task import Task
from pumice.session.session import Session


def resource(amounts: Mapping[str, Any] | Resource | None) -> Resource | None:
    if amounts is None or isinstance(amounts, Resource):
        return amounts
    return Resource.from_list(amounts)


class World:
    """An inventory under construction, and the session that was opened on it last."""

    session: Session

    def __init__(self) -> None:
        self.memory: dict[str, Any] | None = None  # a dict: what plugins remember between cycles
        self.inventory = Inventory()
        self.now = 1_000_000.0

    def node(self, name: str, **amounts: Any) -> None:
        """A node; ``nvidia_com_gpu=4`` is written without the dots."""
        listed = {"cpu": 4, "memory": "8Gi", "pods": 110, **_named(amounts)}
        capacity = Resource.from_list(listed)
        self.inventory.nodes[name] = Node(name, capacity, capacity, max_pods=int(listed["pods"]))

    def queue(self, name: str, **facts: Any) -> None:
        for part in ("guarantee", "limit", "deserved"):
            facts[part] = resource(facts.get(part))
        limit = facts["limit"]
        if limit is not None:  # as the reader of manifests does it
            limit.cpu, limit.memory = limit.cpu or float("inf"), limit.memory or float("inf")
        self.inventory.queues[name] = Queue(name, **facts)

    def job(
        self,
        name: str,
        *pods: Mapping[str, Any],
        queue: str = "default",
        phase: str = "Inqueue",
        min_member: int = 1,
        min_resources: Mapping[str, Any] | None = None,
        **facts: Any,
    ) -> None:
        """A job of namespace ``ns``; each pod is its request and, by ``on``, its node."""
        self.inventory.queues.setdefault(queue, Queue(queue))
        group = PodGroup(
            f"ns/{name}",
            name,
            "ns",
            queue=queue,
            phase=phase,
            min_member=min_member,
            min_resources=resource(min_resources),
            **facts,
        )
        self.inventory.groups[group.uid] = group
        for index, spec in enumerate(pods):
            self._pod(group, f"{name}-{index}", dict(spec))

    def _pod(self, group: PodGroup, name: str, spec: dict[str, Any]) -> None:
        node, facts = spec.pop("on", ""), spec.pop("facts", {})
        facts.setdefault("phase", "Running" if node else "Pending")
        request = Resource.from_list({"pods": 1, **_named(spec)})
        self.inventory.pods[name] = Pod(
            name, name, "ns", request, group=group.uid, node_name=node, **facts
        )

    def quota(self, name: str, hard: dict[str, float], used: dict[str, float]) -> None:
        self.inventory.quotas[f"ns/{name}"] = ResourceQuota(name, "ns", hard, used)

    def open(self, plugin: str, **options: Any) -> Any:
        """Open a session with one plugin; the plugin's instance in it is given back."""
        policy = policy_from_dict(
            {"actions": ["enqueue"], "tiers": [{"plugins": [plugin]}], "plugin": {plugin: options}}
        )
        cluster = build_cluster(self.inventory, now=self.now)
        self.session = Session(cluster, policy, memory=self.memory)
        return self.session.plugins[plugin]

    def task(self, name: str) -> Task:
        return self.session.cluster.tasks[name]

    def tasks(self, *names: str) -> list[Task]:
        return [self.task(name) for name in names]

    def job_of(self, name: str) -> Job:
        return self.session.jobs[f"ns/{name}"]

    def allocate(self, *names: str, node: str) -> Any:
        """Give tasks room in a statement of their own, which is given back open."""
        statement = self.session.statement()
        for name in names:
            assert statement.allocate(self.task(name), self.session.nodes.row_of[node]) is None
        return statement


def _named(amounts: Mapping[str, Any]) -> dict[str, Any]:
    return {name.replace("_com_", ".com/"): amount for name, amount in amounts.items()}


@pytest.fixture
def world() -> World:
    return World()
