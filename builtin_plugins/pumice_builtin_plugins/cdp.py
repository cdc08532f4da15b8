"""Cooldown protection: a pod is not evicted until its cooldown time has passed."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from loguru import logger

from pumice import Plugin, Task, hookimpl, parse_duration

COOLDOWN = "volcano.sh/cooldown-time"


class Cdp(Plugin):
    """Protect running pods until ``volcano.sh/cooldown-time`` has passed since they were placed.

    The time is a duration such as ``10m``, in a label of the pod or else in an annotation.
    """

    beyond_upstream = frozenset({"protected"})

    @hookimpl
    def protected(self, task: Task) -> str | None:
        return "its cooldown time has not passed" if self._is_protected(task) else None

    @hookimpl
    def preemptable(self, candidates: Sequence[Task]) -> Sequence[Task]:
        return [task for task in candidates if not self._is_protected(task)]

    @hookimpl
    def reclaimable(self, candidates: Sequence[Task]) -> Sequence[Task]:
        return [task for task in candidates if not self._is_protected(task)]

    def _is_protected(self, task: Task) -> bool:
        text = task.labels.get(COOLDOWN) or task.annotations.get(COOLDOWN)
        if not text or task.pod.phase != "Running":
            return False
        scheduled = _scheduled_at(task)
        return scheduled is not None and scheduled + _cooldown(task, text) > self.session.now


def _cooldown(task: Task, text: str) -> float:
    try:
        return float(parse_duration(text))
    except ValueError:
        logger.warning(
            "pod {}: {} is {!r}, which is no duration (examples: 30s, 10m, 1h30m); ignored",
            task.key,
            COOLDOWN,
            text,
        )
        return 0.0


def _scheduled_at(task: Task) -> float | None:
    """The time of the pod's PodScheduled condition; None: it has none that can be read."""
    for condition in task.pod.conditions:
        if condition.get("type") == "PodScheduled" and condition.get("status") == "True":
            try:
                time = datetime.fromisoformat(str(condition.get("lastTransitionTime")))
            except ValueError:
                return None
            return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
    return None
