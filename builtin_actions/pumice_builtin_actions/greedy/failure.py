"""Why no eviction helped a task: the reason code that the action notes for its job."""

from __future__ import annotations

import numpy as np

from pumice import RequestFit, Session, Task
from pumice_builtin_actions.greedy.victims import Evictable


class Attempt:
    """What was seen while nodes were tried for one task.

    Only nodes count on which all evictable tasks together would free enough, whether or not a
    shortcut leaves out the others: so the reason is the same with and without it.
    """

    __slots__ = ("_reachable", "asked", "named", "over_share", "tried", "unfit")

    def __init__(self, reachable: np.ndarray) -> None:
        self._reachable = reachable
        self.asked = False
        """Whether there were candidates on such a node."""
        self.named = False
        """Whether plugins allowed victims there."""
        self.over_share = False
        """Whether the queue might not hold the task although a node had room for it."""
        self.unfit = False
        """Whether a filter refused a node that had room and was within the share."""
        self.tried = False
        """Whether there was a node with victims, or with room enough without any."""

    @classmethod
    def of(
        cls,
        session: Session,
        task: Task,
        tried: np.ndarray,
        evictable: Evictable,
        spared: Evictable | None = None,
    ) -> Attempt:
        """An attempt on the nodes that are ``tried``."""
        if session.uses("victims"):
            return cls(tried)
        free = session.nodes.future_idle + evictable.total
        if spared is not None:
            free = free - spared.total
        return cls(tried & RequestFit(task.vector).mask(free))

    def voted(self, row: int, candidates: object, victims: object) -> None:
        """Plugins were asked about the candidates on a node."""
        if self._reachable[row]:
            self.asked = self.asked or bool(candidates)
            self.named = self.named or bool(victims)


def note_failure(
    session: Session, task: Task, attempt: Attempt, *, victims: bool, what: str
) -> None:
    """Note why nothing was evicted for a task; ``victims``: there were candidates at all."""
    job = task.job
    if job is None:
        return
    if not victims:
        session.note(job, "NoVictims", f"there is no {what}")
    elif attempt.over_share and not attempt.unfit:
        session.note(job, "OverShare", f"queue {job.queue} may not hold it, whatever is evicted")
    elif attempt.asked and not attempt.named:
        session.note(job, "VictimsProtected", "the plugins allow no victim where it would help")
    else:
        session.note(job, "NotEnough", "no node would take it after the evictions that are allowed")
