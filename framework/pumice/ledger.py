"""The ledger: what was asked, who answered what, and what was done about it.

Event names are stable: ``question`` (the combined answer), ``vote`` (one plugin's answer),
``verdicts`` and ``scores`` (one plugin's answer over nodes), ``allocate``, ``pipeline``, ``evict``,
``unevict``, ``undo``, ``commit``, ``discard``, ``keep``, ``merge``, ``bind``, ``plugin_error``,
``action``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from pumice.combine import Answer, Impl
from pumice.model.nodes import NodeView
from pumice.verdicts import NodeVerdicts

Sink = Callable[[dict[str, Any]], None]


class Ledger:
    """Hands every event it is interested in to a sink (a list, a printer)."""

    __slots__ = ("_points", "_sink", "sequence", "statements")

    def __init__(
        self, sink: Sink, points: Sequence[str] | None = None, *, statements: bool = True
    ) -> None:
        self._sink = sink
        self._points = None if points is None else frozenset(points)
        self.statements = statements
        self.sequence = 0

    def watches(self, point: str) -> bool:
        """Whether questions of this extension point are recorded."""
        return self._points is None or point in self._points

    def record(self, event: str, **facts: Any) -> None:
        self.sequence += 1
        self._sink({"seq": self.sequence, "event": event, **facts})

    def voter(self, point: str, impl: Impl) -> Impl:
        """The same implementation, recording each of its answers."""

        def asked(*args: Any) -> Any:
            answer = impl.fn(*args)
            self.record(
                "vote",
                point=point,
                plugin=impl.plugin,
                args=[plain(arg) for arg in args],
                answer=plain(answer),
            )
            return answer

        return Impl(impl.plugin, asked, impl.source)

    def question(self, point: str, combined: Answer) -> Answer:
        """The same combined question, recording its outcome."""

        def asked(*args: Any) -> Any:
            answer = combined(*args)
            self.record(
                "question", point=point, args=[plain(arg) for arg in args], answer=plain(answer)
            )
            return answer

        return asked


def plain(value: Any) -> Any:
    """A value as a ledger keeps it: names instead of objects, summaries instead of vectors."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, NodeVerdicts):
        return {"nodes": len(value), "ok": int((value.codes == 0).sum())}
    if isinstance(value, NodeView):
        return {"nodes": len(value)}
    if isinstance(value, np.ndarray):
        return {"nodes": len(value)} if value.size > 8 else value.tolist()
    if isinstance(value, Mapping):
        return {str(plain(key)): plain(item) for key, item in value.items()}
    if isinstance(value, Sequence | frozenset | set):
        return [plain(item) for item in value]
    for attribute in ("key", "uid", "name"):
        name = getattr(value, attribute, None)
        if isinstance(name, str):
            return name
    return str(value)
