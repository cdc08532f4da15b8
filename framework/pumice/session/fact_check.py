"""Finds plugins and actions that change facts, which they may only read; used with ``--check``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from pumice._culprit import place_defined
from pumice.combine import Impl
from pumice.errors import InvariantError
from pumice.model.facts import Queue
from pumice.model.job import Job
from pumice.model.task import Task

if TYPE_CHECKING:
    from pumice.model.facts import Inventory

_HINT = "facts are shared by all plugins and cycles: change a copy, or an attribute of the plugin"


class FactCheck:
    """The facts of a cycle as they were at its beginning."""

    def __init__(self, inventory: Inventory) -> None:
        self._inventory = inventory
        self._before = _texts(inventory)

    def compare(self, when: str) -> None:
        """Raise :class:`InvariantError` if a fact has changed, which is no fact any more."""
        for key, text in _texts(self._inventory).items():
            if self._before.get(key) != text:
                table, name = key
                raise InvariantError(f"{table}: {name} was changed while {when}", hint=_HINT)

    def watched(self, point: str, impl: Impl) -> Impl:
        """The same implementation; a fact that it is asked about must stay as it is."""
        fn, method = impl.fn, impl.method

        def call(*args: Any) -> Any:
            before = _facts_of(args)
            try:
                return fn(*args)
            finally:
                for (name, text), (_, now) in zip(before, _facts_of(args), strict=True):
                    if now != text:
                        raise InvariantError(
                            f"plugin {impl.plugin} ({impl.source}) changed {name} in {point} "
                            f"({place_defined(method)})",
                            hint=_HINT,
                        )

        return replace(impl, fn=call)


def _texts(inventory: Inventory) -> dict[tuple[str, str], str]:
    tables = ((field.name, getattr(inventory, field.name)) for field in fields(inventory))
    return {(table, str(key)): repr(fact) for table, facts in tables for key, fact in _items(facts)}


def _items(facts: Any) -> Iterable[tuple[Any, Any]]:
    if isinstance(facts, Mapping):
        return list(facts.items())
    return list(enumerate(facts)) if isinstance(facts, Sequence) else []


def _facts_of(args: Sequence[Any]) -> list[tuple[str, str]]:
    """Name and text of the facts of the tasks, jobs and queues among the arguments."""
    found = []
    for thing in args:
        if isinstance(thing, Task):
            found.append((f"pod {thing.key}", repr(thing.pod)))
        elif isinstance(thing, Job):
            found.append((f"pod group {thing.uid}", repr(thing.group)))
        elif isinstance(thing, Queue):
            found.append((f"queue {thing.name}", repr(thing)))
    return found
