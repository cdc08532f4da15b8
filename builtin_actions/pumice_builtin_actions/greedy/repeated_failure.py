"""Tasks for which an eviction would fail as it just did for a task like them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np

from pumice import FitErrors, Session, Task
from pumice_builtin_actions.greedy.failure import Attempt


class RepeatedFailure:
    """Recognises a task like the one for which no node was found last, with nothing changed since.

    The tasks of a gang are mostly alike, so that after the first failure each other one would try
    the same victims on the same nodes.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._on = session.uses("victims")
        self._task: Task | None = None
        self._errors: FitErrors | None = None
        self._state: Hashable = None
        self._victims: object = None

    def covers(self, task: Task, victims: object = None) -> bool:
        """Whether the task would fail like the last one. It must be prepared.

        ``victims`` is the collection that victims are taken from.
        """
        last = self._task
        return (
            last is not None
            and self._victims is victims
            and self._state == self._present_state()
            and _are_alike(last, task)
            and self._session.queries.same_class(last, task)
            and _same_verdicts(self._errors, _recorded_errors(task))
            and _may_repeat(self._session, task, last)
        )

    def record(self, task: Task, victims: object = None) -> None:
        """No node was found for the task; whatever was tried has been undone."""
        # Filters that are not cached may look at anything in the pod.
        if not self._on or self._session.queries.has_live_filters(task):
            return
        self._task, self._victims = task, victims
        self._errors = _recorded_errors(task)
        self._state = self._present_state()

    def _present_state(self) -> Hashable:
        return _state_of(self._session)


class _Refused(NamedTuple):
    """A task for which the plugins allowed no victim on any node."""

    task: Task
    state: Hashable
    rows: np.ndarray
    """The nodes that were tried."""
    attempt: Attempt


class NoVictims:
    """Recognises a task for which the plugins allow no victim, as they did for another job's.

    In a full cluster hundreds of jobs of equal priority ask about the same candidates. The votes
    are the same if all plugins read the same of the preemptor (``Plugin.preemptor_key``).
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        # The promises of [evictions] look at the claimant.
        self._on = session.uses("victims") and not session.evictions.active
        self._keyed = [
            plugin
            for tier in session.ask.voters["preemptable"]
            for impl, plugin in tier
            if "preemptor" in impl.arguments
        ]
        self._refused: dict[Hashable, _Refused] = {}

    def like(self, task: Task, victims: object, groups: Sequence[np.ndarray]) -> Attempt | None:
        """The attempt of a task that failed on these nodes as this one would; None: none did."""
        if not self._on or not self._refused:
            return None
        session, refused = self._session, self._refused.get(self._key(task, victims))
        if (
            refused is None
            or refused.state != _state_of(session)
            or not np.array_equal(refused.rows, _joined(groups))
            or not _may_repeat(session, task, refused.task)
        ):
            return None
        return refused.attempt

    def record(
        self, task: Task, victims: object, groups: Sequence[np.ndarray], attempt: Attempt
    ) -> None:
        """No node was found for the task."""
        if not self._on or attempt.tried or self._session.queries.has_live_filters(task):
            return
        state = _state_of(self._session)
        self._refused[self._key(task, victims)] = _Refused(task, state, _joined(groups), attempt)

    def _key(self, task: Task, victims: object) -> Hashable:
        keys = tuple(plugin.preemptor_key(task) for plugin in self._keyed)
        return id(victims), self._session.queries.class_id(task), task.vector.tobytes(), keys


def _may_repeat(session: Session, task: Task, other: Task) -> bool:
    """Whether the ledger, if there is one, has the votes about the other task."""
    return session.ledger is None or session.ledger.repeats(task, other)


def _state_of(session: Session) -> Hashable:
    """Grows with every change of a node and of a task's status, undo included."""
    return session.nodes.version, len(session.cluster.job_journal)


def _joined(groups: Sequence[np.ndarray]) -> np.ndarray:
    return np.concatenate(groups) if groups else np.zeros(0, np.intp)


def _are_alike(left: Task, right: Task) -> bool:
    """Whether only their names, uids and creation times tell two tasks apart for a plugin."""
    return (
        left.job is right.job
        and left.sub_job is right.sub_job
        and left.role == right.role
        and left.priority == right.priority
        and left.preemptable == right.preemptable
        and left.revocable_zone == right.revocable_zone
        and left.nominated_node == right.nominated_node
        and left.pod.priority == right.pod.priority
        and left.pod.preemption_policy == right.pod.preemption_policy
        and left.labels == right.labels
        and left.annotations == right.annotations
    )


def _recorded_errors(task: Task) -> FitErrors | None:
    return None if task.job is None else task.job.fit_errors.get(task.uid)


def _same_verdicts(left: FitErrors | None, right: FitErrors | None) -> bool:
    if left is None or right is None:
        return left is right
    return left.verdicts is right.verdicts and left.rows is right.rows
