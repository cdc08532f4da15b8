"""Why no node takes a task: compact vectors, turned into text on demand."""

from __future__ import annotations

from collections import Counter

import numpy as np

from pumice.verdicts import REASONS, Code, FitError, NodeVerdicts

_UNRESOLVABLE = int(Code.UNRESOLVABLE)


class FitErrors:
    """The verdicts of all nodes that were asked for one task, or one error for all of them."""

    __slots__ = ("_resolvable", "_text", "head", "hyper_node", "rows", "verdicts")

    def __init__(
        self,
        verdicts: NodeVerdicts | None = None,
        rows: np.ndarray | None = None,
        *,
        head: str = "",
        hyper_node: str = "",
    ) -> None:
        self.verdicts = verdicts
        """The verdicts by position; None where only ``head`` is known."""
        self.rows = rows
        """Node rows that the verdicts are about; None: all nodes."""
        self.head = head
        """A text that replaces the count of nodes at the beginning."""
        self.hyper_node = hyper_node
        """The hypernode that was searched; empty for all nodes."""
        self._text = ""
        self._resolvable: bool | None = None

    @classmethod
    def for_all(cls, error: FitError, count: int) -> FitErrors:
        """The same error on each of ``count`` nodes."""
        codes = np.full(count, error.code, np.int8)
        return cls(NodeVerdicts(codes, np.full(count, REASONS.id(error), np.int32)))

    def overlaid(self, where: np.ndarray, error: FitError) -> FitErrors:
        """The same, with ``error`` on the nodes where the mask is true."""
        assert self.verdicts is not None
        codes, reasons = self.verdicts.codes.copy(), self.verdicts.reasons.copy()
        codes[where], reasons[where] = error.code, REASONS.id(error)
        return FitErrors(NodeVerdicts(codes, reasons), self.rows, hyper_node=self.hyper_node)

    def unresolvable(self, count: int) -> np.ndarray:
        """Mask over all ``count`` nodes: those that no eviction can make fit."""
        mask = np.zeros(count, bool)
        if self.verdicts is not None:
            hit = self.verdicts.codes == _UNRESOLVABLE
            mask[hit if self.rows is None else self.rows[hit]] = True
        return mask

    @property
    def is_resolvable(self) -> bool:
        """Whether an eviction may make each of the nodes fit."""
        if self._resolvable is None:
            self._resolvable = self.verdicts is None or not np.count_nonzero(
                self.verdicts.codes == _UNRESOLVABLE
            )
        return self._resolvable

    def histogram(self) -> Counter[str]:
        """How many nodes gave each reason, by its text; a node may give several."""
        counts: Counter[str] = Counter()
        if self.verdicts is not None:
            by_id = np.bincount(self.verdicts.reasons[self.verdicts.codes != 0])
            for reason_id in by_id.nonzero()[0].tolist():
                for reason in dict.fromkeys(REASONS[reason_id].reasons):
                    counts[reason] += by_id.item(reason_id)
        # Ids are given as reasons come up in the process: their order must not show.
        return Counter(dict(sorted(counts.items())))

    def main_plugin(self) -> str:
        """The plugin that rejects most of the nodes; empty: none does, or it is not known."""
        counts: Counter[str] = Counter()
        if self.verdicts is not None:
            by_id = np.bincount(self.verdicts.reasons[self.verdicts.codes != 0])
            for reason_id in by_id.nonzero()[0].tolist():
                for plugin in {s.plugin for s in REASONS[reason_id].statuses if s.plugin}:
                    counts[plugin] += by_id.item(reason_id)
        return max(sorted(counts), key=lambda plugin: counts[plugin], default="")

    def __str__(self) -> str:
        if not self._text:
            self._text = self._describe()
        return self._text

    def _describe(self) -> str:
        failed = 0 if self.verdicts is None else int((self.verdicts.codes != 0).sum())
        text = self.head or f"0/{failed} nodes are unavailable"
        reasons = sorted(f"{count} {reason}" for reason, count in self.histogram().items())
        if reasons:
            text = f"{text}: {', '.join(reasons)}."
        return f"In hyperNode {self.hyper_node}: {text}" if self.hyper_node else text
