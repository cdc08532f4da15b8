"""The ledger: a record of what was asked, what each plugin answered, and what was done.

Event names are stable: ``question`` (the combined answer), ``vote`` (one plugin's answer),
``verdicts`` and ``scores`` (one plugin's answer over nodes), ``allocate``, ``pipeline``, ``evict``,
``unevict``, ``undo``, ``commit``, ``discard``, ``refuse``, ``keep``, ``merge``, ``bind``,
``plugin_error``, ``note`` (why an action does nothing for a job), ``search`` (what the solver did
for a job), ``repeat`` (the votes about a task are those about another one), ``action``. Every event
has the cycle in which it happened, and the job whose turn it was.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from pumice.combine import SKIP, Answer, Impl, TieredIntersection
from pumice.model.facts import Queue
from pumice.model.job import Job, SubJob
from pumice.model.nodes import NodeView
from pumice.model.task import Task
from pumice.solver.plan import Plan
from pumice.verdicts import BindContext, NodeVerdicts

if TYPE_CHECKING:
    from pumice.hookspecs import ExtensionPoint
    from pumice.plugin import Plugin
    from pumice.session.operations import Operation

Sink = Callable[[dict[str, Any]], None]
_Head = tuple[tuple[str, Any], ...]
"""What all records of one extension point and plugin have in common."""
_Noted = tuple[Any, ...]
"""A stored event: ``(event, facts)``, of a question ``(head, *arguments, answer)``; or a mark
``(None, cycle, job)``: what follows happened in this cycle and turn; or a question for victims
``(_VICTIMS, head, subject, candidates, allowed, votes)``, whose head is None if it failed."""
_VICTIMS = object()


class Ledger:
    """Passes the events of some extension points to a sink, or stores them.

    A sink (a printer, a list's ``append``) gets an event when it happens. Without a sink the
    events are stored, and :meth:`events` gives them. That is much cheaper, because an event is
    formatted only when it is read. A stored event references the tasks and jobs it is about.
    """

    __slots__ = (
        "_marks", "_passed", "_points", "_sink", "_stored", "_victim_votes", "cycle", "job",
        "statements",
    )  # fmt: skip

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
        self._marks = 0
        """How many of the stored rows only say that another cycle or turn begins."""
        self._victim_votes: list[tuple[_Head, Any]] = []
        """The votes on the question for victims that is being asked."""
        self.cycle = 0
        """The number of the cycle."""
        self.job: Job | None = None
        """The job whose turn it is."""

    def begin(self, cycle: int) -> None:
        """A cycle begins."""
        self.cycle = cycle
        self._mark()

    def turn(self, job: Job | None) -> None:
        """It is a job's turn, or that of none."""
        self.job = job
        self._mark()

    def _mark(self) -> None:
        if self._sink is None:
            self._stored.append((None, self.cycle, self.job))
            self._marks += 1

    @property
    def sequence(self) -> int:
        """The number of the last event."""
        votes = sum(len(row[-1]) - (row[1] is None) for row in self._stored if row[0] is _VICTIMS)
        return self._passed + len(self._stored) - self._marks + votes

    def watches(self, point: str) -> bool:
        """Whether questions of this extension point are recorded."""
        return self._points is None or point in self._points

    def events(self) -> Iterator[dict[str, Any]]:
        """The events that were stored so far; none if there is a sink."""
        number, context = 0, _context(0, None)
        for noted in self._stored:
            if noted[0] is None:
                context = _context(*noted[1:])
            else:
                for event in _formatted(noted):
                    number += 1
                    yield {"seq": number, **context, **event}

    def record(self, event: str, **facts: Any) -> None:
        """Record one event."""
        if self._sink is None:
            self._stored.append((event, facts))
        else:
            self._passed += 1
            context = _context(self.cycle, self.job)
            self._sink({"seq": self._passed, **context, "event": event, **facts})

    def operation(self, event: str, op: Operation, node: str) -> None:
        """Record one operation of a statement, or its undo."""
        claimant = op.claimant.uid if op.claimant else None
        self.record(event, task=op.task.key, node=node, reason=op.reason, claimant=claimant)

    def closed(self, event: str, kinds: Sequence[str], reason: str = "") -> None:
        """Record the end of a statement that did, or undid, operations of these kinds."""
        facts: dict[str, Any] = {"operations": len(kinds), "kinds": dict(Counter(kinds))}
        if reason:
            facts["reason"] = reason
        self.record(event, **facts)

    def note(self, job: Job, action: str, code: str, text: str) -> None:
        """Record why an action does nothing for a job."""
        self.record("note", about=job.uid, action=action, code=code, text=text)

    def search(self, job: Job, **counts: int) -> None:
        """Record what the solver did for a job: plans considered, simulated, dropped, refused."""
        self.record("search", about=job.uid, **counts)

    def repeats(self, task: Task, other: Task) -> bool:
        """Record that the votes about a task are those about another one, and are not asked again.

        False: they must be asked, since those about the other one are not in the record.
        """
        self.record("repeat", task=task.key, like=other.key)
        return True

    def voter(self, point: ExtensionPoint, impl: Impl, plugin: Plugin, tier: int) -> Impl:
        """The same implementation, recording each of its answers."""
        head = (
            ("event", "vote"), ("point", point.name), ("plugin", impl.plugin), ("tier", tier),
        )  # fmt: skip
        if self._sink is None and isinstance(point.rule, TieredIntersection):
            return replace(impl, fn=_naming(impl.fn, head, self._victim_votes))
        return replace(impl, fn=self._watched(impl.fn, head, len(point.args)))

    def question(self, point: ExtensionPoint, combined: Answer, plain: Answer) -> Answer:
        """The same combined question, recording its outcome.

        ``combined`` asks the voters of :meth:`voter`, ``plain`` those that record nothing.
        """
        head = (("event", "question"), ("point", point.name))
        if self._sink is None and isinstance(point.rule, TieredIntersection):
            return _choosing(combined, head, self._victim_votes, self._stored.append)
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
    facts = {"seq": "number", "cycle": "extra.cycle", "job": "named(extra.job)"}
    facts |= {key: repr(value) for key, value in head}
    facts["args"] = f"[{', '.join(f'words[type({n})]({n})' for n in names)}]"
    facts["answer"] = "words[type(answer)](answer)"
    event = ", ".join(f"{key!r}: {value}" for key, value in facts.items())
    hand = f"extra._passed = number = extra._passed + 1; to({{{event}}})"
    return _compiled(names, hand, words=_formats, named=_uid)


# In a full cluster most questions are for victims, with the same two arguments for every voter:
# one row holds the question and its votes.


def _naming(ask: Answer, head: _Head, votes: list[tuple[_Head, Any]]) -> Answer:
    def named(subject: Any, candidates: Sequence[Task]) -> Any:
        answer = ask(subject, candidates)
        votes.append((head, tuple(answer) if type(answer) is list else answer))
        return answer

    return named


def _choosing(
    combined: Answer, head: _Head, votes: list[tuple[_Head, Any]], store: Callable[[_Noted], None]
) -> Answer:
    def asked(subject: Any, candidates: Sequence[Task]) -> Any:
        votes.clear()
        given = tuple(candidates)
        try:
            answer = combined(subject, candidates)
        except BaseException:
            store((_VICTIMS, None, subject, given, None, tuple(votes)))
            raise
        store((_VICTIMS, head, subject, given, tuple(answer), tuple(votes)))
        return answer

    return asked


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


def _uid(job: Job | None) -> str | None:
    return None if job is None else job.uid


def _context(cycle: int, job: Job | None) -> dict[str, Any]:
    return {"cycle": cycle, "job": _uid(job)}


def _formatted(noted: _Noted) -> Iterator[dict[str, Any]]:
    head, *args, answer = noted
    if head is _VICTIMS:
        question, subject, candidates, allowed = args
        for point, said in (*answer, (question, allowed)):
            if point is not None:
                yield _answered(point, (subject, candidates), said)
    elif isinstance(head, str):
        yield {"event": head, **answer}
    else:
        yield _answered(head, args, answer)


def _answered(head: _Head, args: Sequence[Any], answer: Any) -> dict[str, Any]:
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
    text = str(value)
    # An address says nothing, and is never the same.
    return type(value).__name__ if f" at {id(value):#x}" in text else text


def _plan(value: Plan) -> dict[str, Any]:
    victims = [task.key for victim in value.victims.values() for task in victim.tasks]
    return {"for": value.preemptor.uid, "victims": victims}


_FORMATS: list[tuple[Any, Callable[[Any], Any]]] = [
    (type(None) | bool | int | float | str, lambda value: value),
    (Task, attrgetter("key")),
    (BindContext, _where),
    (Plan, _plan),
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
