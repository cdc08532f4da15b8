"""Statuses of single filters, numbered, and how several of them become one fit error."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pumice import Code, FitError, NodeVerdicts, Status


class StatusTable:
    """Statuses by small integer, so that a filter answers for many nodes at once; 0 is a pass.

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
        """The number of a status, given out on first use."""
        status = Status(code, reason, plugin)
        number = self._ids.get(status)
        if number is None:
            number = self._ids[status] = len(self._statuses)
            self._statuses.append(status)
        return number

    def error(self, ids: Sequence[int]) -> FitError:
        """The fit error of one node: the failures in order, up to the first final one.

        Final is every code but UNSCHEDULABLE: no eviction cures it, so Volcano asks no further.
        """
        key = tuple(ids)
        error = self._errors.get(key)
        if error is None:
            statuses = []
            for number in key:
                if number:
                    statuses.append(self._statuses[number])
                    if statuses[-1].code != Code.UNSCHEDULABLE:
                        break
            error = self._errors[key] = FitError(tuple(statuses))
        return error

    def verdicts(self, columns: Sequence[np.ndarray], count: int) -> NodeVerdicts:
        """The verdicts on ``count`` nodes, from one column of statuses per filter, in order."""
        verdicts = NodeVerdicts.accept(count)
        columns = [column for column in columns if np.count_nonzero(column)]
        if not columns:
            return verdicts
        self._tabulate()
        single = np.zeros(count, np.int64)
        """The only failure of a node, or its first if that is final."""
        several = np.zeros(count, bool)
        for column in columns:
            several |= (single != 0) & (column != 0) & ~self._final[single]
            single = np.where(single == 0, column, single)
        verdicts.codes[:] = self._codes[single]
        verdicts.reasons[:] = self._reasons[single]
        for position in np.flatnonzero(several).tolist():
            verdicts.reject_one(position, self.error([int(column[position]) for column in columns]))
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
