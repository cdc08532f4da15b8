"""Plans by hand, and clusters of several cycles, under chosen promises."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pumice.backends.memory import MemoryBackend
from pumice.config import EvictionSettings, Policy, policy_from_dict
from pumice.config.settings import AS_UPSTREAM
from pumice.decisions import Decisions
from pumice.plugin import Plugin
from pumice.scheduler import Scheduler
from pumice.session.session import Session
from pumice_builtin_plugins.gang import Gang
from pumice_builtin_plugins.predicates import Predicates
from tests.framework._build import World, policy, task

GREEDY = {
    "actions": ["allocate", "reclaim", "preempt"],
    "tiers": [
        {"plugins": ["priority", {"name": "gang", "disable": ["preemptable"]}, "conformance"]},
        {"plugins": ["predicates", "nodeorder"]},
    ],
    "scheduler": {"on_plugin_error": "raise"},
}
"""Volcano's actions, with no plugin that knows shares."""


def promises(*plugins: type[Plugin], **switches: Any) -> Policy:
    """A policy for plans by hand: gangs, filters, these plugins; only these promises."""
    settings = EvictionSettings.model_validate({**AS_UPSTREAM, **switches})
    return replace(policy([Gang, Predicates, *plugins]), evictions=settings)


def greedy(**switches: Any) -> Policy:
    """Volcano's evicting actions, with all promises but for these settings."""
    return policy_from_dict({**GREEDY, "evictions": switches})


def plan(
    session: Session,
    claimant: str,
    victims: list[str],
    places: Mapping[str, str],
    *,
    verified: bool = False,
) -> bool:
    """Evict tasks for a job, pipeline tasks to nodes and commit; whether that was carried out."""
    job = session.jobs[f"ns/{claimant}"]
    with session.statement() as statement:
        for name in victims:
            statement.evict(task(session, name), "by hand", claimant=job)
        for name, node in places.items():
            row = session.nodes.row_of[node]
            assert statement.pipeline(task(session, name), row, verified=verified) is None
        return statement.commit()


def evicted(session: Session) -> list[str]:
    return [eviction.uid for eviction in session.decisions.evictions]


def why(session: Session, job: str) -> str:
    return " ".join(refusal.message for refusal in session.jobs[f"ns/{job}"].refusals)


class Cycles:
    """A cluster that is scheduled again and again, ten seconds from cycle to cycle."""

    def __init__(self, world: World, policy: Policy, **backend: Any) -> None:
        self.backend = MemoryBackend(world.inventory, now=world.now, **backend)
        self.scheduler = Scheduler(self.backend, policy, verify=True)

    def run(self, count: int = 1, seconds: float = 10) -> list[Decisions]:
        """Run so many cycles; the decisions of each."""
        made = []
        for _ in range(count):
            made.append(self.scheduler.run_once())
            self.backend.advance()
            self.backend.step(seconds)
        return made

    def alter(self, **tables: Mapping[str, Any]) -> None:
        """Replace tables of the inventory between two cycles."""
        self.backend.replace(replace(self.backend.snapshot(), **tables))


def gone(decisions: Decisions) -> list[str]:
    return [eviction.uid for eviction in decisions.evictions]
