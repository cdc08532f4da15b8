"""Shrinks a cluster while a violation stays."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

from tests.evictions.generator import Items
from tests.evictions.objects import group_of

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
        for smaller in _smaller(best):
            if _violates(violates, smaller):
                best, shrunk = smaller, True
                break
    return best


def _violates(violates: Callable[[Items], bool], items: Items) -> bool:
    try:
        return violates(items)
    except (KeyError, ValueError):  # What is left is no cluster.
        return False


def _smaller(items: Items) -> Iterator[Items]:
    for item in items:
        if item["kind"] == "PodGroup":
            pods = [pod for pod in items if pod["kind"] == "Pod" and _belongs(pod, item)]
            yield _without(items, [item, *pods])
    for item in items:
        if item["kind"] == "Node":
            gone = [pod for pod in items if pod.get("spec", {}).get("nodeName") == _name(item)]
            yield _without(items, [item, *gone])
    for item in items:
        if item["kind"] != "PodGroup":
            yield _without(items, [item])
    for number, item in enumerate(items):
        for path in _OPTIONAL:
            simpler = _without_field(item, path)
            if simpler is not None:
                yield [*items[:number], simpler, *items[number + 1 :]]


def _belongs(pod: Any, group: Any) -> bool:
    return bool(
        group_of(pod) == _name(group)
        and pod["metadata"]["namespace"] == group["metadata"]["namespace"]
    )


def _name(item: Any) -> Any:
    return item["metadata"]["name"]


def _without(items: Items, gone: Items) -> Items:
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
