"""Pods that were placed only just now are left alone for their cooldown time."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from loguru import logger

from pumice import Plugin, Task, hookimpl, parse_duration

COOLDOWN = "volcano.sh/cooldown-time"


class Cdp(Plugin):
    """Spare running pods until ``volcano.sh/cooldown-time`` has passed since they were placed.

    The time is a duration such as ``10m``, in a label of the pod or else in an annotation.
    """

    @hookimpl
    def preemptable(self, candidates: Sequence[Task]) -> Sequence[Task]:
        return [task for task in candidates if not self._is_cooling(task)]

    @hookimpl
    def reclaimable(self, candidates: Sequence[Task]) -> Sequence[Task]:
        return [task for task in candidates if not self._is_cooling(task)]

    def _is_cooling(self, task: Task) -> bool:
        text = task.labels.get(COOLDOWN) or task.annotations.get(COOLDOWN)
        if not text or task.pod.phase != "Running":
            return False
        placed = _placed_at(task)
        return placed is not None and placed + _cooldown(task, text) > self.session.now


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


def _placed_at(task: Task) -> float | None:
    """When the pod was scheduled, as its conditions tell; None: they do not."""
    for condition in task.pod.conditions:
        if condition.get("type") == "PodScheduled" and condition.get("status") == "True":
            try:
                told = datetime.fromisoformat(str(condition.get("lastTransitionTime")))
            except ValueError:
                return None
            return (told if told.tzinfo else told.replace(tzinfo=UTC)).timestamp()
    return None
