"""What plugins answer with: fit errors, verdicts over nodes, refusals, contexts."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from pumice.model.job import Job
    from pumice.model.task import Task


class Code(enum.IntEnum):
    """Why a node cannot take a task. Only UNSCHEDULABLE may be resolved by evictions."""

    OK = 0
    ERROR = 1
    UNSCHEDULABLE = 2
    UNRESOLVABLE = 3
    WAIT = 4
    SKIP = 5


@dataclass(slots=True, frozen=True)
class Status:
    """One reason why a node cannot take a task."""

    code: Code
    """What kind of reason it is."""
    reason: str
    """The reason, for a person."""
    plugin: str = ""
    """The plugin that gives it."""


@dataclass(slots=True, frozen=True)
class FitError:
    """Why one node cannot take a task: one status or several."""

    statuses: tuple[Status, ...]
    """One status for each reason."""

    @classmethod
    def of(cls, reason: str, code: Code = Code.UNSCHEDULABLE, plugin: str = "") -> FitError:
        """A fit error with one reason."""
        return cls((Status(code, reason, plugin),))

    @property
    def code(self) -> Code:
        """The worst code: the one that an eviction is least likely to resolve."""
        return worst(self.statuses)

    @property
    def reasons(self) -> tuple[str, ...]:
        """The texts of the statuses."""
        return tuple(status.reason for status in self.statuses)

    @property
    def reason_id(self) -> int:
        """The number that stands for this error in the vectors of :class:`NodeVerdicts`."""
        return REASONS.id(self)

    def __str__(self) -> str:
        return ", ".join(self.reasons)


_SEVERITY = {
    Code.OK: 0,
    Code.UNSCHEDULABLE: 1,
    Code.SKIP: 2,
    Code.WAIT: 3,
    Code.ERROR: 4,
    Code.UNRESOLVABLE: 5,
}


def worst(statuses: Sequence[Status]) -> Code:
    return max((s.code for s in statuses), key=_SEVERITY.__getitem__, default=Code.OK)


class ReasonTable:
    """Fit errors by small integer id, so that a vector of nodes can carry them. 0 is no error."""

    __slots__ = ("_errors", "_ids")

    def __init__(self) -> None:
        self._errors: list[FitError] = [FitError(())]
        self._ids: dict[FitError, int] = {self._errors[0]: 0}

    def id(self, error: FitError) -> int:
        found = self._ids.get(error)
        if found is None:
            found = self._ids[error] = len(self._errors)
            self._errors.append(error)
        return found

    def __getitem__(self, index: int) -> FitError:
        return self._errors[index]


REASONS = ReasonTable()
"""Process-wide and append-only: ids stand for texts, not for state of a session."""


class NodeVerdicts:
    """The verdict of one plugin, or of all, on a vector of nodes: a code and a reason id each."""

    __slots__ = ("codes", "reasons")

    def __init__(self, codes: np.ndarray, reasons: np.ndarray) -> None:
        self.codes = codes
        """A :class:`Code` for each node."""
        self.reasons = reasons
        """A ``FitError.reason_id`` for each node; 0 is no error."""

    @classmethod
    def accept(cls, count: int) -> NodeVerdicts:
        """All of ``count`` nodes can take the task."""
        return cls(np.zeros(count, np.int8), np.zeros(count, np.int32))

    def reject(
        self,
        where: np.ndarray,
        reason: str,
        code: Code = Code.UNSCHEDULABLE,
        plugin: str = "",
    ) -> NodeVerdicts:
        """Reject the nodes where the mask is true and that no earlier call rejected."""
        hit = where & (self.codes == 0)
        if hit.any():
            self.codes[hit] = code
            self.reasons[hit] = REASONS.id(FitError.of(reason, code, plugin))
        return self

    def reject_one(self, position: int, error: FitError) -> None:
        """Reject one node with a fit error."""
        self.codes[position] = error.code
        self.reasons[position] = REASONS.id(error)

    def error(self, position: int) -> FitError | None:
        """The fit error at one position, or None."""
        return REASONS[int(self.reasons[position])] if self.codes[position] else None

    @property
    def ok(self) -> np.ndarray:
        """Mask of the nodes that can take the task."""
        accepted: np.ndarray = self.codes == 0
        return accepted

    def __len__(self) -> int:
        return len(self.codes)


@dataclass(slots=True, frozen=True)
class Refusal:
    """Why a job is not valid, or may not be placed."""

    reason: str
    """A short CamelCase code."""
    message: str
    """The reason, for a person."""
    details: dict[str, Any] = field(default_factory=dict, hash=False)
    """More about it, by name."""


@dataclass(slots=True, frozen=True)
class VoteDetails:
    """What an objection of a plugin is based on; see :meth:`Plugin.vote_details`."""

    text: str
    """Why the plugin objects, for a person."""
    numbers: dict[str, Any] = field(default_factory=dict, hash=False)
    """The amounts behind it by name (``asked``, ``used``, ``deserved``, ``limit``, ``free`` …);
    a value is a :class:`Resource`, a number or a text."""
    code: str = ""
    """The reason code (``pumice explain --code``), where the plugin knows it better than the
    extension point does."""


class EvictionKind(enum.Enum):
    """Which kind of action searches for victims."""

    GANG_PREEMPT = "GangPreempt"
    GANG_RECLAIM = "GangReclaim"
    TASK_PREEMPT = "TaskPreempt"
    TASK_RECLAIM = "TaskReclaim"
    MOVE = "Move"
    """The task gets another node in the same plan."""
    NO_CLAIMANT = "NoClaimant"
    """The task is evicted for no job in particular."""


@dataclass(slots=True, eq=False)
class EvictionContext:
    """The job, and the domain, that victims are sought for."""

    kind: EvictionKind
    """Which kind of action searches."""
    job: Job | None
    """The job that needs resources; None where there is none (``protected`` only)."""
    task: Task | None = None
    """The task that needs resources; None for a whole gang."""
    hyper_node: str = ""
    """The hypernode in which victims are searched; empty for all nodes."""
    victims: tuple[Task, ...] = ()
    """For ``protected`` and a complete plan: all tasks that it evicts."""


@dataclass(slots=True, eq=False)
class BindContext:
    """A bind before it is sent; plugins put what ``pre_bind`` needs into ``extensions``."""

    task: Task
    """The task that is bound."""
    node: str
    """The name of its node."""
    annotations: dict[str, str] = field(default_factory=dict)
    """Annotations of the bind request."""
    extensions: dict[str, Any] = field(default_factory=dict)
    """Notes of plugins for ``pre_bind``, by plugin name."""
