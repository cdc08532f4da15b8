"""The cluster of a scenario as its manifests describe it, and its clock."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from msgspec import Raw

from pumice.backends.memory import latest
from pumice.errors import ScenarioError
from pumice.manifests import read_objects, read_paths
from pumice.model.facts import Inventory
from pumice.scenarios.scenario import Extra, Scenario

Items = Iterator[tuple[str, Any]]
_DAY = 86400.0
_LATER = datetime(2026, 1, 1, 12, tzinfo=UTC).timestamp()


def read(scenario: Scenario, file: Path, *, default_queue: str) -> Inventory:
    """The facts of the scenario's manifests."""
    return read_objects(_items(scenario, file), default_queue=default_queue)


def with_objects(inventory: Inventory, objects: list[Raw], *, default_queue: str) -> Inventory:
    """The facts after objects have been added."""
    own = replace(
        inventory,
        pods=dict(inventory.pods),
        nodes=dict(inventory.nodes),
        groups=dict(inventory.groups),
        queues={name: replace(queue, children=[]) for name, queue in inventory.queues.items()},
        priority_classes=dict(inventory.priority_classes),
        budgets=dict(inventory.budgets),
        hypernodes=dict(inventory.hypernodes),
        quotas=dict(inventory.quotas),
        others={kind: dict(objects) for kind, objects in inventory.others.items()},
    )
    items = ((f"add_before_cycle[{i}]", item) for i, item in enumerate(objects))
    return read_objects(items, default_queue=default_queue, into=own)


def clock(inventory: Inventory, extra: Extra, added: Inventory | None = None) -> float:
    """The scenario's time: as given, else so late that everything in it happened long ago."""
    if isinstance(extra.now, float):
        return extra.now
    if extra.now is not None:
        try:
            given = datetime.fromisoformat(extra.now)
        except ValueError:
            raise ScenarioError(
                f"extra.now: {extra.now!r} is no time", hint="like 2025-01-01T02:00:00Z"
            ) from None
        return (given if given.tzinfo else given.replace(tzinfo=UTC)).timestamp()
    return max(_LATER, latest(inventory) + _DAY, latest(added) + _DAY if added else 0.0)


def _items(scenario: Scenario, file: Path) -> Items:
    if scenario.objects is not None:
        yield from ((f"objects[{i}]", item) for i, item in enumerate(scenario.objects))
        return
    paths = [scenario.cluster] if isinstance(scenario.cluster, str) else scenario.cluster or []
    yield from read_paths([file.parent / path for path in paths])
