"""Runs a policy, given by name or as classes, on a test's cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

from pumice.action import Action
from pumice.backends.memory import MemoryBackend
from pumice.config import Policy, load_policy, policy_from_dict
from pumice.discovery import Catalog
from pumice.ledger import Ledger
from pumice.plugin import Plugin
from pumice.scenarios.runner import fatal
from pumice.scheduler import Scheduler
from pumice.testing.cluster import Cluster
from pumice.testing.outcome import Outcome

ACTIONS = ("enqueue", "allocate", "backfill")
Part = str | type[Plugin] | type[Action] | Mapping[str, Any]
"""A plugin or action: its name, its class (registered by its lower-case name), or a table."""


class Schedule:
    """Call it to run a policy on the cluster: ``schedule(tiers=[["gang", Mine]])``."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        """The cluster that policies run on."""

    def __call__(
        self,
        policy: str | PathLike[str] | Mapping[str, Any] | Policy | None = None,
        *,
        tiers: Sequence[Sequence[Part]] | None = None,
        actions: Sequence[Part] | None = None,
        plugins: Mapping[str, type[Plugin]] | None = None,
        options: Mapping[str, Mapping[str, Any]] | None = None,
        cycles: int = 1,
        cluster: Cluster | None = None,
    ) -> Outcome:
        """Run some cycles; a plugin that raises fails the test.

        The policy is a TOML file, a dict of the same structure, or given by ``tiers`` and
        ``actions`` (default: enqueue, allocate, backfill). ``plugins`` registers classes by name
        without an entry point; without ``tiers`` they form the only tier. ``options`` has the
        options of plugins by name. Between cycles bound pods start and evicted pods disappear.
        """
        catalog = Catalog()
        for name, cls in (plugins or {}).items():
            catalog.register_local("plugin", name, cls)
        if policy is not None and (tiers is not None or actions is not None or options):
            raise TypeError("give either a policy or its tiers, actions and options")
        if isinstance(policy, Policy):
            loaded = policy
        elif isinstance(policy, Mapping):
            loaded = policy_from_dict(policy, where="the test's policy", catalog=catalog)
        elif policy is not None:
            loaded = load_policy(policy, env={}, catalog=catalog)
        else:
            table = {
                "actions": [_register("action", part, catalog) for part in actions or ACTIONS],
                "tiers": [
                    {"plugins": [_register("plugin", part, catalog) for part in tier]}
                    for tier in (tiers if tiers is not None else [list(plugins or {})])
                ],
                "plugin": {name: dict(values) for name, values in (options or {}).items()},
            }
            loaded = policy_from_dict(table, where="the test's policy", catalog=catalog)
        return _run(cluster or self.cluster, fatal(loaded), cycles)


def _register(kind: Any, part: Part, catalog: Catalog) -> Any:
    if not isinstance(part, type):
        return part
    name = part.__name__.lower()
    catalog.register_local(kind, name, part)
    return name


def _run(cluster: Cluster, policy: Policy, cycles: int) -> Outcome:
    ledger = Ledger()
    backend = MemoryBackend(cluster.inventory, now=cluster.now)
    scheduler = Scheduler(backend, policy, ledger=ledger, verify=True)
    history = []
    for number in range(cycles):
        if number:
            backend.advance()
        history.append(scheduler.run_once())
    scheduler.close()
    return Outcome(cluster, history, ledger)
