"""Damages plain data at random places, reproducibly: the same seed makes the same damage."""

from __future__ import annotations

import copy
import random
from typing import Any

ODD: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2**31, -(2**31), 2**53, 2**63, 2**70, 1.5, -0.1, 1e300,
    "", "a", "-1", "0", "1e40", "1Ei", "0.5", "x" * 300, "\u0000", "ns/g", "n0", "q", "{}", "[]",
    [], {}, [[]], [{}], [None], {"a": None}, {"": ""}, ["a"], {"name": "n9"},
    "In", "NotIn", "Exists", "Gt", "zone", "Always", "Running", "2026-13-01T00:00:00Z", "((", "*",
)  # fmt: skip


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path of everything in the data but the data itself."""
    found: list[tuple[Any, ...]] = []
    items = value.items() if isinstance(value, dict) else ()
    items = enumerate(value) if isinstance(value, list) else items
    for key, part in items:
        found.append((*path, key))
        found += places(part, (*path, key))
    return found


class Mutator:
    """Makes damaged copies of data whose places are known."""

    def __init__(self, data: Any, seed: int) -> None:
        self._data = data
        self._places = places(data)
        self._dice = random.Random(seed)

    def damaged(self, count: int = 1) -> Any:
        """A copy with ``count`` places damaged."""
        result = self._data
        for path in self._dice.choices(self._places, k=count):
            result = self._damage(result, path, 0)
        return result

    def _damage(self, value: Any, path: tuple[Any, ...], depth: int) -> Any:
        """The value with the place damaged; only what is on the way to it is copied."""
        key = path[depth]
        known = isinstance(value, dict) and key in value
        known = known or (isinstance(value, list) and isinstance(key, int) and key < len(value))
        if not known:
            return value
        value = copy.copy(value)
        if depth + 1 < len(path):
            value[key] = self._damage(value[key], path, depth + 1)
        else:
            self._change(value, key)
        return value

    def _change(self, holder: Any, key: Any) -> None:
        dice = self._dice
        match dice.choice(("set", "set", "set", "drop", "wrap", "twice", "rename", "swap", "add")):
            case "set":
                holder[key] = copy.deepcopy(dice.choice(ODD))
            case "drop":
                del holder[key]
            case "wrap":
                holder[key] = dice.choice(([holder[key]], {"x": holder[key]}))
            case "twice" if isinstance(holder, list):
                holder.append(holder[key])
            case "rename" if isinstance(holder, dict):
                holder[dice.choice(("x", "name", "spec", "", "kind"))] = holder.pop(key)
            case "swap":
                keys = list(holder) if isinstance(holder, dict) else range(len(holder))
                other = dice.choice(keys)
                holder[key], holder[other] = holder[other], holder[key]
            case "add" if isinstance(holder, dict):
                holder["someFutureField"] = copy.deepcopy(dice.choice(ODD))
            case _:
                holder[key] = copy.deepcopy(dice.choice(ODD))
