"""Runs a policy, named or made of classes, on a test's cluster."""

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
"""A plugin or action: its name, its class (known by its name in small letters), or a table."""


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

        The policy is a TOML file, a table of its shape, or made of ``tiers`` and ``actions``
        (enqueue, allocate, backfill). ``plugins`` makes classes known by name without an entry
        point; without tiers they are the only tier. ``options`` are the plugins' by name.
        Between cycles bound pods start to run and evicted ones are gone.
        """
        catalog = Catalog()
        for name, cls in (plugins or {}).items():
            catalog.register_local("plugin", name, cls)
        if policy is not None and (tiers is not None or actions is not None or options):
            raise TypeError("give either a policy or its tiers, actions and options")
        if isinstance(policy, Policy):
            chosen = policy
        elif isinstance(policy, Mapping):
            chosen = policy_from_dict(policy, where="the test's policy", catalog=catalog)
        elif policy is not None:
            chosen = load_policy(policy, env={}, catalog=catalog)
        else:
            made = {
                "actions": [_seat("action", part, catalog) for part in actions or ACTIONS],
                "tiers": [
                    {"plugins": [_seat("plugin", part, catalog) for part in tier]}
                    for tier in (tiers if tiers is not None else [list(plugins or {})])
                ],
                "plugin": {name: dict(values) for name, values in (options or {}).items()},
            }
            chosen = policy_from_dict(made, where="the test's policy", catalog=catalog)
        return _run(cluster or self.cluster, fatal(chosen), cycles)


def _seat(kind: Any, part: Part, catalog: Catalog) -> Any:
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
