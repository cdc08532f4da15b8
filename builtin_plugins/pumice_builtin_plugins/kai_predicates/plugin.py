"""Filters nodes as KAI does: kinds of GPUs, room for pods, health, and kube-scheduler's filters."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np
from pydantic import Field

from pumice import (
    Code,
    FitError,
    Job,
    NodeHandle,
    NodeVerdicts,
    NodeView,
    Plugin,
    Scope,
    Task,
    hookimpl,
)
from pumice.gpu import GPU, WHOLE_GPU, gpu_memory, ranked_devices
from pumice_builtin_plugins.gpu.nodes import is_legacy_mig
from pumice_builtin_plugins.kai_predicates.config_maps import ConfigMaps
from pumice_builtin_plugins.kai_predicates.node_kinds import NodeKinds
from pumice_builtin_plugins.kube.dra.allocation import DeviceAllocator
from pumice_builtin_plugins.kube.dra.objects import DeviceError, DraObjects
from pumice_builtin_plugins.kube.filter_statuses import STATUSES
from pumice_builtin_plugins.kube.label_columns import LabelColumns
from pumice_builtin_plugins.kube.node_pods import NodePods, NodePorts
from pumice_builtin_plugins.kube.pod_affinity import AffinityFilter, tasks_with_affinity
from pumice_builtin_plugins.kube.pod_terms import Namespaces, TermReader
from pumice_builtin_plugins.kube.shortcut import POD_COUNTS
from pumice_builtin_plugins.kube.static_filters import StaticFilters
from pumice_builtin_plugins.kube.storage import Storage, StorageError
from pumice_builtin_plugins.kube.taints import TaintGroups
from pumice_builtin_plugins.kube.task_filters import TaskFilters
from pumice_builtin_plugins.kube.volume_binding import VolumeBinder

_NAME = "kai_predicates"
FULL = STATUSES.id("node(s) have no room for another pod", plugin=_NAME)
NO_RESERVATION = STATUSES.id(
    "node(s) have no room for the pod that reserves a shared GPU", plugin=_NAME
)
_CAPACITY_HOOK = "is_task_allocation_on_node_over_capacity"


class _KaiTaskFilters(TaskFilters):
    __slots__ = ("too_large",)

    too_large: list[str]
    """Reasons: the resources of which no node has enough."""


class KaiPredicates(Plugin):
    """Reject nodes by KAI's filters; resources are compared elsewhere.

    As in KAI, a pod that is evicted in a simulation keeps its host ports and its affinity until
    it is gone, and a moved one has them on both nodes: no eviction makes way for them.
    """

    shortcuts = (POD_COUNTS,)

    class Options(Plugin.Options):
        restrict: bool = Field(
            False,
            alias="restrictNodeScheduling",
            description="Pods with GPUs go to nodes labelled as GPU workers, others to CPU ones.",
        )
        gpu_label: str = Field(
            "node-role.kubernetes.io/gpu-worker",
            alias="gpuWorkerNodeLabelKey",
            description="The label of a GPU worker.",
        )
        cpu_label: str = Field(
            "node-role.kubernetes.io/cpu-worker",
            alias="cpuWorkerNodeLabelKey",
            description="The label of a CPU worker.",
        )

    options: Options

    @hookimpl
    def on_session_open(self) -> None:
        session, options = self.session, self.options
        table, inventory = session.nodes, session.cluster.inventory
        columns = LabelColumns(table)
        static = StaticFilters(columns, TaintGroups(table), affinity=True, taints=True)
        workers = (options.gpu_label, options.cpu_label) if options.restrict else None
        self._kinds = NodeKinds(table, session.cluster.snapshot_cache, static, workers)
        node_pods = NodePods(columns, cached=session.uses("pod_counts"))
        reader = TermReader(Namespaces(inventory))
        self._affinity = AffinityFilter(
            node_pods, reader, tasks_with_affinity(session.cluster.snapshot_cache)
        )
        self._ports = NodePorts(table)
        self._volumes = VolumeBinder(Storage(inventory, columns), node_pods)
        self._use_devices = not session.provides("resource_claims")
        self._devices = DeviceAllocator(DraObjects(inventory, columns))
        self._config_maps = ConfigMaps(inventory)
        self._max_allocatable = table.allocatable.max(axis=0, initial=0)
        self._pods_dimension = table.dimensions.position["pods"]
        self._gpu_memory = table.fact_column(
            "gpu memory", lambda node: gpu_memory(node)[0], np.int64, lasting=True
        )
        self._checks_capacity = session.ask.has(_CAPACITY_HOOK)
        self._all_nodes = table.view()
        self._filters: dict[int, _KaiTaskFilters] = {}
        self._no_affinity_effect: set[str] = set()
        """Tasks that no affinity applied to when first asked."""

    def class_key(self, task: Task) -> Hashable:
        """What the verdicts depend on beside quantities and constraints."""
        return is_legacy_mig(task), self._affinity.signature(task)

    def static_rejections(self, task: Task) -> np.ndarray:
        """The kinds of GPUs, health, labels and taints of nodes do not change in a cycle."""
        rejected: np.ndarray = self._filters_of(task).static != 0
        return rejected

    @hookimpl
    def pre_predicate(self, task: Task, job: Job | None) -> FitError | None:
        filters = self._filters_of(task)
        reasons = filters.too_large.copy()
        missing = self._config_maps.missing(task.pod) if self._config_maps.are_listed else ()
        if missing:
            reasons.append(f"ConfigMaps are missing: {', '.join(missing)}")
        try:
            if filters.volumes:
                self._volumes.check(task)
            if filters.claims:
                self._devices.check(task)
        except (StorageError, DeviceError) as error:
            reasons.append(str(error))
        if reasons:
            return FitError.of("; ".join(reasons), Code.UNRESOLVABLE, self.name)
        if filters.affinity:
            task.state[self.name] = self._affinity_statuses(task)
        return None

    def _scope(self, task: Task) -> Scope:
        return (
            "row" if self._filters_of(task).node_local and not self._checks_capacity else "cluster"
        )

    @hookimpl(scope=_scope)
    def predicate(self, task: Task, node: NodeHandle) -> FitError | None:
        filters = self._filters.get(task.class_id) or self._filters_of(task)
        if not filters.node_local or filters.ports or task.gpu.shared:
            return self.predicate_nodes(task, node.table.view(np.array([node.row]))).error(0)
        status = 0
        if self._checks_capacity and task.job is not None:
            status = self._capacity_status(task, task.job, self._all_nodes, node.row)
        status = status or int(filters.static_view[node.row])
        if not status and node.table.future_idle.item(node.row, self._pods_dimension) <= 0:
            status = FULL
        return STATUSES.error((status,)) if status else None

    @hookimpl(scope=_scope)
    def predicate_nodes(self, task: Task, nodes: NodeView) -> NodeVerdicts:
        filters = self._filters_of(task)
        columns = [nodes.take(filters.static), self._pod_room_statuses(task, nodes)]
        if self._checks_capacity and task.job is not None:
            columns.insert(0, self._capacity_statuses(task, task.job, nodes))
        if filters.ports:
            self._ports.update()
            columns.append(nodes.take(self._ports.statuses(filters.ports, len(nodes.table))))
        if filters.affinity:
            affinity = task.state.get(self.name)
            if affinity is not None:
                columns.append(nodes.take(affinity))
        rows = nodes.rows
        if filters.volumes:
            binding = [self._volumes.binding_status(task, row) for row in rows.tolist()]
            columns.append(np.array(binding, np.int64))
        if filters.claims:
            columns.append(self._devices.statuses(task, rows))
        # KAI reports the first failure only.
        first = columns[0]
        for column in columns[1:]:
            first = np.where(first == 0, column, first)
        return STATUSES.verdicts([first], len(nodes))

    # -- helpers

    def _filters_of(self, task: Task) -> _KaiTaskFilters:
        # Tasks of one class agree in all that is read of them here.
        number = self.session.queries.class_id(task) if task.class_id < 0 else task.class_id
        filters = self._filters.get(number)
        if filters is None:
            filters = self._filters[number] = _KaiTaskFilters(
                self._kinds.statuses(task),
                ports=task.pod.host_ports,
                affinity=self._affinity.concerns(task),
                volumes=self._volumes.concerns(task),
                claims=self._use_devices and bool(task.pod.resource_claims),
            )
            filters.too_large = self._too_large(task)
        return filters

    def _too_large(self, task: Task) -> list[str]:
        """The resources of which no node has enough."""
        dimensions = self.session.nodes.dimensions
        too_large = np.flatnonzero(task.vector > self._max_allocatable)
        names = [dimensions.names[position] for position in too_large]
        gpu = dimensions.position.get(GPU)
        if gpu is not None and task.gpu.shared and task.gpu.milli > self._max_allocatable[gpu]:
            names.append(GPU)
        return [f"no node has enough {name}" for name in names]

    def _affinity_statuses(self, task: Task) -> np.ndarray | None:
        """The pod affinity statuses of all nodes; None: no affinity applies.

        KAI skips the filter for the rest of the cycle once it did not apply to a pod.
        """
        if task.uid in self._no_affinity_effect:
            return None
        if not self._affinity.applies(task):
            self._no_affinity_effect.add(task.uid)
            return None
        return self._affinity.statuses(task)

    def _capacity_status(self, task: Task, job: Job, nodes: NodeView, row: int) -> int:
        """Whether the task, placed on one node, would exceed a limit of its queue."""
        refusal = self.session.ask.is_task_allocation_on_node_over_capacity(task, job, nodes, row)
        return 0 if refusal is None else STATUSES.id(refusal.reason, plugin=self.name)

    def _capacity_statuses(self, task: Task, job: Job, nodes: NodeView) -> np.ndarray:
        """The same for many nodes: only part of a GPU counts differently, by the GPU's memory."""
        result = np.zeros(len(nodes), np.int64)
        if not len(nodes):
            return result
        if not task.gpu.shared:
            result[:] = self._capacity_status(task, job, nodes, int(nodes.rows[0]))
            return result
        sizes = nodes.take(self._gpu_memory)
        for size in sorted(set(sizes.tolist())):
            where = sizes == size
            result[where] = self._capacity_status(task, job, nodes, int(nodes.rows[where][0]))
        return result

    def _pod_room_statuses(self, task: Task, nodes: NodeView) -> np.ndarray:
        """Whether nodes can run one more pod; two where a GPU is opened for sharing.

        As in KAI, a part of a GPU that is shared already is not checked at all.
        """
        free = nodes.take(nodes.table.future_idle[:, self._pods_dimension])
        if not task.gpu.shared:
            return np.where(free <= 0, FULL, 0)
        result = np.zeros(len(nodes), np.int64)
        for position in np.flatnonzero(free < 2).tolist():
            if self._needs_reservation(task, int(nodes.rows[position])):
                result[position] = NO_RESERVATION
        return result

    def _needs_reservation(self, task: Task, row: int) -> bool:
        """Whether the devices that the task would take on the node need a reservation pod.

        KAI takes a device group with an integer for its name to have one, and no other.
        """
        chosen = ranked_devices(self.session, task, row)[: task.gpu.devices]
        return any(device == WHOLE_GPU or not _is_integer(device) for device in chosen)


def _is_integer(name: str) -> bool:
    return name.removeprefix("-").isdecimal()
