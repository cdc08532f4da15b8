"""What a cycle measured: the time of actions and plugins, and the shares of queues.

A backend with a method ``measured`` gets it after every cycle, for example to export metrics.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from pumice.telemetry.queues import queue_rows

if TYPE_CHECKING:
    from pumice.session.session import Session


@dataclass(frozen=True, slots=True)
class QueueUsage:
    """One queue at the end of a cycle; amounts by resource, in cores, bytes and whole devices."""

    queue: str
    """Its name."""
    weight: int
    """Its weight."""
    share: float | None
    """The largest part of a deserved resource that is allocated; None: nothing is deserved."""
    amounts: Mapping[str, Mapping[str, float]]
    """``allocated``, ``request``, ``deserved``, ``fair_share``, ``limit``: by resource."""


@dataclass(slots=True)
class CycleTelemetry:
    """What one cycle measured."""

    actions: dict[str, float] = field(default_factory=dict)
    """Seconds of each action."""
    plugins: dict[str, float] = field(default_factory=dict)
    """Seconds of each plugin's ``on_session_open``."""
    queues: list[QueueUsage] = field(default_factory=list)
    """All queues, each after its parent."""


@runtime_checkable
class TelemetryBackend(Protocol):
    """A backend that is given what every cycle measured."""

    def measured(self, telemetry: CycleTelemetry) -> None:
        """Called when the decisions of a cycle have been carried out."""
        ...


def queue_usage(session: Session) -> list[QueueUsage]:
    """The queues of a finished session."""
    names = session.nodes.dimensions.names

    def amounts(values: Mapping[str, float]) -> dict[str, float]:
        return {name: _in_units(name, float(value)) for name, value in values.items()}

    return [
        QueueUsage(
            row.queue,
            row.weight,
            row.share,
            {
                "allocated": amounts(dict(zip(names, row.allocated, strict=True))),
                "request": amounts(dict(zip(names, row.request, strict=True))),
                "deserved": amounts(row.deserved),
                "fair_share": amounts(row.fair_share),
                "limit": amounts(row.limit),
            },
        )
        for row in queue_rows(session)
    ]


def _in_units(name: str, value: float) -> float:
    """Only memory, storage and pods are counted in ones; all else in thousandths."""
    return value if name in ("memory", "ephemeral-storage", "pods") else value / 1000
