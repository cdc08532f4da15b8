"""Compiled dispatch: each extension point becomes one function, once per session."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NoReturn

from pumice import deprecated
from pumice._nearest import did_you_mean
from pumice.combine import Answer, Impl, Tiers
from pumice.combine.base import named_arguments
from pumice.errors import PluginError
from pumice.hookspecs import POINTS, PROJECT, ExtensionPoint
from pumice.plugin import Plugin
from pumice.session.answer_checks import answer_check

if TYPE_CHECKING:
    from pumice.config import PluginEntry, Policy
    from pumice.ledger import Ledger
    from pumice.model.cluster import Cluster
    from pumice.model.facts import Queue
    from pumice.model.job import Job, SubJob
    from pumice.model.nodes import NodeHandle, NodeView
    from pumice.model.resources import Resource
    from pumice.model.task import Task
    from pumice.session.fact_check import FactCheck
    from pumice.solver.plan import LostVictims, Plan
    from pumice.verdicts import BindContext, EvictionContext, FitError, Refusal


_IMPL_MARK = f"{PROJECT}_impl"  # set by pluggy's marker
_IMPLEMENTED: dict[type[Plugin], frozenset[str]] = {}
_ABOUT_NODES = frozenset({"predicate", "node_order"})


def bind(method: Callable[..., Any], args: Sequence[str]) -> Answer:
    """A method that names some of the spec's arguments, as a function of all of them."""
    wanted = named_arguments(method)
    if wanted == tuple(args):
        return method
    return _adapter(tuple(args), wanted)(method)


@cache
def _adapter(args: tuple[str, ...], wanted: tuple[str, ...]) -> Callable[[Answer], Answer]:
    # Both lists of names were checked against the spec when the plugin was loaded.
    source = f"lambda method: lambda {', '.join(args)}: method({', '.join(wanted)})"
    adapter: Callable[[Answer], Answer] = eval(source)
    return adapter


BoundPlugin = tuple["PluginEntry", Plugin]
"""A plugin entry of the policy with the instance that this session made for it."""


NotOpen = Mapping[str, PluginError]
"""Plugins that take no part in the cycle, by name, each with the reason."""


def implementations(
    point: ExtensionPoint,
    tiers: Sequence[Sequence[BoundPlugin]],
    *,
    not_open: NotOpen = MappingProxyType({}),
    cluster: Cluster | None = None,
) -> list[list[tuple[Impl, Plugin]]]:
    """The implementations of a point, tier by tier, in policy order.

    ``tiers`` has the plugins that answer the point. One that is ``not_open`` is left out, or raises
    the reason where it could refuse something.
    """
    name = point.name
    found = []
    for tier in tiers:
        row = []
        for entry, plugin in tier:
            reason = not_open.get(entry.name)
            if reason is not None and not point.guards:
                continue
            method = getattr(plugin if reason is None else entry.cls, name)
            fn = bind(method, point.args) if reason is None else _raising(reason)
            check = answer_check(point, cluster)
            row.append((Impl(entry.name, fn, entry.source.label, check, method), plugin))
        found.append(row)
    return found


def answering(
    points: Container[str], tiers: Sequence[Sequence[BoundPlugin]]
) -> dict[str, list[list[BoundPlugin]]]:
    """By extension point: the plugins that implement it and are enabled to answer it, by tier."""
    by_point: dict[str, list[list[BoundPlugin]]] = {}
    for number, tier in enumerate(tiers):
        for bound in tier:
            entry = bound[0]
            for name in _implemented(entry.cls):
                if name in points and entry.answers(name):
                    if name not in by_point:
                        by_point[name] = [[] for _ in tiers]
                    by_point[name][number].append(bound)
    return by_point


def _raising(reason: PluginError) -> Answer:
    def refuse(*_: Any) -> NoReturn:
        raise reason.repeated()

    return refuse


def _implemented(plugin: type[Plugin]) -> frozenset[str]:
    """The names of a class's methods that implement an extension point."""
    names = _IMPLEMENTED.get(plugin)
    if names is None:
        methods = [(name, getattr(plugin, name, None)) for name in dir(plugin)]
        names = frozenset(name for name, method in methods if hasattr(method, _IMPL_MARK))
        _IMPLEMENTED[plugin] = names
    return names


