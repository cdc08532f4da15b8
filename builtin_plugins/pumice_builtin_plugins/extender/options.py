"""The options of the extender."""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import BeforeValidator, Field, model_validator

from pumice import Duration, Plugin
from pumice_builtin_plugins.extender.http import split_prefix, without_password


def _names(value: Any) -> Any:
    """Resource names from a list of names or of tables with a ``name``."""
    if not isinstance(value, list):
        return value
    return [item.get("name") if isinstance(item, dict) else item for item in value]


def _verb(name: str, meaning: str) -> Any:
    return Field("", alias=f"extender.{name}Verb", description=f"Path that {meaning}.")


class ExtenderOptions(Plugin.Options):
    """Where the service is, what it is asked, and what happens when it fails."""

    prefix: str = Field("", alias="extender.urlPrefix", description="URL before all paths.")
    timeout: Duration = Field(
        1.0, gt=0, alias="extender.httpTimeout", description="Longest time to wait for an answer."
    )
    ignorable: bool = Field(
        False, alias="extender.ignorable", description="Go on without the service when it fails."
    )
    max_failures: int = Field(
        3,
        ge=0,
        alias="extender.maxFailures",
        description="After so many failures in a row it is asked nothing for a while; 0: never.",
    )
    retry_after: Duration = Field(
        30.0,
        gt=0,
        alias="extender.retryAfter",
        description="Time until it is asked again, one question at first.",
    )
    managed: Annotated[list[str], BeforeValidator(_names)] = Field(
        default_factory=list,
        alias="extender.managedResources",
        description="Ask only for tasks that request one of these resources; empty: for all.",
    )
    session_open: str = _verb("onSessionOpen", "is notified when a cycle begins")
    session_close: str = _verb("onSessionClose", "is notified when a cycle ends")
    predicate: str = _verb("predicate", "decides whether a node fits a task")
    prioritize: str = _verb("prioritize", "scores nodes for a task")
    preemptable: str = _verb("preemptable", "selects victims of the same queue")
    reclaimable: str = _verb("reclaimable", "selects victims of other queues")
    overused: str = _verb("queueOverused", "decides whether a queue is overused")
    enqueueable: str = _verb("jobEnqueueable", "decides whether a job may be enqueued")
    enqueued: str = _verb("jobEnqueued", "is notified of enqueued jobs")
    ready: str = _verb("jobReady", "decides whether a job is ready")
    allocate: str = _verb("allocateFunc", "is notified of placements")
    deallocate: str = _verb("deallocateFunc", "is notified of evictions and undone placements")

    @model_validator(mode="after")
    def _reachable(self) -> Self:
        fields = type(self).model_fields.items()
        verbs = [n for n, f in fields if (f.alias or "").endswith("Verb") and getattr(self, n)]
        if verbs or self.prefix:
            try:
                split_prefix(self.prefix)
            except ValueError as error:
                raise ValueError(
                    f"extender.urlPrefix {error}, not {without_password(self.prefix)!r}"
                ) from None
        return self
