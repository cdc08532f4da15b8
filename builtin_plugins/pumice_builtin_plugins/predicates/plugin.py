"""Filters nodes as kube-scheduler does: labels, taints, ports, pods elsewhere, volumes, devices."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from pumice import (
    BindContext,
    Code,
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
from pumice_builtin_plugins.kube.dra.allocation import Devices
from pumice_builtin_plugins.kube.dra.claims import DeviceBook, DeviceError
from pumice_builtin_plugins.kube.filter_reasons import STATUSES
from pumice_builtin_plugins.kube.host_ports import HostPorts
from pumice_builtin_plugins.kube.label_columns import LabelColumns
from pumice_builtin_plugins.kube.node_pods import held_tasks
from pumice_builtin_plugins.kube.pod_affinity import AffinityFilter, tasks_with_pod_affinity
from pumice_builtin_plugins.kube.pod_counts import Change, PodCounts
from pumice_builtin_plugins.kube.pod_terms import Namespaces, TermReader
from pumice_builtin_plugins.kube.shortcut import POD_COUNTS
from pumice_builtin_plugins.kube.static_filters import StaticFilters
from pumice_builtin_plugins.kube.storage import Storage, StorageError
from pumice_builtin_plugins.kube.taints import TaintGroups
from pumice_builtin_plugins.kube.topology_spread import SpreadFilter, constraints
from pumice_builtin_plugins.kube.volumes import Volumes
from pumice_builtin_plugins.predicates.options import FilterOptions

FULL = STATUSES.id("node(s) pod number exceeded")


def _is_special(pod: Pod) -> bool:
    """Whether something must be known of the pod where it is."""
    return bool(pod.host_ports or pod.volumes or pod.resource_claims)


class _Demand:
    """What one class of tasks asks of nodes."""

    __slots__ = ("affinity", "claims", "fixed", "plain", "ports", "spread", "view", "volumes")

    def __init__(self, fixed: np.ndarray) -> None:
        self.fixed = fixed
        """By row: the objection that labels and taints make."""
        self.view = fixed.data
        self.ports: Sequence[tuple[str, str, int]] = ()
        self.affinity = self.spread = self.volumes = self.claims = False
        self.plain = True
        """Whether the answer for a node depends on that node alone."""


class _Prepared:
    """Objections that depend on pods elsewhere, as counted before the nodes were asked."""

    __slots__ = ("affinity", "spread")

    def __init__(self, affinity: np.ndarray | None, spread: np.ndarray | None) -> None:
        self.affinity = affinity
        self.spread = spread


class Predicates(Plugin):
    """Rule out nodes by kube-scheduler's filters, all but the one for resources.

    Objections that evictions may cure are collected; the first that they cannot cure is the last.
    """

    shortcuts = (POD_COUNTS,)

    class Options(FilterOptions):
        """See :mod:`pumice_builtin_plugins.predicates.options`."""

    options: Options

    @hookimpl
    def on_session_open(self) -> None:
        table, cluster, options = self.session.nodes, self.session.cluster, self.options
        self._table = table
        self._columns = LabelColumns(table)
        self._pod_counts = PodCounts(self._columns, remembers=self.session.uses("pod_counts"))
        self._pods = table.pod_count.copy()
        self._pod_view, self._most_view = self._pods.data, table.max_pods.data
        taints = TaintGroups(table)
        self._fixed = StaticFilters(
            self._columns, taints, affinity=options.node_affinity, taints_count=options.taints
        )
        reader = TermReader(Namespaces(cluster.inventory))
        self._affinity = AffinityFilter(
            self._pod_counts,
            reader,
            tasks_with_pod_affinity(cluster.snapshot_cache) if options.pod_affinity else (),
        )
        self._spread = SpreadFilter(self._pod_counts, taints)
        self._ports = HostPorts()
        self._settled: set[str] = set()
        """Tasks that came with their volumes and devices."""
        for task, row in held_tasks(cluster, "predicates", _is_special):
            if task.pod.host_ports:
                self._ports.add(task, row)
            if task.pod.volumes or task.pod.resource_claims:
                self._settled.add(task.uid)
        self._volumes = Volumes(Storage(cluster.inventory, self._columns), self._pod_counts)
        self._devices = Devices(DeviceBook(cluster.inventory, self._columns))
        gate = (cluster.extra.get("feature_gates") or {}).get("DynamicResourceAllocation", True)
        self._use_devices = options.devices and str(gate).lower() != "false"
        self._demands: dict[Hashable, _Demand] = {}
        self._by_class: dict[int, _Demand] = {}

    def class_key(self, task: Task) -> Hashable:
        """Tasks that differ in this may be unwanted by different pods."""
        return self._affinity.signature(task)

    # -- what happens

    @hookimpl
    def on_allocate(self, task: Task) -> str | None:
        row = self._table.row_of.get(task.node)
        if row is None:
            return None
        self._pod_view[row] += 1
        self._pod_counts.arrived(task, row)
        pod = task.pod
        if pod.host_ports:
            self._ports.add(task, row)
        if not (pod.volumes or pod.resource_claims) or task.uid in self._settled:
            return None
        objection = None
        if self.options.volume_binding and self._volumes.concern(task):
            objection = self._volumes.reserve(task, row)
        if objection is None and pod.resource_claims and self._use_devices:
            objection = self._devices.reserve(task, row)
        return objection

    @hookimpl
    def on_deallocate(self, task: Task) -> None:
        row = self._table.row_of.get(task.node)
        if row is None:
            return
        self._pod_view[row] -= 1
        self._pod_counts.left(task, row)
        pod = task.pod
        if pod.host_ports:
            self._ports.remove(task, row)
        if pod.volumes:
            self._volumes.release(task)
        if pod.resource_claims:
            self._devices.release(task)

    @hookimpl
    def setup_bind_context(self, task: Task, bind_context: BindContext) -> None:
        if task.pod.volumes or task.pod.resource_claims:
            bind_context.extensions[self.name] = {
                "volumes": dict(self._volumes.plan(task)),
                "devices": self._devices.plan(task),
            }

    # -- what a task asks

    def _demand(self, task: Task) -> _Demand:
        found = self._by_class.get(task.class_id)
        if found is None:
            signature = self._affinity.signature(task)
            key = (task.constraints, signature)
            found = self._demands.get(key)
            if found is None:
                found = self._demands[key] = self._read(task)
            # A class has the signature in it only where this plugin is let to filter.
            if task.class_id >= 0 and signature is None:
                self._by_class[task.class_id] = found
        return found

    def _read(self, task: Task) -> _Demand:
        options, pod = self.options, task.pod
        demand = _Demand(self._fixed.statuses(pod))
        if options.ports:
            demand.ports = pod.host_ports
        demand.affinity = options.pod_affinity and self._affinity.concerns(task)
        demand.spread = options.spread and bool(constraints(pod, hard=True))
        demand.volumes = self._volumes.concern(task)
        demand.claims = self._use_devices and bool(pod.resource_claims)
        demand.plain = not (demand.affinity or demand.spread or demand.volumes or demand.claims)
        return demand

    @hookimpl
    def pre_predicate(self, task: Task, job: Job | None) -> FitError | None:
        demand = self._demand(task)
        if demand.plain:
            return None
        try:
            if demand.volumes and self.options.volume_binding:
                self._volumes.check(task)
        except StorageError as error:
            return self._hopeless("VolumeBinding", error)
        try:
            if demand.claims:
                self._devices.check(task)
        except DeviceError as error:
            return self._hopeless("DynamicResources", error)
        task.state[self.name] = self._prepare(task, demand)
        return None

    def _hopeless(self, part: str, error: Exception) -> FitError:
        return FitError.of(f"plugin {part} pre-predicates failed {error}", Code.ERROR, self.name)

    def _prepare(self, task: Task, demand: _Demand) -> _Prepared:
        return _Prepared(
            self._affinity.statuses(task) if demand.affinity else None,
            self._spread.statuses(task) if demand.spread else None,
        )

    def _prepared(self, task: Task, demand: _Demand) -> _Prepared:
        found = task.state.get(self.name)
        return found if isinstance(found, _Prepared) else self._prepare(task, demand)

    # -- filters

    def _reach(self, task: Task) -> Scope:
        return "row" if self._demand(task).plain else "cluster"

    @hookimpl
    def predicate(self, task: Task, node: NodeHandle, job: Job | None) -> FitError | None:
        demand = self._by_class.get(task.class_id) or self._demand(task)
        row = node.row
        fits = self._pod_view[row] < self._most_view[row]
        if demand.plain and fits and not demand.view[row]:
            if not demand.ports:
                return None
            occupied = self._ports.status(demand.ports, row)
            return STATUSES.error((occupied,)) if occupied else None
        if demand.plain:
            occupied = self._ports.status(demand.ports, row)
            return STATUSES.error((0 if fits else FULL, int(demand.view[row]), occupied))
        return self.predicate_nodes(task, self._table.view(np.array([row]))).error(0)

    @hookimpl(scope=_reach)
    def predicate_nodes(self, task: Task, nodes: NodeView) -> NodeVerdicts:
        demand, take = self._demand(task), nodes.take
        answers = [
            np.where(take(self._pods) >= nodes.max_pods, FULL, 0),
            take(demand.fixed),
        ]
        if demand.ports:
            answers.append(take(self._ports.statuses(demand.ports, len(self._table))))
        if not demand.plain:
            answers.extend(self._elsewhere(task, demand, nodes))
        return STATUSES.verdicts(answers, len(nodes))

    def _elsewhere(self, task: Task, demand: _Demand, nodes: NodeView) -> list[np.ndarray]:
        """The objections that depend on more than the node itself, in kube-scheduler's order."""
        prepared, options = self._prepared(task, demand), self.options
        limits = zone = binding = None
        if demand.volumes:
            limits, zone, binding = self._volumes.statuses(task, nodes.rows)
        answers = [
            None if prepared.affinity is None else nodes.take(prepared.affinity),
            limits if options.volume_limits else None,
            zone if options.volume_zone else None,
            None if prepared.spread is None else nodes.take(prepared.spread),
            binding if options.volume_binding else None,
            self._devices.statuses(task, nodes.rows) if demand.claims else None,
        ]
        return [answer for answer in answers if answer is not None]

    # -- what-if

    def _changes(self, cycle_state: dict[str, Any]) -> list[Change]:
        changes: list[Change] = cycle_state.setdefault(self.name, [])
        return changes

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
        if not self._demand(task).affinity:
            return None
        status = self._affinity.status(task, node.row, self._changes(cycle_state))
        return STATUSES.error((status,)) if status else None
