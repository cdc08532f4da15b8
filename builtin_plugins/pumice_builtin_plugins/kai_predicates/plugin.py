"""Filters nodes as KAI does: kinds of GPUs, pod slots, health, and kube-scheduler's filters."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

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
from pumice_builtin_plugins.kube.dra.allocation import Devices
from pumice_builtin_plugins.kube.dra.claims import DeviceBook, DeviceError
from pumice_builtin_plugins.kube.filter_reasons import STATUSES
from pumice_builtin_plugins.kube.label_columns import LabelColumns
from pumice_builtin_plugins.kube.node_pods import NodePods, NodePorts
from pumice_builtin_plugins.kube.pod_affinity import AffinityFilter, tasks_with_pod_affinity
from pumice_builtin_plugins.kube.pod_terms import Namespaces, TermReader
from pumice_builtin_plugins.kube.shortcut import POD_COUNTS
from pumice_builtin_plugins.kube.static_filters import StaticFilters
from pumice_builtin_plugins.kube.storage import Storage, StorageError
from pumice_builtin_plugins.kube.taints import TaintGroups
from pumice_builtin_plugins.kube.volumes import Volumes

_NAME = "kai_predicates"
FULL = STATUSES.id("node(s) have no pod slot left", plugin=_NAME)
NO_RESERVATION = STATUSES.id(
    "node(s) have no pod slot left to reserve a shared GPU with", plugin=_NAME
)
_ON_NODE = "is_task_allocation_on_node_over_capacity"


class _Demand:
    """What one class of tasks asks of nodes."""

    __slots__ = ("affinity", "claims", "kinds", "oversized", "plain", "ports", "volumes")

    def __init__(self, kinds: np.ndarray) -> None:
        self.kinds = kinds
        """By row: the objection that does not change during the cycle."""
        self.oversized: list[str] = []
        """What no node has enough of."""
        self.ports: Sequence[tuple[str, str, int]] = ()
        self.affinity = self.volumes = self.claims = False
        self.plain = True
        """Whether the answer for a node depends on that node alone."""


class KaiPredicates(Plugin):
    """Rule out nodes by KAI's filters; resources are looked at elsewhere.

    A pod that is evicted in a simulation keeps its host ports and its affinity until it is gone,
    and a moved one has them on both nodes: no eviction is tried to get past them.
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
        fixed = StaticFilters(columns, TaintGroups(table), affinity=True, taints_count=True)
        workers = (options.gpu_label, options.cpu_label) if options.restrict else None
        self._kinds = NodeKinds(table, session.cluster.snapshot_cache, fixed, workers)
        held = NodePods(columns, remembers=session.uses("pod_counts"))
        reader = TermReader(Namespaces(inventory))
        self._affinity = AffinityFilter(
            held, reader, tasks_with_pod_affinity(session.cluster.snapshot_cache)
        )
        self._ports = NodePorts(table)
        self._volumes = Volumes(Storage(inventory, columns), held)
        # The plugin that gives devices out knows better which are free.
        self._use_devices = "dynamicresources" not in session.plugins
        self._devices = Devices(DeviceBook(inventory, columns))
        self._config_maps = ConfigMaps(inventory)
        self._most = table.allocatable.max(axis=0, initial=0)
        self._slots = table.dimensions.position["pods"]
        self._gpu_memory = table.fact_column(
            "gpu memory", lambda node: gpu_memory(node)[0], np.int64, lasting=True
        )
        self._asks_capacity = session.ask.has(_ON_NODE)
        self._demands: dict[int, _Demand] = {}
        self._no_affinity_effect: set[str] = set()
        """Tasks that pods elsewhere had nothing to do with when it was first asked."""

    def class_key(self, task: Task) -> Hashable:
        """What tells tasks apart beside quantities and constraints."""
        return is_legacy_mig(task), self._affinity.signature(task)

    # -- what a task asks

    def _demand(self, task: Task) -> _Demand:
        # Tasks of one class agree in all that is read of them here.
        number = self.session.queries.class_id(task) if task.class_id < 0 else task.class_id
        found = self._demands.get(number)
        if found is None:
            found = self._demands[number] = self._read(task)
        return found

    def _read(self, task: Task) -> _Demand:
        demand = _Demand(self._kinds.objections(task))
        demand.oversized = self._too_large(task)
        demand.ports = task.pod.host_ports
        demand.affinity = self._affinity.concerns(task)
        demand.volumes = self._volumes.concern(task)
        demand.claims = self._use_devices and bool(task.pod.resource_claims)
        demand.plain = not (demand.affinity or demand.volumes or demand.claims)
        return demand

    @hookimpl
    def pre_predicate(self, task: Task, job: Job | None) -> FitError | None:
        demand = self._demand(task)
        reasons = demand.oversized.copy()
        missing = self._config_maps.missing(task.pod)
        if missing:
            reasons.append(f"ConfigMaps are missing: {', '.join(missing)}")
        try:
            if demand.volumes:
                self._volumes.check(task)
            if demand.claims:
                self._devices.check(task)
        except (StorageError, DeviceError) as error:
            reasons.append(str(error))
        if reasons:
            return FitError.of("; ".join(reasons), Code.UNRESOLVABLE, self.name)
        if demand.affinity:
            task.state[self.name] = self._affinity_objections(task)
        return None

    def _too_large(self, task: Task) -> list[str]:
        """The resources of which no node has enough."""
        dimensions = self.session.nodes.dimensions
        names = [dimensions.names[i] for i in np.flatnonzero(task.vector > self._most)]
        gpu = dimensions.position.get(GPU)
        if gpu is not None and task.gpu.shared and task.gpu.milli > self._most[gpu]:
            names.append(GPU)
        return [f"no node has enough {name}" for name in names]

    def _affinity_objections(self, task: Task) -> np.ndarray | None:
        """What pods elsewhere object; None: nothing, and it is not asked again in the cycle."""
        if task.uid in self._no_affinity_effect:
            return None
        if not self._affinity.applies(task):
            self._no_affinity_effect.add(task.uid)
            return None
        return self._affinity.statuses(task)

    # -- filters

    def _reach(self, task: Task) -> Scope:
        return "row" if self._demand(task).plain and not self._asks_capacity else "cluster"

    @hookimpl(scope=_reach)
    def predicate_nodes(self, task: Task, nodes: NodeView) -> NodeVerdicts:
        demand = self._demand(task)
        answers = [nodes.take(demand.kinds), self._without_slot(task, nodes)]
        if self._asks_capacity and task.job is not None:
            answers.insert(0, self._over_capacity(task, task.job, nodes))
        if demand.ports:
            self._ports.catch_up()
            answers.append(nodes.take(self._ports.statuses(demand.ports, len(nodes.table))))
        if demand.affinity:
            found = task.state.get(self.name)
            if found is not None:
                answers.append(nodes.take(found))
        rows = nodes.rows
        if demand.volumes:
            bound = [self._volumes.binding(task, row) for row in rows.tolist()]
            answers.append(np.array(bound, np.int64))
        if demand.claims:
            answers.append(self._devices.statuses(task, rows))
        first = answers[0]
        for answer in answers[1:]:
            first = np.where(first == 0, answer, first)
        return STATUSES.verdicts([first], len(nodes))

    @hookimpl(scope=_reach)
    def predicate(self, task: Task, node: NodeHandle) -> FitError | None:
        demand = self._demand(task)
        if not demand.plain or demand.ports or task.gpu.shared:
            return self.predicate_nodes(task, node.table.view(np.array([node.row]))).error(0)
        status = 0
        if self._asks_capacity and task.job is not None:
            status = self._over_capacity_anywhere(task, task.job, node.table.view(), node.row)
        status = status or int(demand.kinds[node.row])
        if not status and node.table.future_idle.item(node.row, self._slots) <= 0:
            status = FULL
        return STATUSES.error((status,)) if status else None

    def _over_capacity_anywhere(self, task: Task, job: Job, nodes: NodeView, row: int) -> int:
        """The objection to a task that counts the same on every node, or 0."""
        refusal = self.session.ask.is_task_allocation_on_node_over_capacity(task, job, nodes, row)
        return 0 if refusal is None else STATUSES.id(refusal.reason, plugin=self.name)

    def _over_capacity(self, task: Task, job: Job, nodes: NodeView) -> np.ndarray:
        """Where the task would exceed a limit of its queue, by the size of the node's GPUs."""
        result, ask = np.zeros(len(nodes), np.int64), self.session.ask
        if not len(nodes):
            return result
        if not task.gpu.shared:
            result[:] = self._over_capacity_anywhere(task, job, nodes, int(nodes.rows[0]))
            return result
        sizes = nodes.take(self._gpu_memory)
        for size in np.unique(sizes).tolist():
            where = sizes == size
            row = int(nodes.rows[where][0])
            refusal = ask.is_task_allocation_on_node_over_capacity(task, job, nodes, row)
            if refusal is not None:
                result[where] = STATUSES.id(refusal.reason, plugin=self.name)
        return result

    def _without_slot(self, task: Task, nodes: NodeView) -> np.ndarray:
        """Where no pod can be added; a GPU that is opened for sharing takes a second one."""
        free = nodes.take(nodes.table.future_idle[:, self._slots])
        if not task.gpu.shared:
            return np.where(free <= 0, FULL, 0)
        result = np.zeros(len(nodes), np.int64)
        for position in np.flatnonzero(free < 2).tolist():
            if self._opens_group(task, int(nodes.rows[position])):
                result[position] = NO_RESERVATION
        return result

    def _opens_group(self, task: Task, row: int) -> bool:
        """Whether the devices that the task would take on the node need a pod to reserve them.

        Only those of groups with a number for a name are sure to have one already.
        """
        chosen = ranked_devices(self.session, task, row)[: task.gpu.devices]
        return any(device == WHOLE_GPU or not _is_number(device) for device in chosen)


def _is_number(name: str) -> bool:
    return name.removeprefix("-").isdecimal()
