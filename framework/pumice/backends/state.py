"""The state of the embedded cluster in a file, so that a later run goes on where one ended.

The file is JSON: a version, the number of the last cycle, the clock, and every object with those of
its fields that differ from their defaults. Plugins' memories are not part of it, as they do not
survive the restart of a scheduler.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from functools import cache
from operator import attrgetter
from pathlib import Path
from typing import Any

import msgspec

from pumice._replace import check_target, replace_file
from pumice.errors import PumiceError
from pumice.model.facts import Container, Inventory
from pumice.model.resources import Resource

VERSION = 1
"""The version of the format."""
_KEY = "pumice_state"
_START_AGAIN = "name another file, or move this one away to start again from FILES"
_FACTS = (
    "pods",
    "nodes",
    "groups",
    "queues",
    "priority_classes",
    "budgets",
    "hypernodes",
    "quotas",
)
"""The tables of the inventory whose values are facts."""


class StateError(PumiceError):
    """A state file that cannot be used. It is never overwritten."""


@dataclass(slots=True)
class ClusterState:
    """What the embedded cluster is between two cycles."""

    inventory: Inventory
    """The facts, with the last decisions carried out."""
    clock: float
    """Epoch seconds by the cluster's clock."""
    cycle: int = 0
    """How many cycles have been run."""
    terminating: dict[str, int] = field(default_factory=dict)
    """By uid of an evicted pod: for how many more cycles it holds its resources."""


def save_state(path: Path, state: ClusterState) -> None:
    """Replace the file in one step: it holds the old state or the new one, whatever happens.

    :raises PumiceError: it cannot be written.
    """
    replace_file(path, encoded(state))


def load_state(path: Path) -> ClusterState | None:
    """The state in the file; None if there is no such file yet.

    :raises StateError: it is no state file, or a damaged one.
    :raises PumiceError: the path is no regular file, or cannot be read.
    """
    check_target(path)
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise PumiceError(f"{path}: cannot be read: {error.strerror or error}") from None
    return decoded(data, str(path))


def encoded(state: ClusterState) -> bytes:
    """The state as the text of a file."""
    inventory = {
        name: {key: _fact(fact) for key, fact in table.items()}
        if name in _FACTS
        else _finite(table)
        for name, table in _changed(state.inventory).items()
    }
    text = msgspec.json.encode(
        {
            _KEY: VERSION,
            "cycle": state.cycle,
            "clock": state.clock,
            "terminating": state.terminating,
            "inventory": inventory,
        },
        enc_hook=_plain,
    )
    return msgspec.json.format(text, indent=1) + b"\n"


def decoded(data: bytes, where: str) -> ClusterState:
    """The state in the text of a file.

    :raises StateError: it is no state, or a damaged one.
    """
    try:
        content = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise StateError(f"{where}: not a state file: {error}", hint=_START_AGAIN) from None
    if not isinstance(content, dict) or _KEY not in content:
        raise StateError(
            f"{where}: not a state file: it has no {_KEY!r} at its top", hint=_START_AGAIN
        )
    version = content.pop(_KEY)
    if version != VERSION:
        raise StateError(
            f"{where}: {_KEY}: version {version!r} of the format cannot be read, "
            f"this Pumice reads {VERSION}",
            hint=f"use the Pumice that wrote it, or {_START_AGAIN}",
        )
    try:
        state = msgspec.convert(_with_infinity(content), ClusterState, dec_hook=_resource)
    except (msgspec.ValidationError, RecursionError) as error:
        raise StateError(f"{where}: damaged: {error}", hint=_START_AGAIN) from None
    _check(state, where)
    return state


def _check(state: ClusterState, where: str) -> None:
    """Refuse numbers and names with which a cycle could not be run."""
    if not math.isfinite(state.clock) or state.cycle < 0:
        raise StateError(f"{where}: damaged: clock or cycle is no time", hint=_START_AGAIN)
    for table in ("pods", "groups"):
        for key, fact in getattr(state.inventory, table).items():
            if fact.uid != key:
                raise StateError(
                    f"{where}: damaged: inventory.{table} has {fact.uid!r} under {key!r}",
                    hint=_START_AGAIN,
                )
    for uid in state.terminating:
        if uid not in state.inventory.pods:
            raise StateError(
                f"{where}: damaged: terminating has {uid!r}, which is no pod", hint=_START_AGAIN
            )


# -- writing


@cache
def _defaults(cls: type[Any]) -> tuple[attrgetter[Any], tuple[tuple[str, Any], ...]]:
    """Reads all fields of a fact; the names of the fields and their defaults."""
    known = []
    for item in fields(cls):
        default = item.default
        if item.default_factory is not MISSING:
            default = item.default_factory()
        known.append((item.name, default))
    return attrgetter(*(name for name, _ in known)), tuple(known)


def _changed(fact: Any) -> dict[str, Any]:
    """The fields that differ from their defaults; 0 and False, 1 and 1.0 differ, too."""
    read, known = _defaults(type(fact))  # type: ignore[arg-type] # a class is hashable
    return {
        name: value
        for (name, default), value in zip(known, read(fact), strict=True)
        if value is not default and (value != default or type(value) is not type(default))
    }


def _fact(fact: Any) -> dict[str, Any]:
    return {
        name: _containers(value) if name.endswith("containers") else value
        for name, value in _changed(fact).items()
    }


def _containers(containers: Any) -> list[dict[str, Any]]:
    return [_changed(item) if isinstance(item, Container) else item for item in containers]


def _plain(value: Any) -> Any:
    """What the encoder does not know: amounts, and mappings that are no dict."""
    if isinstance(value, Resource):
        return {name: _finite(number) for name, number in value.items()}
    if isinstance(value, Mapping):
        return dict(value)
    raise NotImplementedError(f"a {type(value).__name__} cannot be stored")


_INFINITY = "$float"
"""The key of an object that stands for a number which JSON does not have."""
_NOT_FINITE = ("inf", "-inf", "nan")


def _finite(value: Any) -> Any:
    """The value with objects in the place of infinite numbers."""
    if isinstance(value, float):
        return value if math.isfinite(value) else {_INFINITY: repr(value)}
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    if hasattr(type(value), "__dataclass_fields__"):
        return {name: _finite(item) for name, item in _changed(value).items()}
    return value


# -- reading


def _with_infinity(value: Any) -> Any:
    if isinstance(value, dict):
        if len(value) == 1 and value.get(_INFINITY) in _NOT_FINITE:
            return float(value[_INFINITY])
        return {key: _with_infinity(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_with_infinity(item) for item in value]
    return value


def _resource(kind: type, value: Any) -> Any:
    if kind is not Resource:
        raise NotImplementedError(kind)
    try:
        amounts = msgspec.convert(value, dict[str, float | int])
    except msgspec.ValidationError:
        raise ValueError("Expected amounts of resources, all of them numbers") from None
    return Resource(amounts.pop("cpu", 0), amounts.pop("memory", 0), amounts)
