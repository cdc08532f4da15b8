"""Shrinks a cluster while a violation stays."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

from tests.evictions.generator import Items
from tests.evictions.objects import Object, group_of, of_kind

_OPTIONAL = (
    ("spec", "affinity"),
    ("spec", "nodeSelector"),
    ("spec", "tolerations"),
    ("spec", "taints"),
    ("spec", "unschedulable"),
    ("spec", "deserved"),
    ("spec", "capability"),
    ("spec", "guarantee"),
    ("spec", "parent"),
    ("spec", "priority"),
    ("spec", "reclaimable"),
    ("spec", "preemptMinRuntime"),
    ("spec", "reclaimMinRuntime"),
    ("metadata", "labels", "disk"),
    ("spec", "containers", 0, "ports"),
)


def reduce(items: Items, violates: Callable[[Items], bool]) -> Items:
    """The smallest cluster, by dropping one thing at a time, that still violates."""
    best, shrunk = items, True
    while shrunk:
        shrunk = False
        for step in (_without_gangs, _without_nodes, _without_objects, _without_fields):
            number = 0
            while number < len(candidates := step(best)):
                if _violates(violates, candidates[number]):
                    best, shrunk = candidates[number], True
                else:
                    number += 1
    return best


def _violates(violates: Callable[[Items], bool], items: Items) -> bool:
    try:
        return violates(items)
    except (KeyError, ValueError):  # What is left is no cluster.
        return False


def _without_gangs(items: Items) -> list[Items]:
    return [
        _without(items, [group, *(pod for pod in of_kind(items, "Pod") if _belongs(pod, group))])
        for group in of_kind(items, "PodGroup")
    ]


def _without_nodes(items: Items) -> list[Items]:
    return [
        _without(
            items,
            [node, *(p for p in of_kind(items, "Pod") if p["spec"].get("nodeName") == _name(node))],
        )
        for node in of_kind(items, "Node")
    ]


def _without_objects(items: Items) -> list[Items]:
    return [_without(items, [item]) for item in items if item["kind"] != "PodGroup"]


def _without_fields(items: Items) -> list[Items]:
    return [
        [*items[:number], simpler, *items[number + 1 :]]
        for number, item in enumerate(items)
        for path in _OPTIONAL
        if (simpler := _without_field(item, path)) is not None
    ]


def _belongs(pod: Any, group: Any) -> bool:
    return bool(
        group_of(pod) == _name(group)
        and pod["metadata"]["namespace"] == group["metadata"]["namespace"]
    )


def _name(item: Any) -> Any:
    return item["metadata"]["name"]


def _without(items: Items, gone: Sequence[Object]) -> Items:
    ids = {id(item) for item in gone}
    return [item for item in items if id(item) not in ids]


def _without_field(item: dict[str, Any], path: tuple[str | int, ...]) -> dict[str, Any] | None:
    at: Any = item
    for key in path[:-1]:
        try:
            at = at[key]
        except (KeyError, IndexError):
            return None
    if path[-1] not in at:
        return None
    simpler = copy.deepcopy(item)
    at = simpler
    for key in path[:-1]:
        at = at[key]
    del at[path[-1]]
    return simpler
