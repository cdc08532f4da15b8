"""The cluster of a scenario: its manifests and the facts that no manifest carries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
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


def build(scenario: Scenario, extra: Extra, file: Path, *, default_queue: str) -> Inventory:
    """The facts that the first cycle starts from."""
    inventory = read_objects(_items(scenario, file), default_queue=default_queue)
    inventory.extra.update(scenario.all_facts())
    _attach(inventory, extra)
    return inventory


def grown(
    inventory: Inventory, objects: list[Raw], extra: Extra, *, default_queue: str
) -> Inventory:
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
        extra=dict(inventory.extra),
    )
    items = ((f"add_before_cycle[{i}]", item) for i, item in enumerate(objects))
    added = read_objects(items, default_queue=default_queue, into=own)
    _attach(added, extra, known=inventory)
    return added


def clock(inventory: Inventory, extra: Extra, added: Inventory | None = None) -> float:
    """The scenario's time: as told, else so late that everything in it happened long ago."""
    if isinstance(extra.now, float):
        return extra.now
    if extra.now is not None:
        try:
            told = datetime.fromisoformat(extra.now)
        except ValueError:
            raise ScenarioError(
                f"extra.now: {extra.now!r} is no time", hint="like 2025-01-01T02:00:00Z"
            ) from None
        return (told if told.tzinfo else told.replace(tzinfo=UTC)).timestamp()
    return max(_LATER, latest(inventory) + _DAY, latest(added) + _DAY if added else 0.0)


def _items(scenario: Scenario, file: Path) -> Items:
    if scenario.objects is not None:
        yield from ((f"objects[{i}]", item) for i, item in enumerate(scenario.objects))
        return
    paths = [scenario.cluster] if isinstance(scenario.cluster, str) else scenario.cluster or []
    yield from read_paths([file.parent / path for path in paths])


def _attach(inventory: Inventory, extra: Extra, known: Inventory | None = None) -> None:
    """Give every object of its own what is told about it."""
    by_key = {pod.key: pod for uid, pod in inventory.pods.items() if _fresh(known, "pods", uid)}
    for key, told in extra.tasks.items():
        pod = by_key.get(key)
        if pod is not None:
            pod.extra = {**pod.extra, **told}
            pod.node_name = told.get("node", pod.node_name)
    tables: list[tuple[str, Mapping[str, dict[str, Any]]]] = [
        ("groups", extra.jobs), ("queues", extra.queues), ("nodes", extra.nodes)
    ]  # fmt: skip
    for table, facts in tables:
        objects = getattr(inventory, table)
        for name, told in facts.items():
            if name in objects and _fresh(known, table, name):
                objects[name].extra = {**objects[name].extra, **told}


def _fresh(known: Inventory | None, table: str, key: str) -> bool:
    return known is None or key not in getattr(known, table)
