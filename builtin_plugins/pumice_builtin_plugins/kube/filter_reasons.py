"""Reasons of single filters, numbered, and how several of them become one fit error."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pumice import Code, FitError, NodeVerdicts, Status


class StatusTable:
    """Statuses by small integer, so that a filter can answer for many nodes. 0 is no objection.

    Process-wide and append-only, as the table of fit errors is.
    """

    def __init__(self) -> None:
        self._statuses: list[Status] = [Status(Code.OK, "")]
        self._ids: dict[Status, int] = {self._statuses[0]: 0}
        self._errors: dict[tuple[int, ...], FitError] = {}
        self._final = np.zeros(1, bool)
        self._codes = np.zeros(1, np.int8)
        self._reasons = np.zeros(1, np.int32)

    def id(self, reason: str, code: Code = Code.UNSCHEDULABLE, plugin: str = "predicates") -> int:
        status = Status(code, reason, plugin)
        found = self._ids.get(status)
        if found is None:
            found = self._ids[status] = len(self._statuses)
            self._statuses.append(status)
        return found

    def error(self, ids: Sequence[int]) -> FitError:
        """The fit error of one node: objections in order, up to the first that is final."""
        key = tuple(ids)
        found = self._errors.get(key)
        if found is None:
            statuses = []
            for number in key:
                if number:
                    statuses.append(self._statuses[number])
                    if statuses[-1].code != Code.UNSCHEDULABLE:
                        break
            found = self._errors[key] = FitError(tuple(statuses))
        return found

    def verdicts(self, answers: Sequence[np.ndarray], count: int) -> NodeVerdicts:
        """The verdicts of all nodes, from the filters' answers in the order they were asked."""
        verdicts = NodeVerdicts.accept(count)
        answers = [answer for answer in answers if answer.any()]
        if not answers:
            return verdicts
        self._tabulate()
        single = np.zeros(count, np.int64)
        """The only objection to a node, or its first if that is final."""
        several = np.zeros(count, bool)
        for answer in answers:
            several |= (single != 0) & (answer != 0) & ~self._final[single]
            single = np.where(single == 0, answer, single)
        verdicts.codes[:] = self._codes[single]
        verdicts.reasons[:] = self._reasons[single]
        for position in np.flatnonzero(several).tolist():
            verdicts.reject_one(position, self.error([int(answer[position]) for answer in answers]))
        return verdicts

    def _tabulate(self) -> None:
        if len(self._final) == len(self._statuses):
            return
        codes = [status.code for status in self._statuses]
        self._codes = np.array(codes, np.int8)
        self._final = ~np.isin(self._codes, (Code.OK, Code.UNSCHEDULABLE))
        self._reasons = np.array(
            [self.error((number,)).reason_id for number in range(len(codes))], np.int32
        )


STATUSES = StatusTable()
