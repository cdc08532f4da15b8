"""Equal parts of many objects, decoded once and shared: facts are never changed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

import msgspec
from msgspec import Raw

from pumice.manifests.wire import ANY_OBJECT, MalformedError, decode
from pumice.model.resources import Resource

T = TypeVar("T")

EMPTY: dict[str, Any] = {}

# Forgetting everything now and then bounds the memory that parts without a twin cost.
_MOST = 8192


class Pool:
    """The parts that one reading has seen so far, by what they are and their text."""

    __slots__ = ("_parts", "_resources", "nothing")

    def __init__(self) -> None:
        self._parts: defaultdict[str, dict[Hashable, Any]] = defaultdict(dict)
        self._resources: dict[tuple[Any, ...], Resource] = {}
        self.nothing = self.shared(Resource())
        """The resource of requests that are empty."""

    def part(self, what: str, raw: Raw | bytes, build: Callable[[bytes], T], absent: T) -> T:
        """What ``build`` makes of a part's text; ``absent`` when it is missing or null."""
        text = bytes(raw)
        if not text or text == b"null":
            return absent
        parts = self._parts[what]
        found: T | None = parts.get(text)
        if found is None:
            found = self._keep(parts, text, build(text))
        return found

    def made(self, what: str, key: Hashable, build: Callable[[], T]) -> T:
        """What ``build`` makes, once for every key."""
        parts = self._parts[what]
        found: T | None = parts.get(key)
        return self._keep(parts, key, build()) if found is None else found

    def _keep(self, parts: dict[Hashable, Any], key: Hashable, made: T) -> T:
        if len(parts) >= _MOST:
            parts.clear()
        parts[key] = made
        return made

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
    """An object as JSON, whatever it was read from."""
    if isinstance(item, Raw):
        return item
    try:
        return Raw(msgspec.json.encode(item))
    except (TypeError, ValueError, OverflowError) as error:
        raise MalformedError(f"holds what JSON cannot: {error}") from None
    except RecursionError:
        raise MalformedError("is nested too deeply") from None
