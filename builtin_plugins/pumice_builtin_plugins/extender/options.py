"""The options of the extender."""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import BeforeValidator, Field, model_validator

from pumice import Duration, Plugin
from pumice_builtin_plugins.extender.http import split_prefix


def _names(value: Any) -> Any:
    """Resource names from the list, also where each stands in a table of its own."""
    if not isinstance(value, list):
        return value
    return [item.get("name") if isinstance(item, dict) else item for item in value]


def _verb(name: str, meaning: str) -> Any:
    return Field("", alias=f"extender.{name}Verb", description=f"Path that {meaning}.")


class ExtenderOptions(Plugin.Options):
    """Where the service is, what it is asked, and whether it matters when it fails."""

    prefix: str = Field("", alias="extender.urlPrefix", description="URL above all paths.")
    timeout: Duration = Field(
        1.0, gt=0, alias="extender.httpTimeout", description="Most time that an answer takes."
    )
    ignorable: bool = Field(
        False, alias="extender.ignorable", description="A failure of the service is no matter."
    )
    managed: Annotated[list[str], BeforeValidator(_names)] = Field(
        default_factory=list,
        alias="extender.managedResources",
        description="Only tasks that ask for one of these resources concern it; none: all.",
    )
    session_open: str = _verb("onSessionOpen", "hears of a cycle's beginning")
    session_close: str = _verb("onSessionClose", "hears of a cycle's end")
    predicate: str = _verb("predicate", "tells whether a node can take a task")
    prioritize: str = _verb("prioritize", "scores nodes for a task")
    preemptable: str = _verb("preemptable", "names victims of the same queue")
    reclaimable: str = _verb("reclaimable", "names victims of other queues")
    overused: str = _verb("queueOverused", "tells whether a queue has all it deserves")
    enqueueable: str = _verb("jobEnqueueable", "tells whether a job may enter its queue")
    enqueued: str = _verb("jobEnqueued", "hears of jobs that were let in")
    ready: str = _verb("jobReady", "tells whether a job is ready")
    allocate: str = _verb("allocateFunc", "hears of placements")
    deallocate: str = _verb("deallocateFunc", "hears of evictions and undone placements")

    @model_validator(mode="after")
    def _reachable(self) -> Self:
        fields = type(self).model_fields.items()
        verbs = [n for n, f in fields if (f.alias or "").endswith("Verb") and getattr(self, n)]
        if verbs or self.prefix:
            try:
                split_prefix(self.prefix)
            except ValueError as error:
                raise ValueError(f"extender.urlPrefix {error}, not {self.prefix!r}") from None
        return self
