"""The ledger: a record of what was asked, what each plugin answered, and what was done.

Event names are stable: ``question`` (the combined answer), ``vote`` (one plugin's answer),
``verdicts`` and ``scores`` (one plugin's answer over nodes), ``allocate``, ``pipeline``, ``evict``,
``unevict``, ``undo``, ``commit``, ``discard``, ``keep``, ``merge``, ``bind``, ``plugin_error``,
``action``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from pumice.combine import SKIP, Answer, Impl
from pumice.model.facts import Queue
from pumice.model.job import Job, SubJob
from pumice.model.nodes import NodeView
from pumice.model.task import Task
from pumice.verdicts import BindContext, NodeVerdicts

if TYPE_CHECKING:
    from pumice.hookspecs import ExtensionPoint

Sink = Callable[[dict[str, Any]], None]
_Head = tuple[tuple[str, str], ...]
"""What all records of one extension point and plugin have in common."""
_Noted = tuple[Any, ...]
"""A stored event: ``(event, facts)``, or of a question ``(head, *arguments, answer)``."""


class Ledger:
    """Passes the events of some extension points to a sink, or stores them.

    A sink (a printer, a list's ``append``) gets an event when it happens. Without a sink the
    events are stored, and :meth:`events` gives them. That is much cheaper, because an event is
    formatted only when it is read. A stored event references the tasks and jobs it is about.
    """

    __slots__ = ("_passed", "_points", "_sink", "_stored", "statements")

    def __init__(
        self,
        sink: Sink | None = None,
        points: Sequence[str] | None = None,
        *,
        statements: bool = True,
    ) -> None:
        self._sink = sink
        self._points = None if points is None else frozenset(points)
        self.statements = statements
        """Whether operations of statements are recorded."""
        self._passed = 0
        self._stored: list[_Noted] = []

    @property
    def sequence(self) -> int:
        """The number of the last event."""
        return self._passed + len(self._stored)

    def watches(self, point: str) -> bool:
        """Whether questions of this extension point are recorded."""
        return self._points is None or point in self._points

    def events(self) -> Iterator[dict[str, Any]]:
        """The events that were stored so far; none if there is a sink."""
        for number, noted in enumerate(self._stored, 1):
            yield {"seq": number, **_formatted(noted)}

    def record(self, event: str, **facts: Any) -> None:
        """Record one event."""
        if self._sink is None:
            self._stored.append((event, facts))
        else:
            self._passed += 1
            self._sink({"seq": self._passed, "event": event, **facts})

    def voter(self, point: ExtensionPoint, impl: Impl) -> Impl:
        """The same implementation, recording each of its answers."""
        head = (("event", "vote"), ("point", point.name), ("plugin", impl.plugin))
        return replace(impl, fn=self._watched(impl.fn, head, len(point.args)))

    def question(self, point: ExtensionPoint, combined: Answer) -> Answer:
        """The same combined question, recording its outcome."""
        head = (("event", "question"), ("point", point.name))
        return self._watched(combined, head, len(point.args))

    def _watched(self, ask: Answer, head: _Head, arity: int) -> Answer:
        if self._sink is None:
            return _storing(head, arity)(ask, self._stored.append, head)
        return _passing(head, arity)(ask, self._sink, self)


# A cycle asks hundreds of thousands of questions. So the wrapper is compiled for the number of
# arguments, and separately for each point and plugin: the interpreter specialises code for the
# one function that it calls.


@cache
def _storing(head: _Head, arity: int) -> Callable[..., Answer]:
    names = _arguments(arity)
    each = (f"{n} if type({n}) in lasting else words[type({n})]({n})" for n in (*names, "answer"))
    note = f"to((extra, {', '.join(each)}))"
    return _compiled(names, note, lasting=_LASTING, words=_early_formats)


@cache
def _passing(head: _Head, arity: int) -> Callable[..., Answer]:
    names = _arguments(arity)
    facts = {"seq": "number", **{key: repr(value) for key, value in head}}
    facts["args"] = f"[{', '.join(f'words[type({n})]({n})' for n in names)}]"
    facts["answer"] = "words[type(answer)](answer)"
    event = ", ".join(f"{key!r}: {value}" for key, value in facts.items())
    hand = f"extra._passed = number = extra._passed + 1; to({{{event}}})"
    return _compiled(names, hand, words=_formats)


def _arguments(arity: int) -> list[str]:
    return [f"a{number}" for number in range(arity)]


def _compiled(names: Sequence[str], then: str, **known: Any) -> Callable[..., Answer]:
    args = ", ".join(names)
    lines = [
        "def watch(ask, to, extra):",
        f"    def asked({args}):",
        f"        answer = ask({args})",
        f"        {then}",
        "        return answer",
        "    return asked",
    ]
    known["__name__"] = __name__  # a fault is not blamed on a frame of the framework
    exec("\n".join(lines), known)
    watch: Callable[..., Answer] = known["watch"]
    return watch


def _formatted(noted: _Noted) -> dict[str, Any]:
    head, *args, answer = noted
    if isinstance(head, str):
        return {"event": head, **answer}
    return {**dict(head), "args": [plain(arg) for arg in args], "answer": plain(answer)}


def _names(value: Sequence[Any] | frozenset[Any] | set[Any]) -> list[Any]:
    return [plain(item) for item in value]


def _table(value: Mapping[Any, Any]) -> dict[str, Any]:
    return {str(plain(key)): plain(item) for key, item in value.items()}


def _count(value: NodeView) -> dict[str, int]:
    return {"nodes": len(value)}


def _summary(value: NodeVerdicts) -> dict[str, int]:
    return {"nodes": len(value), "ok": len(value) - int(np.count_nonzero(value.codes))}


def _vector(value: np.ndarray) -> Any:
    return {"nodes": len(value)} if value.size > 8 else value.tolist()


def _where(value: BindContext) -> dict[str, str]:
    return {"task": value.task.key, "node": value.node}


def _name(value: Any) -> str:
    for attribute in ("key", "uid", "name"):
        name = getattr(value, attribute, None)
        if isinstance(name, str):
            return name
    return str(value)


_FORMATS: list[tuple[Any, Callable[[Any], Any]]] = [
    (type(None) | bool | int | float | str, lambda value: value),
    (Task, attrgetter("key")),
    (BindContext, _where),
    (NodeVerdicts, _summary),
    (NodeView, _count),
    (np.ndarray, _vector),
    (Mapping, _table),
    (Sequence | frozenset | set, _names),
    (object, _name),
]
"""How values are formatted; the first type that fits."""


class _Formats(dict[type, Callable[[Any], Any]]):
    """How values of a type are formatted."""

    def __missing__(self, kind: type) -> Callable[[Any], Any]:
        found = self[kind] = next(f for known, f in _FORMATS if issubclass(kind, known))
        return found


_formats = _Formats()


def plain(value: Any) -> Any:
    """A value as an event has it: names instead of objects, summaries instead of vectors."""
    return _formats[type(value)](value)


_LASTING = frozenset(
    {type(None), bool, int, float, str, type(SKIP), Task, Job, SubJob, Queue, BindContext}
)
"""Types of values whose format does not change during a cycle."""


def _stored_names(value: Sequence[Any]) -> Sequence[Any]:
    return tuple(value) if _LASTING.issuperset(map(type, value)) else _names(value)


def _stored_table(value: Mapping[Any, Any]) -> dict[str, Any]:
    return _table(value) if value else {}


_early_formats = _Formats({tuple: _stored_names, list: _stored_names, dict: _stored_table})
"""How values are stored that may change before they are formatted."""
