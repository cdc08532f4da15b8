"""Let jobs into their queues only while the cluster, somewhat overcommitted, can hold them."""

from __future__ import annotations

from pydantic import Field, field_validator

from pumice import PERMIT, Job, Plugin, Resource, hookimpl
from pumice_builtin_plugins.quota.min_resources import (
    deduct_gated,
    min_request,
    refuse,
    runs_at_minimum,
    unmet_minimum,
)

_FACTOR = 1.2


class Overcommit(Plugin):
    """Admit jobs while the minimums of all admitted ones fit into a multiple of the cluster."""

    class Options(Plugin.Options):
        factor: float = Field(
            _FACTOR,
            alias="overcommit-factor",
            description="Multiple of the cluster that may be promised; below 1 counts as 1.2.",
        )

        @field_validator("factor")
        @classmethod
        def _at_least_one(cls, value: float) -> float:
            return value if value >= 1 else _FACTOR

    @hookimpl
    def on_session_open(self) -> None:
        session = self.session
        dimensions = session.nodes.dimensions
        total = dimensions.resource(session.cluster.total).scaled(self.options.factor)
        self._idle = total.sub(dimensions.resource(session.nodes.used.sum(axis=0)))
        self._inqueue = Resource()
        for job in session.jobs.values():
            if job.phase == "Inqueue" and job.min_resources is not None:
                self._inqueue.add(deduct_gated(job, min_request(job)))
            elif runs_at_minimum(job):
                self._inqueue.add(deduct_gated(job, unmet_minimum(session, job)))

    @hookimpl
    def job_enqueueable(self, job: Job) -> int:
        minimum = min_request(job)
        _, over = self._inqueue.plus(minimum).less_equal_in(self._idle, minimum)
        return refuse(job, "resource in cluster is overused", "overused", over) if over else PERMIT

    @hookimpl
    def job_enqueued(self, job: Job) -> None:
        self._inqueue.add(deduct_gated(job, min_request(job)))
