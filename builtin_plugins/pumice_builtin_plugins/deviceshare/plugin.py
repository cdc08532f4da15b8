"""Pods that ask for GPUs, or for parts of them, go where the cards can be found."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
from loguru import logger
from pydantic import BaseModel

from pumice import (
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
    CardDemand,
    CardPool,
    Choice,
    Holding,
    SharedCards,
    UnknownCards,
    WholeCards,
    asked,
    asks,
    matching_rules,
    plain_cards,
)
from pumice_builtin_plugins.deviceshare.hidden_resources import uncount
from pumice_builtin_plugins.deviceshare.options import DeviceShareOptions
from pumice_builtin_plugins.deviceshare.vgpu import VirtualDemand, virtual_cards, virtual_demand

Demand = CardDemand | VirtualDemand
_PLACED = (TaskStatus.ALLOCATED, TaskStatus.PIPELINED)


class DeviceShare(Plugin):
    """Find cards for pods that ask for GPU memory, whole GPUs or virtual ones (HAMi).

    One of the three ways is switched on. What pods hold is told by their annotations, and the
    cards that a pod gets are written into its. Asked node by node: cards are no columns.
    """

    class Options(DeviceShareOptions):
        """Which devices are shared, and how cards are filled."""

    options: Options

    def __init__(self, session: Session, options: BaseModel, name: str) -> None:
        super().__init__(session, options, name)
        if self.options.virtual:
            uncount(session.cluster, vgpu.UNCOUNTED)

    @hookimpl
    def on_session_open(self) -> None:
        options, nodes = self.options, self.session.nodes
        self._resource = (
            vgpu.CARDS if options.virtual else cards.MEMORY if options.sharing else cards.NUMBER
        )
        self._on = options.virtual or options.sharing or options.number
        self._asks: dict[tuple[int, int], bool] = {}
        self._demands: dict[str, Demand | None] = {}
        self._pools = [self._pool(node) if self._on else None for node in nodes.facts]
        self._homes: dict[str, Holding] = {}
        """By uid: what tasks hold whose place is no trial, kept while they are being evicted."""
        self._locks: dict[int, str] = {}
        """By row: the uid of the pod with devices that was placed there in this cycle."""
        for row, pool in enumerate(self._pools):
            if pool is not None:
                for entry in nodes.held[row].values():
                    if entry.status is not TaskStatus.RELEASING:
                        self._recall(pool, entry.task)

    def _pool(self, node: Node) -> CardPool | None:
        try:
            if self.options.virtual:
                return virtual_cards(node, self.options.policy)
            cards = plain_cards(node)
        except ValueError as error:
            logger.warning("node {}: {}; its GPUs are given to nobody", node.name, error)
            return UnknownCards()
        if not cards:
            return None
        return SharedCards(cards) if self.options.sharing else WholeCards(cards)

    def _recall(self, pool: CardPool, task: Task) -> None:
        demand = self._demand(task)
        if demand is None:
            return
        try:
            holding = pool.recall(task.pod, demand)
        except ValueError as error:
            logger.warning("pod {}: {}; the GPUs that it holds are not counted", task.key, error)
            return
        if holding is not None:
            self._homes[task.uid] = holding._replace(group=task.pod.group)
            pool.hold(task.uid, self._homes[task.uid])

    # -- what a task asks

    def _demand(self, task: Task) -> Demand | None:
        if task.uid not in self._demands:
            self._demands[task.uid] = self._read(task.pod) if self._on else None
        return self._demands[task.uid]

    def _read(self, pod: Pod) -> Demand | None:
        key = (id(pod.containers), id(pod.init_containers))
        if key not in self._asks:
            self._asks[key] = asks((*pod.containers, *pod.init_containers), self._resource)
        if not self._asks[key]:
            return None
        rules = matching_rules(self.options.exclusive, pod.labels)
        if self.options.virtual:
            return virtual_demand(pod, rules)
        amount = asked(pod, self._resource)
        return CardDemand(amount, rules) if amount else None

    def class_key(self, task: Task) -> Hashable:
        """Tasks that differ in this need other cards."""
        return self._demand(task)

    # -- answers

    def _choice(self, demand: Demand, row: int) -> Choice | str | None:
        pool = self._pools[row]
        return None if pool is None else pool.choose(demand)

    def _error(self, reason: str) -> FitError:
        return FitError.of(reason, Code.UNSCHEDULABLE, self.name)

    @hookimpl
    def predicate(self, task: Task, node: NodeHandle, job: Job | None) -> FitError | None:
        demand = self._demand(task)
        choice = None if demand is None else self._choice(demand, node.row)
        return self._error(choice) if isinstance(choice, str) else None

    @hookimpl(scope="row")
    def predicate_nodes(self, task: Task, nodes: NodeView) -> NodeVerdicts | None:
        demand = self._demand(task)
        if demand is None:
            return None
        verdicts = NodeVerdicts.accept(len(nodes))
        for position, row in enumerate(nodes.rows.tolist()):
            choice = self._choice(demand, row)
            if isinstance(choice, str):
                verdicts.reject_one(position, self._error(choice))
        return verdicts

    @hookimpl(scope="row")
    def batch_node_order(self, task: Task, nodes: NodeView) -> np.ndarray | None:
        demand, weight = self._demand(task), self.options.weight
        if demand is None or not weight or not self.options.virtual:
            return None
        choices = [self._choice(demand, row) for row in nodes.rows.tolist()]
        scores = [choice.score if isinstance(choice, Choice) else 0.0 for choice in choices]
        return np.floor(np.array(scores) + 0.5) * weight

    # -- what happens

    @hookimpl
    def on_allocate(self, task: Task) -> str | None:
        demand, row = self._demand(task), self.session.nodes.row_of.get(task.node)
        pool = None if row is None else self._pools[row]
        if demand is None or row is None or pool is None:
            return None
        if task.status not in _PLACED:  # its eviction is taken back
            if task.uid in self._homes:
                pool.hold(task.uid, self._homes[task.uid])
            return None
        if self.options.lock and self._locks.setdefault(row, task.uid) != task.uid:
            return f"node {task.node} is locked for the devices of another pod"
        choice = pool.choose(demand)
        if isinstance(choice, str):
            return choice
        pool.hold(task.uid, choice.holding._replace(group=task.pod.group))
        return None

    @hookimpl
    def on_deallocate(self, task: Task) -> None:
        row = self.session.nodes.row_of.get(task.node)
        pool = None if row is None else self._pools[row]
        if row is None or pool is None or self._demand(task) is None:
            return
        pool.drop(task.uid)
        if self._locks.get(row) == task.uid:
            del self._locks[row]

    @hookimpl
    def bind_request_mutate(self, task: Task, node: str) -> Mapping[str, str] | None:
        pool = self._pools[self.session.nodes.row_of[node]]
        holding = None if pool is None else pool.holdings.get(task.uid)
        if pool is None or holding is None:
            return None
        self._homes[task.uid] = holding
        return pool.annotations(node, holding, self.session.now)

    # -- what-if

    def _gone(self, cycle_state: dict[str, Any]) -> set[str]:
        gone: set[str] = cycle_state.setdefault(self.name, set())
        return gone

    @hookimpl
    def simulate_remove_task(self, cycle_state: dict[str, Any], removed: Task) -> FitError | None:
        self._gone(cycle_state).add(removed.uid)
        return None

    @hookimpl
    def simulate_add_task(self, cycle_state: dict[str, Any], added: Task) -> FitError | None:
        self._gone(cycle_state).discard(added.uid)
        return None

    @hookimpl
    def simulate_predicate(
        self, cycle_state: dict[str, Any], task: Task, node: NodeHandle
    ) -> FitError | None:
        demand, pool = self._demand(task), self._pools[node.row]
        if demand is None or pool is None:
            return None
        gone = self._gone(cycle_state)
        parted = {uid: held for uid, held in pool.holdings.items() if uid in gone}
        for uid in parted:
            pool.drop(uid)
        choice = pool.choose(demand)
        for uid, holding in parted.items():
            pool.hold(uid, holding)
        return self._error(choice) if isinstance(choice, str) else None
