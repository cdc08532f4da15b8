"""Place pods that request GPUs, or parts of them, and assign them single cards."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
from loguru import logger
from pydantic import BaseModel

from pumice import (
    PLACED_STATUSES,
    Code,
    FitError,
    Job,
    Node,
    NodeHandle,
    NodeVerdicts,
    NodeView,
    Plugin,
    Pod,
    Session,
    Task,
    TaskStatus,
    hookimpl,
)
from pumice_builtin_plugins.deviceshare import cards, vgpu
from pumice_builtin_plugins.deviceshare.cards import (
    CardAllocation,
    CardChoice,
    CardPool,
    CardRequest,
    SharedCards,
    UnknownCards,
    WholeCards,
    matching_rules,
    plain_cards,
    requested,
    requests_device,
)
from pumice_builtin_plugins.deviceshare.hidden_resources import hide_resources
from pumice_builtin_plugins.deviceshare.options import DeviceShareOptions
from pumice_builtin_plugins.deviceshare.vgpu import (
    VirtualGpuRequest,
    virtual_cards,
    virtual_gpu_request,
)

AnyCardRequest = CardRequest | VirtualGpuRequest


class DeviceShare(Plugin):
    """Assign cards to pods that request GPU memory, whole GPUs or virtual GPUs (HAMi).

    One of the three modes is switched on. The cards of running pods are read from their
    annotations, and the cards of a bound pod are written there. Asked node by node: cards are no
    columns.
    """

    class Options(DeviceShareOptions):
        """Which devices are shared, and how cards are filled."""

    options: Options

    def __init__(self, session: Session, options: BaseModel, name: str) -> None:
        super().__init__(session, options, name)
        if self.options.virtual:
            hide_resources(session.cluster, vgpu.PARAMETERS)

    @hookimpl
    def on_session_open(self) -> None:
        options, nodes = self.options, self.session.nodes
        self._resource = (
            vgpu.CARDS if options.virtual else cards.MEMORY if options.sharing else cards.NUMBER
        )
        self._enabled = options.virtual or options.sharing or options.number
        self._requesting: dict[tuple[int, int], bool] = {}
        self._requests: dict[str, AnyCardRequest | None] = {}
        self._pools = [self._pool(node) if self._enabled else None for node in nodes.facts]
        self._bound: dict[str, CardAllocation] = {}
        """By uid: cards of tasks that are bound, also while they are being evicted."""
        self._locks: dict[int, str] = {}
        """By row: the uid of the pod with devices that was placed there in this cycle."""
        for row, pool in enumerate(self._pools):
            if pool is not None:
                for entry in nodes.held[row].values():
                    if entry.status is not TaskStatus.RELEASING:
                        self._restore(pool, entry.task)

    def class_key(self, task: Task) -> Hashable:
        """Tasks that differ in this need different cards."""
        return self._request(task)

    @hookimpl
    def predicate(self, task: Task, node: NodeHandle, job: Job | None) -> FitError | None:
        request = self._request(task)
        choice = None if request is None else self._choice(request, node.row)
        return self._error(choice) if isinstance(choice, str) else None

    @hookimpl(scope="row")
    def predicate_nodes(self, task: Task, nodes: NodeView) -> NodeVerdicts | None:
        request = self._request(task)
        if request is None:
            return None
        verdicts = NodeVerdicts.accept(len(nodes))
        for position, row in enumerate(nodes.rows.tolist()):
            choice = self._choice(request, row)
            if isinstance(choice, str):
                verdicts.reject_one(position, self._error(choice))
        return verdicts

    @hookimpl(scope="row")
    def batch_node_order(self, task: Task, nodes: NodeView) -> np.ndarray | None:
        request, weight = self._request(task), self.options.weight
        if request is None or not weight or not self.options.virtual:
            return None
        choices = [self._choice(request, row) for row in nodes.rows.tolist()]
        scores = [choice.score if isinstance(choice, CardChoice) else 0.0 for choice in choices]
        return np.floor(np.array(scores) + 0.5) * weight

    @hookimpl
    def on_allocate(self, task: Task) -> str | None:
        request, row = self._request(task), self.session.nodes.row_of.get(task.node)
        pool = None if row is None else self._pools[row]
        if request is None or row is None or pool is None:
            return None
        if task.status not in PLACED_STATUSES:  # its eviction is undone
            if task.uid in self._bound:
                pool.allocate(task.uid, self._bound[task.uid])
            return None
        if self.options.lock and self._locks.setdefault(row, task.uid) != task.uid:
            return f"node {task.node} is locked for the devices of another pod"
        choice = pool.choose(request)
        if isinstance(choice, str):
            return choice
        pool.allocate(task.uid, choice.allocation._replace(group=task.pod.group))
        return None

    @hookimpl
    def on_deallocate(self, task: Task) -> None:
        row = self.session.nodes.row_of.get(task.node)
        pool = None if row is None else self._pools[row]
        if row is None or pool is None or self._request(task) is None:
            return
        pool.release(task.uid)
        if self._locks.get(row) == task.uid:
            del self._locks[row]

    @hookimpl
    def simulate_add_task(self, cycle_state: dict[str, Any], added: Task) -> FitError | None:
        self._removed(cycle_state).discard(added.uid)
        return None

    @hookimpl
    def simulate_remove_task(self, cycle_state: dict[str, Any], removed: Task) -> FitError | None:
        self._removed(cycle_state).add(removed.uid)
        return None

    @hookimpl
    def simulate_predicate(
        self, cycle_state: dict[str, Any], task: Task, node: NodeHandle
    ) -> FitError | None:
        request, pool = self._request(task), self._pools[node.row]
        if request is None or pool is None:
            return None
        removed = self._removed(cycle_state)
        lifted = {uid: cards for uid, cards in pool.allocations.items() if uid in removed}
        for uid in lifted:
            pool.release(uid)
        choice = pool.choose(request)
        for uid, allocation in lifted.items():
            pool.allocate(uid, allocation)
        return self._error(choice) if isinstance(choice, str) else None

    @hookimpl
    def bind_request_mutate(self, task: Task, node: str) -> Mapping[str, str] | None:
        pool = self._pools[self.session.nodes.row_of[node]]
        allocation = None if pool is None else pool.allocations.get(task.uid)
        if pool is None or allocation is None:
            return None
        self._bound[task.uid] = allocation
        return pool.annotations(node, allocation, self.session.now)

    # -- helpers

    def _pool(self, node: Node) -> CardPool | None:
        try:
            if self.options.virtual:
                return virtual_cards(node, self.options.policy)
            cards = plain_cards(node)
        except ValueError as error:
            logger.warning("node {}: {}; its GPUs are not assigned", node.name, error)
            return UnknownCards()
        if not cards:
            return None
        return SharedCards(cards) if self.options.sharing else WholeCards(cards)

    def _restore(self, pool: CardPool, task: Task) -> None:
        request = self._request(task)
        if request is None:
            return
        try:
            allocation = pool.read_allocation(task.pod, request)
        except ValueError as error:
            logger.warning("pod {}: {}; its GPUs are counted as free", task.key, error)
            return
        if allocation is not None:
            self._bound[task.uid] = allocation._replace(group=task.pod.group)
            pool.allocate(task.uid, self._bound[task.uid])

    def _request(self, task: Task) -> AnyCardRequest | None:
        if task.uid not in self._requests:
            self._requests[task.uid] = self._read(task.pod) if self._enabled else None
        return self._requests[task.uid]

    def _read(self, pod: Pod) -> AnyCardRequest | None:
        key = (id(pod.containers), id(pod.init_containers))
        if key not in self._requesting:
            self._requesting[key] = requests_device(
                (*pod.containers, *pod.init_containers), self._resource
            )
        if not self._requesting[key]:
            return None
        rules = matching_rules(self.options.exclusive, pod.labels)
        if self.options.virtual:
            return virtual_gpu_request(pod, rules)
        amount = requested(pod, self._resource)
        return CardRequest(amount, rules) if amount else None

    def _choice(self, request: AnyCardRequest, row: int) -> CardChoice | str | None:
        pool = self._pools[row]
        return None if pool is None else pool.choose(request)

    def _error(self, reason: str) -> FitError:
        return FitError.of(reason, Code.UNSCHEDULABLE, self.name)

    def _removed(self, cycle_state: dict[str, Any]) -> set[str]:
        removed: set[str] = cycle_state.setdefault(self.name, set())
        return removed
