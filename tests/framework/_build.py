"""Policies made of plugin classes, and summaries of decisions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal

from pumice import Action, Plugin
from pumice.config import ActionEntry, PluginEntry, Policy, SchedulerSettings
from pumice.decisions import Decisions
from pumice.discovery import Source
from pumice.hookspecs import POINTS
from pumice.model.job import Job
from pumice.model.task import Task, TaskStatus
from pumice.session.session import Session
from pumice.testing.cluster import GI, GPU, NOW, Cluster, amount
from pumice_builtin_actions.allocate import Allocate
from pumice_builtin_actions.backfill import Backfill
from pumice_builtin_actions.enqueue import Enqueue

__all__ = [
    "GI",
    "GPU",
    "NOW",
    "SOURCE",
    "VOLCANO",
    "TierEntry",
    "World",
    "amount",
    "bound",
    "phases",
    "pipelined",
    "plugin_entry",
    "policy",
    "reasons",
    "session_with",
    "task",
]  # fmt: skip

World = Cluster
SOURCE = Source("pumice-tests", "1.0", "tests:Here")
VOLCANO = (Enqueue, Allocate, Backfill)
_OPTIONS = {Backfill: {"upstreamChecks": True}}
"""As the preset ``volcano`` sets them."""

TierEntry = type[Plugin] | PluginEntry


def plugin_entry(
    plugin: type[Plugin],
    name: str = "",
    *,
    enable: Iterable[str] | None = None,
    disable: Iterable[str] = (),
    source: Source = SOURCE,
    **options: Any,
) -> PluginEntry:
    """A plugin as a tier names it; by default under the name of its class."""
    return PluginEntry(
        name or plugin.__name__.lower(),
        plugin,
        plugin.Options.model_validate(options),
        source,
        tuple(point for point in POINTS if hasattr(plugin, point)),
        None if enable is None else frozenset(enable),
        frozenset(disable),
    )


def policy(
    *tiers: Sequence[TierEntry],
    actions: Sequence[type[Action]] = VOLCANO,
    on_plugin_error: Literal["raise", "isolate"] = "raise",
) -> Policy:
    """A policy of classes, without any discovery. A plugin's error is fatal unless isolated."""
    return Policy(
        actions=tuple(
            ActionEntry(
                action.__name__.lower(),
                action,
                action.Options.model_validate(_OPTIONS.get(action, {})),
                SOURCE,
            )
            for action in actions
        ),
        tiers=tuple(
            tuple(
                entry if isinstance(entry, PluginEntry) else plugin_entry(entry) for entry in tier
            )
            for tier in tiers
        ),
        scheduler=SchedulerSettings(on_plugin_error=on_plugin_error),
        warnings=(),
        origin="test",
        raw={},
    )


def task(session: Session, name: str) -> Task:
    return session.cluster.tasks[name]


def session_with(
    *statuses: TaskStatus, phase: str = "Inqueue", min_member: int = 1
) -> tuple[Session, Job]:
    """A session without plugins and its job ``ns/j``, whose tasks are in these statuses."""
    world = (
        World().node("a", cpu=99).job("j", tasks=len(statuses), min_member=min_member, phase=phase)
    )
    session = world.session(policy([]))
    job = session.jobs["ns/j"]
    for number, status in enumerate(statuses):
        one = task(session, f"j-t-{number}")
        job.set_status(one, status)
        if status is not TaskStatus.PENDING:
            one.node = "a"
    return session, job


def bound(decisions: Decisions) -> dict[str, str]:
    """Task name → node of its bind."""
    return {bind.uid: bind.node for bind in decisions.binds}


def pipelined(decisions: Decisions) -> dict[str, str]:
    return {one.uid: one.node for one in decisions.pipelined}


def reasons(decisions: Decisions) -> dict[str, str]:
    """Job name → why it waits."""
    return {state.job.removeprefix("ns/"): state.reason for state in decisions.jobs}


def phases(decisions: Decisions) -> dict[str, str]:
    return {state.job.removeprefix("ns/"): state.phase for state in decisions.jobs}
