"""Allocates the devices that pods request through resource claims."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic import Field

from pumice import (
    SKIP,
    Code,
    FitError,
    Job,
    NodeVerdicts,
    NodeView,
    Plugin,
    Scope,
    Task,
    hookimpl,
)
from pumice.gpu import gpu_count
from pumice_builtin_plugins.kube.dra.allocation import DeviceAllocator
from pumice_builtin_plugins.kube.dra.objects import DeviceError, DraObjects
from pumice_builtin_plugins.kube.filter_statuses import STATUSES
from pumice_builtin_plugins.kube.label_columns import LabelColumns
from pumice_builtin_plugins.kube.node_pods import placed_tasks

_MAX_CONSUMERS = 256
"""The API server's limit on ``status.reservedFor``."""


class DynamicResources(Plugin):
    """Check and allocate resource claims: the node needs the devices, the claim a free consumer.

    A claim for GPUs that several pods name must carry the label of their queue. An evicted task
    gives its devices back when it was the claim's last user. Asks node by node: each has devices
    of its own.
    """

    provides = frozenset({"resource_claims"})

    class Options(Plugin.Options):
        without_effect = frozenset({"maxCelCacheEntries"})

        queue_label: str = Field(
            "kai.scheduler/queue",
            alias="queueLabelKey",
            description="Label of a claim that names the queue whose pods may share it.",
        )
        cache_entries: int = Field(
            10,
            alias="maxCelCacheEntries",
            description="Accepted for compatibility: expressions are compiled once per session.",
        )

    @hookimpl
    def on_session_open(self) -> None:
        cluster = self.session.cluster
        self._raw_claims = cluster.inventory.others.get("ResourceClaim", {})
        objects = DraObjects(cluster.inventory, LabelColumns(cluster.nodes))
        self._devices = DeviceAllocator(objects)
        self._new_consumers: dict[str, set[str]] = {}
        """Claim → tasks placed in this cycle that it is not reserved for yet."""
        for task, _ in placed_tasks(cluster, "claims", lambda pod: bool(pod.resource_claims)):
            self._devices.adopt(task)

    @hookimpl
    def pre_predicate(self, task: Task, job: Job) -> Any:
        if not task.pod.resource_claims:
            return SKIP
        for key, claim in self._named_claims(task):
            problem = self._problem(task, job, key, claim)
            if problem:
                return FitError.of(problem, Code.UNRESOLVABLE, self.name)
        try:
            self._devices.check(task)
        except DeviceError as error:
            return FitError.of(str(error), Code.UNRESOLVABLE, self.name)
        return None

    def _scope(self, task: Task) -> Scope:
        return "cluster" if task.pod.resource_claims else "static"

    @hookimpl(scope=_scope)
    def predicate_nodes(self, task: Task, nodes: NodeView) -> NodeVerdicts | None:
        if not task.pod.resource_claims:
            return None
        verdicts = NodeVerdicts.accept(len(nodes))
        for position, status in enumerate(self._devices.statuses(task, nodes.rows).tolist()):
            if status:
                error = STATUSES.error((status,))
                verdicts.reject_one(position, error)
        return verdicts

    @hookimpl
    def on_allocate(self, task: Task) -> str | None:
        if not task.pod.resource_claims:
            return None
        for key, _ in self._named_claims(task):
            self._new_consumers.setdefault(key, set()).add(task.uid)
        return self._devices.reserve(task, self.session.nodes.row_of[task.node])

    @hookimpl
    def on_deallocate(self, task: Task) -> None:
        if not task.pod.resource_claims:
            return
        for key, _ in self._named_claims(task):
            self._new_consumers.get(key, set()).discard(task.uid)
        self._devices.release(task)

    # -- helpers

    def _named_claims(self, task: Task) -> Iterator[tuple[str, Any]]:
        """Key and object of the claims that the pod refers to by name, not by template."""
        for reference in task.pod.resource_claims:
            name = reference.get("resourceClaimName")
            if name:
                key = f"{task.namespace}/{name}"
                yield key, self._raw_claims.get(key)

    def _problem(self, task: Task, job: Job, key: str, claim: Any) -> str:
        if claim is None:
            return f"resource claim {key} does not exist"
        users = {user.get("uid") for user in (claim.get("status") or {}).get("reservedFor") or ()}
        users |= self._new_consumers.get(key, set())
        if task.uid not in users and len(users) >= _MAX_CONSUMERS:
            return f"resource claim {key} is reserved for {len(users)} pods already"
        labels = (claim.get("metadata") or {}).get("labels") or {}
        if gpu_count(claim.get("spec") or {}):
            queue = labels.get(self.options.queue_label, "")
            if queue != job.queue:
                return (
                    f"resource claim {key} for GPUs belongs to queue {queue or '(none)'}, "
                    f"the job to queue {job.queue}"
                )
        return ""
