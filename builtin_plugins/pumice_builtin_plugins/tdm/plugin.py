"""Time division multiplexing: revocable nodes that batch tasks may use in a window of time."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Annotated, ClassVar

import numpy as np
from pydantic import AfterValidator, Field

from pumice import (
    PERMIT,
    REJECT,
    Code,
    Duration,
    Job,
    Node,
    NodeVerdicts,
    NodeView,
    Plugin,
    Task,
    TaskStatus,
    hookimpl,
)
from pumice_builtin_plugins.tdm.disruption_budget import max_evictions

ZONE = "volcano.sh/revocable-zone"
_MAX_SCORE = 100.0
_DAY = 24 * 60 * 60
_TIME = r"((?:[01]?\d|2[0-3])):([0-5]\d)"
_WINDOW = re.compile(rf"\s*{_TIME}\s*-\s*{_TIME}\s*", re.ASCII)


def _validate_window(text: str) -> str:
    if _WINDOW.fullmatch(text) is None:
        raise ValueError("should be a window of time like '08:00-18:30'")
    return text


Window = Annotated[str, AfterValidator(_validate_window)]


class Tdm(Plugin):
    """Let pods that accept it use revocable nodes while their zone's window is open.

    The node label ``volcano.sh/revocable-zone`` makes a node revocable; the pod annotation of the
    same name makes a pod accept such nodes. Windows are in UTC and start on the current day: as in
    Volcano, one that ends after midnight is closed again in the morning before its start.
    """

    reads = frozenset({"revocable_zone"})

    class Options(Plugin.Options):
        """The revocable zones and when they are open."""

        collected: ClassVar[dict[str, str]] = {"tdm.revocable-zone.": "zones"}

        zones: dict[str, Window] = Field(
            default_factory=dict,
            description="Window of a zone (08:00-18:30, UTC), as tdm.revocable-zone.NAME.",
        )
        evict_period: Duration = Field(
            60.0,
            alias="tdm.evict.period",
            description="Minimum time between two rounds of evictions from closed zones.",
        )

    @hookimpl
    def on_session_open(self) -> None:
        now = self.session.now
        self._open_zones = {
            zone for zone, window in self.options.zones.items() if is_open(window, now)
        }

    # -- order

    @hookimpl
    def job_order(self, left: Job, right: Job) -> int:
        return left.preemptable - right.preemptable

    @hookimpl
    def job_order_key(self, job: Job) -> bool:
        return job.preemptable

    # -- nodes

    @hookimpl(scope="static")
    def predicate_nodes(self, task: Task, nodes: NodeView) -> NodeVerdicts | None:
        zones = nodes.fact(("tdm", "zone"), _zone_of, object)
        revocable = zones != ""
        if not revocable.any():
            return None
        verdicts = NodeVerdicts.accept(len(nodes))
        closed = revocable & ~np.isin(zones, sorted(self._open_zones))
        verdicts.reject(
            closed, "the node's revocable zone is not open", Code.UNRESOLVABLE, self.name
        )
        if not task.revocable_zone:
            verdicts.reject(
                revocable, "not allowed on a revocable node", Code.UNRESOLVABLE, self.name
            )
        return verdicts

    @hookimpl(scope="static")
    def batch_node_order(self, task: Task, nodes: NodeView) -> np.ndarray | None:
        if not task.revocable_zone or not self._open_zones:
            return None
        zones = nodes.fact(("tdm", "zone"), _zone_of, object)
        return np.where(np.isin(zones, sorted(self._open_zones)), _MAX_SCORE, 0.0)

    # -- gangs

    @hookimpl
    def job_pipelined(self, job: Job) -> int:
        return PERMIT if job.is_pipelined() else REJECT

    @hookimpl
    def job_starving(self, job: Job) -> bool:
        return not job.preemptable and bool(job.count(TaskStatus.PENDING))

    # -- victims

    @hookimpl
    def preemptable(self, preemptor: Task, candidates: Sequence[Task]) -> Sequence[Task]:
        """Volcano's rule: only a task that is itself not preemptable may preempt.

        A pod is preemptable unless its annotation denies it.
        """
        if preemptor.preemptable or preemptor.revocable_zone:
            return []
        return _within_budgets(task for task in candidates if not self._zone(task))

    @hookimpl
    def victim_tasks(self, tasks: Sequence[Task]) -> Sequence[Task]:
        memory, now = self.session.memory, self.session.now
        last = memory.get(self.name)
        if last is not None and now < last + self.options.evict_period:
            return []
        memory[self.name] = now
        closed = self.options.zones.keys() - self._open_zones
        return _within_budgets(task for task in tasks if self._zone(task) in closed)

    def _zone(self, task: Task) -> str:
        node = self.session.nodes.get(task.node)
        return "" if node is None else node.labels.get(ZONE, "")


def is_open(window: str, now: float) -> bool:
    """Whether a time is in the window of its own day, both ends included."""
    match = _WINDOW.fullmatch(window)
    assert match is not None  # checked with the options
    from_hour, from_minute, to_hour, to_minute = map(int, match.groups())
    midnight = datetime.fromtimestamp(now, UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    start = midnight.timestamp() + (from_hour * 60 + from_minute) * 60
    end = midnight.timestamp() + (to_hour * 60 + to_minute) * 60
    return start <= now <= (end if start < end else end + _DAY)


def _zone_of(node: Node) -> str:
    return node.labels.get(ZONE, "")


def _within_budgets(candidates: Iterable[Task]) -> list[Task]:
    """Running, preemptable tasks, of each job as many as its budget allows."""
    selected: Counter[str] = Counter()
    allowed: dict[str, int] = {}
    victims = []
    for task in candidates:
        job = task.job
        if job is None or not task.preemptable or task.status is not TaskStatus.RUNNING:
            continue
        if job.uid not in allowed:
            allowed[job.uid] = max_evictions(job)
        if selected[job.uid] < allowed[job.uid]:
            selected[job.uid] += 1
            victims.append(task)
    return victims
