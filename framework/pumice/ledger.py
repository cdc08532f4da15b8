"""The ledger: what was asked, who answered what, and what was done about it.

Event names are stable: ``question`` (the combined answer), ``vote`` (one plugin's answer),
``verdicts`` and ``scores`` (one plugin's answer over nodes), ``allocate``, ``pipeline``, ``evict``,
``unevict``, ``undo``, ``commit``, ``discard``, ``keep``, ``merge``, ``bind``, ``plugin_error``,
``action``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
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
"""What all records of one question have in common."""
_Noted = tuple[Any, ...]
"""An event as it is kept: ``(event, facts)``, or of a question ``(head, *arguments, answer)``."""


class Ledger:
    """Hands every event it is interested in to a sink, or keeps it to be read later.

    A sink (a printer, a list's ``append``) gets an event when it happens. Without a sink the
    events are kept and told by :meth:`events`. That is much cheaper, for an event is put into
    words only when it is read. A kept event holds on to the tasks and jobs that it is about.
    """

    __slots__ = ("_handed", "_kept", "_points", "_sink", "statements")

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
        self._handed = 0
        self._kept: list[_Noted] = []

    @property
    def sequence(self) -> int:
        """The number of the last event."""
        return self._handed + len(self._kept)

    def watches(self, point: str) -> bool:
        """Whether questions of this extension point are recorded."""
        return self._points is None or point in self._points

    def events(self) -> Iterator[dict[str, Any]]:
        """The events that were kept so far; none where there is a sink."""
        for number, noted in enumerate(self._kept, 1):
            yield {"seq": number, **_told(noted)}

    def record(self, event: str, **facts: Any) -> None:
        """Record one event."""
        if self._sink is None:
            self._kept.append((event, facts))
        else:
            self._handed += 1
            self._sink({"seq": self._handed, "event": event, **facts})

    def voter(self, point: ExtensionPoint, impl: Impl) -> Impl:
        """The same implementation, recording each of its answers."""
        head = (("event", "vote"), ("point", point.name), ("plugin", impl.plugin))
        return Impl(impl.plugin, self._watched(impl.fn, head, len(point.args)), impl.source)

    def question(self, point: ExtensionPoint, combined: Answer) -> Answer:
        """The same combined question, recording its outcome."""
        head = (("event", "question"), ("point", point.name))
        return self._watched(combined, head, len(point.args))

    def _watched(self, ask: Answer, head: _Head, arity: int) -> Answer:
        if self._sink is None:
            return _keeping(head, arity)(ask, self._kept.append, head)
        return _handing(head, arity)(ask, self._sink, self)


# A cycle asks hundreds of thousands of questions. So what is wrapped around one is compiled for
# its number of arguments, and for each point and plugin apart: the interpreter tunes a piece of
# code to the one function that it calls.


@cache
def _keeping(head: _Head, arity: int) -> Callable[..., Answer]:
    names = _arguments(arity)
    each = (f"{n} if type({n}) in lasting else words[type({n})]({n})" for n in (*names, "answer"))
    note = f"to((extra, {', '.join(each)}))"
    return _compiled(names, note, lasting=_LASTING, words=_early_words)


@cache
def _handing(head: _Head, arity: int) -> Callable[..., Answer]:
    names = _arguments(arity)
    facts = {"seq": "number", **{key: repr(value) for key, value in head}}
    facts["args"] = f"[{', '.join(f'words[type({n})]({n})' for n in names)}]"
    facts["answer"] = "words[type(answer)](answer)"
    event = ", ".join(f"{key!r}: {value}" for key, value in facts.items())
    hand = f"extra._handed = number = extra._handed + 1; to({{{event}}})"
    return _compiled(names, hand, words=_words)


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
    exec("\n".join(lines), known)
    watch: Callable[..., Answer] = known["watch"]
    return watch


def _told(noted: _Noted) -> dict[str, Any]:
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


_WORDS: list[tuple[Any, Callable[[Any], Any]]] = [
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
"""How values are told, the first type that fits."""


class _Words(dict[type, Callable[[Any], Any]]):
    """How values of a type are told."""

    def __missing__(self, kind: type) -> Callable[[Any], Any]:
        tell = self[kind] = next(tell for known, tell in _WORDS if issubclass(kind, known))
        return tell


_words = _Words()


def plain(value: Any) -> Any:
    """A value as a ledger keeps it: names instead of objects, summaries instead of vectors."""
    return _words[type(value)](value)


_LASTING = frozenset(
    {type(None), bool, int, float, str, type(SKIP), Task, Job, SubJob, Queue, BindContext}
)
"""Types of values that are told the same whenever they are told."""


def _kept_names(value: Sequence[Any]) -> Sequence[Any]:
    return tuple(value) if _LASTING.issuperset(map(type, value)) else _names(value)


def _kept_table(value: Mapping[Any, Any]) -> dict[str, Any]:
    return _table(value) if value else {}


_early_words = _Words({tuple: _kept_names, list: _kept_names, dict: _kept_table})
"""How values are kept that may not be the same when they are told."""
