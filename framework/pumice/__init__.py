"""Pumice: a batch and GPU cluster scheduler whose policy is made of pip-installable parts.

What an author of plugins, actions and backends imports is here; docs/api.md lists it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from pumice.deprecated import finder as _old_names

if TYPE_CHECKING:
    from pumice import combine
    from pumice.action import Action
    from pumice.backends import Backend, LiveBackend
    from pumice.backends.memory import MemoryBackend
    from pumice.backends.state import ClusterState, load_state, save_state
    from pumice.combine import ABSTAIN, PERMIT, REJECT, SKIP
    from pumice.config import Duration, Policy, load_policy, policy_from_dict
    from pumice.config.duration import parse_duration
    from pumice.config.policy import ActionEntry, PluginEntry
    from pumice.decisions import Bind, Decisions, Eviction, JobState, PipelinedTask
    from pumice.errors import ActionError, PluginError, PumiceError, StatementError
    from pumice.faults import Fault
    from pumice.fit_errors import FitErrors
    from pumice.hookspecs import ExtensionPoint, extension_point
    from pumice.ledger import Ledger
    from pumice.model.cluster import Cluster
    from pumice.model.cursors import FEW_ROWS, JobCursor, RowCursor
    from pumice.model.dimensions import Dimensions
    from pumice.model.facts import (
        Container,
        DisruptionBudget,
        EvictionLog,
        HyperNode,
        Inventory,
        NetworkTopology,
        Node,
        PastEviction,
        Pod,
        PodGroup,
        PriorityClass,
        Queue,
        Raw,
        Reservation,
        ReservedTask,
        ResourceQuota,
    )
    from pumice.model.fitting import RequestFit
    from pumice.model.incremental.snapshot_cache import SnapshotCache
    from pumice.model.job import Job, Members, SubJob, is_hard
    from pumice.model.nodes import NodeHandle, NodeTable, NodeTask, NodeView
    from pumice.model.queues import common_depth, queue_path
    from pumice.model.resources import MIN_RESOURCE, Missing, Resource
    from pumice.model.sums import group_sums
    from pumice.model.task import (
        ACTIVE_STATUSES,
        ALLOCATED_STATUSES,
        PLACED_STATUSES,
        PREEMPTABLE_STATUSES,
        USED_STATUSES,
        Task,
        TaskStatus,
    )
    from pumice.model.topology import ROOT, HyperNodeTree
    from pumice.plugin import API_VERSION, OptionsModel, Plugin, Scope, hookimpl
    from pumice.scheduler import Scheduler
    from pumice.session.dispatch import Dispatch
    from pumice.session.evictions import EvictionGuard
    from pumice.session.heap import LiveHeap
    from pumice.session.nodes.best_rows import best_rows_first
    from pumice.session.nodes.queries import Choice, NodeQueries
    from pumice.session.operations import Operation
    from pumice.session.order import JobHeap, Order
    from pumice.session.session import Session
    from pumice.session.shard import Shard
    from pumice.session.single_tasks import SingleTasks
    from pumice.session.statement import Statement
    from pumice.shortcuts import Shortcut
    from pumice.solver.plan import LostVictims, Plan
    from pumice.solver.search import Solver
    from pumice.status import fit_error_text
    from pumice.telemetry import CycleTelemetry, QueueUsage, TelemetryBackend
    from pumice.verdicts import (
        BindContext,
        Code,
        EvictionContext,
        EvictionKind,
        FitError,
        NodeVerdicts,
        Refusal,
        Status,
        VoteDetails,
    )

__version__ = "0.2.0"

_HOME = {
    "ABSTAIN": "pumice.combine",
    "ACTIVE_STATUSES": "pumice.model.task",
    "ALLOCATED_STATUSES": "pumice.model.task",
    "API_VERSION": "pumice.plugin",
    "Action": "pumice.action",
    "ActionEntry": "pumice.config.policy",
    "ActionError": "pumice.errors",
    "Backend": "pumice.backends",
    "Bind": "pumice.decisions",
    "BindContext": "pumice.verdicts",
    "Choice": "pumice.session.nodes.queries",
    "Cluster": "pumice.model.cluster",
    "ClusterState": "pumice.backends.state",
    "Code": "pumice.verdicts",
    "Container": "pumice.model.facts",
    "CycleTelemetry": "pumice.telemetry",
    "Decisions": "pumice.decisions",
    "Dimensions": "pumice.model.dimensions",
    "Dispatch": "pumice.session.dispatch",
    "DisruptionBudget": "pumice.model.facts",
    "Duration": "pumice.config",
    "Eviction": "pumice.decisions",
    "EvictionContext": "pumice.verdicts",
    "EvictionGuard": "pumice.session.evictions",
    "EvictionKind": "pumice.verdicts",
    "EvictionLog": "pumice.model.facts",
    "ExtensionPoint": "pumice.hookspecs",
    "FEW_ROWS": "pumice.model.cursors",
    "Fault": "pumice.faults",
    "FitError": "pumice.verdicts",
    "FitErrors": "pumice.fit_errors",
    "HyperNode": "pumice.model.facts",
    "HyperNodeTree": "pumice.model.topology",
    "Inventory": "pumice.model.facts",
    "Job": "pumice.model.job",
    "JobCursor": "pumice.model.cursors",
    "JobHeap": "pumice.session.order",
    "JobState": "pumice.decisions",
    "Ledger": "pumice.ledger",
    "LiveBackend": "pumice.backends",
    "LiveHeap": "pumice.session.heap",
    "LostVictims": "pumice.solver.plan",
    "MIN_RESOURCE": "pumice.model.resources",
    "Members": "pumice.model.job",
    "MemoryBackend": "pumice.backends.memory",
    "Missing": "pumice.model.resources",
    "NetworkTopology": "pumice.model.facts",
    "Node": "pumice.model.facts",
    "NodeHandle": "pumice.model.nodes",
    "NodeQueries": "pumice.session.nodes.queries",
    "NodeTable": "pumice.model.nodes",
    "NodeTask": "pumice.model.nodes",
    "NodeVerdicts": "pumice.verdicts",
    "NodeView": "pumice.model.nodes",
    "Operation": "pumice.session.operations",
    "OptionsModel": "pumice.plugin",
    "Order": "pumice.session.order",
    "PERMIT": "pumice.combine",
    "PLACED_STATUSES": "pumice.model.task",
    "PREEMPTABLE_STATUSES": "pumice.model.task",
    "PastEviction": "pumice.model.facts",
    "PipelinedTask": "pumice.decisions",
    "Plan": "pumice.solver.plan",
    "Plugin": "pumice.plugin",
    "PluginEntry": "pumice.config.policy",
    "PluginError": "pumice.errors",
    "Pod": "pumice.model.facts",
    "PodGroup": "pumice.model.facts",
    "Policy": "pumice.config",
    "PriorityClass": "pumice.model.facts",
    "PumiceError": "pumice.errors",
    "Queue": "pumice.model.facts",
    "QueueUsage": "pumice.telemetry",
    "REJECT": "pumice.combine",
    "ROOT": "pumice.model.topology",
    "Raw": "pumice.model.facts",
    "Refusal": "pumice.verdicts",
    "RequestFit": "pumice.model.fitting",
    "Reservation": "pumice.model.facts",
    "ReservedTask": "pumice.model.facts",
    "Resource": "pumice.model.resources",
    "ResourceQuota": "pumice.model.facts",
    "RowCursor": "pumice.model.cursors",
    "SKIP": "pumice.combine",
    "Scheduler": "pumice.scheduler",
    "Scope": "pumice.plugin",
    "Session": "pumice.session.session",
    "Shard": "pumice.session.shard",
    "Shortcut": "pumice.shortcuts",
    "SingleTasks": "pumice.session.single_tasks",
    "SnapshotCache": "pumice.model.incremental.snapshot_cache",
    "Solver": "pumice.solver.search",
    "Statement": "pumice.session.statement",
    "StatementError": "pumice.errors",
    "Status": "pumice.verdicts",
    "SubJob": "pumice.model.job",
    "Task": "pumice.model.task",
    "TaskStatus": "pumice.model.task",
    "TelemetryBackend": "pumice.telemetry",
    "USED_STATUSES": "pumice.model.task",
    "VoteDetails": "pumice.verdicts",
    "best_rows_first": "pumice.session.nodes.best_rows",
    "common_depth": "pumice.model.queues",
    "extension_point": "pumice.hookspecs",
    "fit_error_text": "pumice.status",
    "group_sums": "pumice.model.sums",
    "hookimpl": "pumice.plugin",
    "is_hard": "pumice.model.job",
    "load_policy": "pumice.config",
    "load_state": "pumice.backends.state",
    "parse_duration": "pumice.config.duration",
    "policy_from_dict": "pumice.config",
    "queue_path": "pumice.model.queues",
    "save_state": "pumice.backends.state",
}

__all__ = [
    "ABSTAIN",
    "ACTIVE_STATUSES",
    "ALLOCATED_STATUSES",
    "API_VERSION",
    "FEW_ROWS",
    "MIN_RESOURCE",
    "PERMIT",
    "PLACED_STATUSES",
    "PREEMPTABLE_STATUSES",
    "REJECT",
    "ROOT",
    "SKIP",
    "USED_STATUSES",
    "Action",
    "ActionEntry",
    "ActionError",
    "Backend",
    "Bind",
    "BindContext",
    "Choice",
    "Cluster",
    "ClusterState",
    "Code",
    "Container",
    "CycleTelemetry",
    "Decisions",
    "Dimensions",
    "Dispatch",
    "DisruptionBudget",
    "Duration",
    "Eviction",
    "EvictionContext",
    "EvictionGuard",
    "EvictionKind",
    "EvictionLog",
    "ExtensionPoint",
    "Fault",
    "FitError",
    "FitErrors",
    "HyperNode",
    "HyperNodeTree",
    "Inventory",
    "Job",
    "JobCursor",
    "JobHeap",
    "JobState",
    "Ledger",
    "LiveBackend",
    "LiveHeap",
    "LostVictims",
    "Members",
    "MemoryBackend",
    "Missing",
    "NetworkTopology",
    "Node",
    "NodeHandle",
    "NodeQueries",
    "NodeTable",
    "NodeTask",
    "NodeVerdicts",
    "NodeView",
    "Operation",
    "OptionsModel",
    "Order",
    "PastEviction",
    "PipelinedTask",
    "Plan",
    "Plugin",
    "PluginEntry",
    "PluginError",
    "Pod",
    "PodGroup",
    "Policy",
    "PriorityClass",
    "PumiceError",
    "Queue",
    "QueueUsage",
    "Raw",
    "Refusal",
    "RequestFit",
    "Reservation",
    "ReservedTask",
    "Resource",
    "ResourceQuota",
    "RowCursor",
    "Scheduler",
    "Scope",
    "Session",
    "Shard",
    "Shortcut",
    "SingleTasks",
    "SnapshotCache",
    "Solver",
    "Statement",
    "StatementError",
    "Status",
    "SubJob",
    "Task",
    "TaskStatus",
    "TelemetryBackend",
    "VoteDetails",
    "__version__",
    "best_rows_first",
    "combine",
    "common_depth",
    "extension_point",
    "fit_error_text",
    "group_sums",
    "hookimpl",
    "is_hard",
    "load_policy",
    "load_state",
    "parse_duration",
    "policy_from_dict",
    "queue_path",
    "save_state",
]


def __getattr__(name: str) -> Any:
    # Lazy because pytest imports the package in every suite of an environment that has it.
    if name == "combine":
        return import_module("pumice.combine")
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(home), name)
    return value


_old_names.install()