def prepare(policy: Policy) -> None:
    """Read the plugins' methods, which is the same for every cycle, before the first one."""
    for entry in policy.plugins:
        for name in _implemented(entry.cls):
            if name in policy.points:
                bind(getattr(entry.cls, name), policy.points[name].args)


class Dispatch:
    """The combined answer of every extension point: ``session.ask.job_ready(job)``.

    Points that installed distributions declare are attributes as well.
    """

    queue_order: Callable[..., int]
    victim_queue_order: Callable[[Queue, Queue, Queue], int]
    job_order: Callable[[Job, Job], int]
    task_order: Callable[[Task, Task], int]
    sub_job_order: Callable[[SubJob, SubJob], int]
    pod_set_order: Callable[[SubJob, SubJob], int]
    gpu_order: Callable[[Task, NodeView, int, str], float]
    job_valid: Callable[[Job], Refusal | None]
    job_ready: Callable[[Job], bool]
    job_pipelined: Callable[[Job], bool]
    sub_job_ready: Callable[[SubJob], bool]
    sub_job_pipelined: Callable[[SubJob], bool]
    job_starving: Callable[[Job], bool]
    job_enqueueable: Callable[[Job], bool]
    job_enqueued: Callable[[Job], None]
    pre_job_allocation: Callable[[Job], None]
    preemptable: Callable[[Task, Sequence[Task]], list[Task]]
    reclaimable: Callable[[Task, Sequence[Task]], list[Task]]
    unified_evictable: Callable[[EvictionContext, Sequence[Task]], list[Task]]
    protected: Callable[[Task, EvictionContext], str | None]
    victim_tasks: Callable[[Sequence[Task]], list[Task]]
    can_reclaim_resources: Callable[[Job], bool | None]
    reclaim_victim_filter: Callable[[Job, Job], bool]
    preempt_victim_filter: Callable[[Job, Job], bool]
    reclaim_scenario_validator: Callable[[Plan], bool]
    preempt_scenario_validator: Callable[[Plan], bool]
    refuses_reclaim: Callable[[Job, Sequence[LostVictims]], bool]
    refuses_larger_plans: Callable[[Plan], bool]
    on_job_solution_start: Callable[[], None]
    overused: Callable[[Queue], bool]
    preemptive: Callable[[Queue, Sequence[Task]], bool]
    allocatable: Callable[[Queue, Task], bool]
    get_queue_allocated_resources: Callable[[Queue], Resource | None]
    get_queue_deserved_resources: Callable[[Queue], Resource | None]
    get_queue_fair_share: Callable[[Queue], Resource | None]
    is_non_preemptible_job_over_queue_quota: Callable[[Job, Sequence[Task]], Refusal | None]
    is_job_over_queue_capacity: Callable[[Job, Sequence[Task]], Refusal | None]
    is_task_allocation_on_node_over_capacity: Callable[[Task, Job, NodeView, int], Refusal | None]
    node_pre_order: Callable[[Task, NodeView], None]
    node_map: Callable[[Task, NodeView], dict[str, Any]]
    best_node: Callable[[Task, Mapping[float, Sequence[str]]], str | None]
    subset_nodes: Callable[..., list[Any]]
    hyper_node_order: Callable[[SubJob, Mapping[str, NodeView]], dict[str, float]]
    hyper_node_gradient_for_job: Callable[[Job, str, str], Sequence[Sequence[str]] | None]
    hyper_node_gradient_for_sub_job: Callable[[SubJob, str, str], Sequence[Sequence[str]] | None]
    simulate_add_task: Callable[[dict[str, Any], Task, Task, NodeHandle], FitError | None]
    simulate_remove_task: Callable[[dict[str, Any], Task, Task, NodeHandle], FitError | None]
    simulate_predicate: Callable[[dict[str, Any], Task, NodeHandle], FitError | None]
    simulate_allocatable: Callable[[dict[str, Any], Queue, Task], bool]
    on_session_open: Callable[[], None]
    on_session_close: Callable[[], Any]
    on_allocate: Callable[[Task], Any]
    on_deallocate: Callable[[Task], Any]
    setup_bind_context: Callable[[Task, BindContext], None]
    pre_bind: Callable[[BindContext], str | None]
    pre_bind_rollback: Callable[[BindContext], None]
    bind_request_mutate: Callable[[Task, str], dict[str, str]]
    http_handlers: Callable[[], dict[str, Callable[..., Any]]]

    def __init__(
        self,
        tiers: Sequence[Sequence[BoundPlugin]],
        *,
        on_error: Callable[[PluginError], None],
        ledger: Ledger | None = None,
        points: Mapping[str, ExtensionPoint] = POINTS,
        cluster: Cluster | None = None,
        not_open: NotOpen = MappingProxyType({}),
        fact_check: FactCheck | None = None,
    ) -> None:
        self._settings = (on_error, ledger, points, cluster, fact_check)
        self.voters: dict[str, list[list[tuple[Impl, Plugin]]]] = {}
        """By extension point and tier: the implementations that are asked."""
        self.position = {
            entry.name: number
            for number, (entry, _) in enumerate(bound for tier in tiers for bound in tier)
        }
        """Plugin name → its position in the policy."""
        self.compile(tiers, not_open)

    def compile(
        self,
        tiers: Sequence[Sequence[BoundPlugin]],
        not_open: NotOpen,
    ) -> None:
        """Compile every extension point, as if plugins that are ``not_open`` refused."""
        _, ledger, points, cluster, fact_check = self._settings
        by_point = answering(points, tiers)
        for point in points.values():
            self.__dict__.pop(point.name, None)
            asked = by_point.get(point.name)
            if asked is None:
                # What nobody answers is compiled when it is asked: it mostly never is.
                self.voters[point.name] = [[] for _ in tiers]
                continue
            voters = implementations(point, asked, not_open=not_open, cluster=cluster)
            if fact_check is not None:
                voters = [
                    [(fact_check.watched(point.name, impl), plugin) for impl, plugin in tier]
                    for tier in voters
                ]
            watcher = ledger if ledger is not None and ledger.watches(point.base) else None
            # Node queries are asked, and recorded, for many nodes at once (see voters).
            plain: Tiers = [[impl for impl, _ in tier] for tier in voters]
            if watcher is not None and point.base not in _ABOUT_NODES:
                voters = [
                    [(watcher.voter(point, impl, plugin, n), plugin) for impl, plugin in tier]
                    for n, tier in enumerate(voters, 1)
                ]
            self.voters[point.name] = voters
            self._combine(point, plain)

    def _combine(self, point: ExtensionPoint, plain: Tiers) -> Answer:
        """Compile one point; ``plain`` has the implementations that a ledger does not watch."""
        on_error, ledger, *_ = self._settings
        impls: Tiers = [[impl for impl, _ in tier] for tier in self.voters[point.name]]
        combined = point.rule.compile(point.name, impls, on_error)
        if ledger is not None and ledger.watches(point.base):
            unwatched = point.rule.compile(point.name, plain, on_error)
            combined = ledger.question(point, combined, unwatched)
        setattr(self, point.name, combined)
        return combined

    def __getattr__(self, point: str) -> Answer:
        """Called only for what was not compiled: a point, an old name, or a mistake."""
        known = self.__dict__.get("voters", {})
        if point in known:
            return self._combine(self._settings[2][point], [[] for _ in known[point]])
        renamed = deprecated.renamed_point(point)
        if renamed is not None:
            deprecated.warn(renamed)
            answer: Answer = getattr(self, renamed.new)
            return answer
        near = did_you_mean(point, known)
        raise AttributeError(f"no extension point is named {point!r}{near}", name=point, obj=self)

    def notify_filters(self, point: str) -> Answer:
        """A point that notifies plugins, for those that filter nodes only."""
        on_error, _, points, _, _ = self._settings
        filters = {
            impl.plugin
            for name in ("predicate", "predicate_nodes")
            for tier in self.voters[name]
            for impl, _ in tier
        }
        tiers = [[i for i, _ in tier if i.plugin in filters] for tier in self.voters[point]]
        return points[point].rule.compile(point, tiers, on_error)

    def has(self, point: str) -> bool:
        """Whether any enabled plugin implements the point."""
        return any(self.voters[deprecated.current(point)])
