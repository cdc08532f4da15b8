"""Filters nodes as kube-scheduler does: node and pod affinity, taints, ports, volumes, DRA."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, NamedTuple

import numpy as np

from pumice import (
    BindContext,
    Code,
    EvictionContext,
    FitError,
    Job,
    NodeHandle,
    NodeVerdicts,
    NodeView,
    Plugin,
    Pod,
    Scope,
    Task,
    hookimpl,
)
from pumice_builtin_plugins.kube.dra.allocation import DeviceAllocator
from pumice_builtin_plugins.kube.dra.objects import DeviceError, DraObjects
from pumice_builtin_plugins.kube.feature_gates import is_enabled
from pumice_builtin_plugins.kube.filter_statuses import STATUSES
from pumice_builtin_plugins.kube.host_ports import HostPorts
from pumice_builtin_plugins.kube.label_columns import LabelColumns
from pumice_builtin_plugins.kube.node_pods import placed_tasks
from pumice_builtin_plugins.kube.pod_affinity import AffinityFilter, tasks_with_affinity
from pumice_builtin_plugins.kube.pod_counts import PodChange, PodCounts
from pumice_builtin_plugins.kube.pod_terms import Namespaces, TermReader
from pumice_builtin_plugins.kube.shortcut import POD_COUNTS
from pumice_builtin_plugins.kube.static_filters import StaticFilters
from pumice_builtin_plugins.kube.storage import Storage, StorageError
from pumice_builtin_plugins.kube.taints import TaintGroups
from pumice_builtin_plugins.kube.task_filters import TaskFilters
from pumice_builtin_plugins.kube.topology_spread import SpreadFilter, constraints
from pumice_builtin_plugins.kube.volume_binding import VolumeBinder
from pumice_builtin_plugins.predicates.options import FilterOptions

FULL = STATUSES.id("node(s) pod number exceeded")


class _PreFiltered(NamedTuple):
    """The statuses of filters that count other pods, taken before the nodes are asked.

    In Volcano evictions do not change them within a predicate call; the simulate hooks do.
    """

    affinity: np.ndarray | None
    spread: np.ndarray | None


class Predicates(Plugin):
    """Reject nodes by kube-scheduler's filters, all but the one for resources.

    Failures that evictions may cure are collected up to the first that they cannot cure.
    """

    shortcuts = (POD_COUNTS,)

    beyond_upstream = frozenset({"protected"})

    class Options(FilterOptions):
        """See :mod:`pumice_builtin_plugins.predicates.options`."""

    options: Options

    @hookimpl
    def on_session_open(self) -> None:
        table, cluster, options = self.session.nodes, self.session.cluster, self.options
        self._table = table
        self._columns = LabelColumns(table)
        self._pod_counts = PodCounts(self._columns, cached=self.session.uses("pod_counts"))
        self._pods = table.pod_count.copy()
        self._pods_view, self._max_pods_view = self._pods.data, table.max_pods.data
        taint_groups = TaintGroups(table)
        self._static = StaticFilters(
            self._columns,
            taint_groups,
            affinity=options.node_affinity,
            taints=options.taints,
            health=options.node_health,
        )
        reader = TermReader(Namespaces(cluster.inventory))
        self._affinity = AffinityFilter(
            self._pod_counts,
            reader,
            tasks_with_affinity(cluster.snapshot_cache) if options.pod_affinity else (),
        )
        self._spread = SpreadFilter(self._pod_counts, taint_groups)
        self._ports = HostPorts()
        self._initially_placed: set[str] = set()
        """Tasks that were on a node with their volumes and devices when the cycle began."""
        for task, row in placed_tasks(cluster, "predicates", _has_node_state):
            if task.pod.host_ports:
                self._ports.add(task, row)
            if task.pod.volumes or task.pod.resource_claims:
                self._initially_placed.add(task.uid)
        self._volumes = VolumeBinder(Storage(cluster.inventory, self._columns), self._pod_counts)
        self._devices = DeviceAllocator(DraObjects(cluster.inventory, self._columns))
        gate = is_enabled(cluster, "DynamicResourceAllocation", default=True)
        self._use_devices = options.devices and gate
        self._filters: dict[Hashable, TaskFilters] = {}
        self._filters_of_class: dict[int, TaskFilters] = {}

    def class_key(self, task: Task) -> Hashable:
        """Tasks that differ in this may be rejected by the anti-affinity of different pods."""
        return self._affinity.signature(task)

    @hookimpl
    def pre_predicate(self, task: Task, job: Job | None) -> FitError | None:
        number = self.session.queries.class_id(task)
        filters = self._filters_of_class.get(number) or self._filters_of(task)
        if filters.node_local:
            return None
        try:
            if filters.volumes and self.options.volume_binding:
                self._volumes.check(task)
        except StorageError as error:
            return self._failed("VolumeBinding", error)
        try:
            if filters.claims:
                self._devices.check(task)
        except DeviceError as error:
            return self._failed("DynamicResources", error)
        task.state[self.name] = self._pre_filter(task, filters)
        return None

    @hookimpl
    def protected(self, task: Task, context: EvictionContext) -> str | None:
        """A pod that was promised a node finds there those that it has to run beside."""
        waiting = self._affinity.relying_on(task, is_evicted=bool(context.victims))
        if waiting is None:
            return None
        return f"{waiting.key}, which was promised node {waiting.node}, has to run beside it"

    @hookimpl
    def predicate(self, task: Task, node: NodeHandle, job: Job | None) -> FitError | None:
        filters = self._filters_of_class.get(task.class_id) or self._filters_of(task)
        row = node.row
        has_room = self._pods_view[row] < self._max_pods_view[row]
        if filters.node_local and has_room and not filters.static_view[row]:
            if not filters.ports:
                return None
            occupied = self._ports.status(filters.ports, row)
            return STATUSES.error((occupied,)) if occupied else None
        if filters.node_local:
            occupied = self._ports.status(filters.ports, row)
            statuses = (0 if has_room else FULL, int(filters.static_view[row]), occupied)
            return STATUSES.error(statuses)
        return self.predicate_nodes(task, self._table.view(np.array([row]))).error(0)

    def _scope(self, task: Task) -> Scope:
        return "row" if self._filters_of(task).node_local else "cluster"

    @hookimpl(scope=_scope)
    def predicate_nodes(self, task: Task, nodes: NodeView) -> NodeVerdicts:
        filters, take = self._filters_of(task), nodes.take
        columns = [
            np.where(take(self._pods) >= nodes.max_pods, FULL, 0),
            take(filters.static),
        ]
        if filters.ports:
            columns.append(take(self._ports.statuses(filters.ports, len(self._table))))
        if not filters.node_local:
            columns.extend(self._cluster_statuses(task, filters, nodes))
        return STATUSES.verdicts(columns, len(nodes))

    @hookimpl
    def on_allocate(self, task: Task) -> str | None:
        row = self._table.row_of.get(task.node)
        if row is None:
            return None
        self._pods_view[row] += 1
        self._pod_counts.add_pod(task, row)
        pod = task.pod
        if pod.host_ports:
            self._ports.add(task, row)
        if not (pod.volumes or pod.resource_claims) or task.uid in self._initially_placed:
            return None
        failure = None
        if self.options.volume_binding and self._volumes.concerns(task):
            failure = self._volumes.reserve(task, row)
        if failure is None and pod.resource_claims and self._use_devices:
            failure = self._devices.reserve(task, row)
        return failure

    @hookimpl
    def on_deallocate(self, task: Task) -> None:
        row = self._table.row_of.get(task.node)
        if row is None:
            return
        self._pods_view[row] -= 1
        self._pod_counts.remove_pod(task, row)
        pod = task.pod
        if pod.host_ports:
            self._ports.remove(task, row)
        if pod.volumes:
            self._volumes.release(task)
        if pod.resource_claims:
            self._devices.release(task)

    # Volcano simulates inter-pod affinity only: ports, spread and volumes are not asked again.

    @hookimpl
    def simulate_add_task(
        self, cycle_state: dict[str, Any], added: Task, node: NodeHandle
    ) -> FitError | None:
        self._changes(cycle_state).append((added, node.row, 1))
        return None

    @hookimpl
    def simulate_remove_task(
        self, cycle_state: dict[str, Any], removed: Task, node: NodeHandle
    ) -> FitError | None:
        self._changes(cycle_state).append((removed, node.row, -1))
        return None

    @hookimpl
    def simulate_predicate(
        self, cycle_state: dict[str, Any], task: Task, node: NodeHandle
    ) -> FitError | None:
        if not self._filters_of(task).affinity:
            return None
        status = self._affinity.status(task, node.row, self._changes(cycle_state))
        return STATUSES.error((status,)) if status else None

    @hookimpl
    def setup_bind_context(self, task: Task, bind_context: BindContext) -> None:
        if task.pod.volumes or task.pod.resource_claims:
            bind_context.extensions[self.name] = {
                "volumes": dict(self._volumes.to_bind(task)),
                "devices": self._devices.allocated(task),
            }

    # -- helpers

    def _filters_of(self, task: Task) -> TaskFilters:
        filters = self._filters_of_class.get(task.class_id)
        if filters is None:
            signature = self._affinity.signature(task)
            key = (task.constraints, signature)
            filters = self._filters.get(key)
            if filters is None:
                filters = self._filters[key] = self._read_filters(task)
            # A class includes the signature only where this plugin is enabled to filter.
            if task.class_id >= 0 and signature is None:
                self._filters_of_class[task.class_id] = filters
        return filters

    def _read_filters(self, task: Task) -> TaskFilters:
        options, pod = self.options, task.pod
        return TaskFilters(
            self._static.statuses(pod),
            ports=pod.host_ports if options.ports else (),
            affinity=options.pod_affinity and self._affinity.concerns(task),
            spread=options.spread and bool(constraints(pod, hard=True)),
            volumes=self._volumes.concerns(task),
            claims=self._use_devices and bool(pod.resource_claims),
        )

    def _failed(self, part: str, error: Exception) -> FitError:
        return FitError.of(f"plugin {part} pre-predicates failed {error}", Code.ERROR, self.name)

    def _pre_filter(self, task: Task, filters: TaskFilters) -> _PreFiltered:
        return _PreFiltered(
            self._affinity.statuses(task) if filters.affinity else None,
            self._spread.statuses(task) if filters.spread else None,
        )

    def _cluster_statuses(
        self, task: Task, filters: TaskFilters, nodes: NodeView
    ) -> list[np.ndarray]:
        """The statuses of filters that look beyond the node, in kube-scheduler's order."""
        pre_filtered = task.state.get(self.name)
        if not isinstance(pre_filtered, _PreFiltered):
            pre_filtered = self._pre_filter(task, filters)
        options = self.options
        limits = zone = binding = None
        if filters.volumes:
            limits, zone, binding = self._volumes.statuses(task, nodes.rows)
        columns = [
            None if pre_filtered.affinity is None else nodes.take(pre_filtered.affinity),
            limits if options.volume_limits else None,
            zone if options.volume_zone else None,
            None if pre_filtered.spread is None else nodes.take(pre_filtered.spread),
            binding if options.volume_binding else None,
            self._devices.statuses(task, nodes.rows) if filters.claims else None,
        ]
        return [column for column in columns if column is not None]

    def _changes(self, cycle_state: dict[str, Any]) -> list[PodChange]:
        changes: list[PodChange] = cycle_state.setdefault(self.name, [])
        return changes


def _has_node_state(pod: Pod) -> bool:
    """Whether the filters keep account of something of the pod on its node."""
    return bool(pod.host_ports or pod.volumes or pod.resource_claims)
