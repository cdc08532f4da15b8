"""Equal parts of many objects, decoded once and shared; facts are never modified."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

import msgspec
from msgspec import Raw, Struct

from pumice.manifests.wire import ANY_OBJECT, MalformedError, decode
from pumice.model.resources import Resource

T = TypeVar("T")
W = TypeVar("W", bound=Struct)

EMPTY: dict[str, Any] = {}

# Clearing a table that is full bounds the memory that unique parts take.
_MAX_PARTS = 8192


class Pool:
    """The parts that have been decoded so far, by kind and JSON text."""

    __slots__ = ("_last", "_most", "_parts", "_resources", "nothing")

    def __init__(self, most: int = _MAX_PARTS) -> None:
        """``most``: how many parts of a kind are stored before all of them are dropped."""
        self._most = most
        self._parts: defaultdict[str, dict[Hashable, Any]] = defaultdict(dict)
        self._last: dict[str, tuple[Struct, Any]] = {}
        self._resources: dict[tuple[Any, ...], Resource] = {}
        self.nothing = self.shared(Resource())
        """The resource of requests that are empty."""

    def part(self, kind: str, raw: Raw | bytes, build: Callable[[bytes], T], absent: T) -> T:
        """``build(text)``, once for each text; ``absent`` where the part is missing or null."""
        if not raw:
            return absent
        text = bytes(raw)
        parts = self._parts[kind]
        part: T | None = parts.get(text)
        if part is None:
            if text == b"null":
                return absent
            part = self._add(parts, text, build(text))
        return part

    def made(self, kind: str, key: Hashable, build: Callable[[], T]) -> T:
        """``build()``, once for each key."""
        parts = self._parts[kind]
        part: T | None = parts.get(key)
        return self._add(parts, key, build()) if part is None else part

    def repeated(self, kind: str, wire: W, build: Callable[[W, Pool], T]) -> T:
        """``build(wire, pool)``; not called where the last wire of this kind was equal.

        Pods of one controller follow each other in a dump, and most of what is read of them is
        equal: comparing the decoded parts is cheaper than looking up each of them.
        """
        last = self._last.get(kind)
        if last is not None and last[0] == wire:
            part: T = last[1]
            return part
        part = build(wire, self)
        self._last[kind] = (wire, part)
        return part

    def _add(self, parts: dict[Hashable, Any], key: Hashable, part: T) -> T:
        if len(parts) >= self._most:
            parts.clear()
        parts[key] = part
        return part

    def resources(self, at: str, raw: Raw | bytes) -> Resource:
        """A resource list."""

        def build(text: bytes) -> Resource:
            return self.resource_list(at, decode(ANY_OBJECT, at, text))

        return self.part("resource list", raw, build, self.nothing)

    def resource_list(self, at: str, mapping: dict[str, Any]) -> Resource:
        """A resource list as a :class:`pumice.Resource`; equal lists give one object."""
        try:
            return self.shared(Resource.from_list(mapping))
        except ValueError as error:
            raise MalformedError(f"{at}.{error}") from None

    def shared(self, resource: Resource) -> Resource:
        """The one object for all equal resources."""
        key = (resource.cpu, resource.memory, *sorted(resource.scalars.items()))
        return self._resources.setdefault(key, resource)


def encoded(item: Any) -> Raw:
    """An object as JSON text."""
    if isinstance(item, Raw):
        return item
    try:
        return Raw(msgspec.json.encode(item))
    except (TypeError, ValueError, OverflowError) as error:
        raise MalformedError(f"holds a value that JSON cannot express: {error}") from None
    except RecursionError:
        raise MalformedError("is nested too deeply") from None
