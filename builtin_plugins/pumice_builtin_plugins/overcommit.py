"""Admit jobs only while the cluster, overcommitted by a factor, can hold their minimums."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
from pydantic import Field, field_validator

from pumice import PERMIT, REJECT, Job, Plugin, Resource, VoteDetails, hookimpl
from pumice.kube import shown
from pumice_builtin_plugins.quota.min_resources import (
    allocated_of,
    deduct_gated,
    has_gated,
    inqueue_of,
    is_admitted,
    min_request,
    minimum_rows,
    refuse,
    runs_at_minimum,
)

_FACTOR = 1.2


class Overcommit(Plugin):
    """Admit jobs while the minimums of all admitted jobs fit into a multiple of the cluster."""

    class Options(Plugin.Options):
        factor: float = Field(
            _FACTOR,
            alias="overcommit-factor",
            description="Multiple of the cluster that is offered; below 1 counts as 1.2.",
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
        self._overused: dict[Hashable, list[str]] = {}
        """By minimum: what the cluster has too little of for a job, until one is admitted."""
        minimums = minimum_rows(session)
        cpus = minimums[:, 0].tolist()
        running = []
        for number, job in enumerate(session.jobs.values()):
            if job.phase == "Pending":
                continue
            if is_admitted(job):
                # Volcano counts the whole minimum here, also what is allocated already.
                self._inqueue.add(deduct_gated(job, min_request(job)))
            elif runs_at_minimum(job):
                if cpus[number] < 0 or has_gated(job):
                    self._inqueue.add(inqueue_of(job, allocated_of(session, job)))
                else:
                    running.append((number, job.allocated))
        if running:
            numbers, allocated = zip(*running, strict=True)
            unmet = np.maximum(minimums[list(numbers)] - np.array(allocated), 0).sum(axis=0)
            self._inqueue.add(dimensions.resource(unmet))

    @hookimpl
    def job_enqueueable(self, job: Job) -> int:
        minimum = min_request(job)
        key = minimum.cpu, minimum.memory, tuple(minimum.scalars.items())
        overused = self._overused.get(key)
        if overused is None:
            _, overused = self._inqueue.plus(minimum).less_equal_in(self._idle, minimum)
            self._overused[key] = overused
        if overused:
            if not self.session.records_reasons:
                return REJECT
            return refuse(job, "resource in cluster is overused", "overused", overused)
        return PERMIT

    def vote_details(self, point: str, *args: Any) -> VoteDetails | None:
        if point != "job_enqueueable":
            return None
        minimum = min_request(args[0])
        _, short = self._inqueue.plus(minimum).less_equal_in(self._idle, minimum)
        if not short:
            return None
        name = short[0]
        text = (
            f"the cluster, counted {self.options.factor:g} times, has "
            f"{shown(name, self._idle.get(name))} {name} left: "
            f"{shown(name, self._inqueue.get(name))} are promised to jobs that were admitted, "
            f"{shown(name, minimum.get(name))} more asked for"
        )
        numbers = {"asked": minimum, "free": self._idle, "inqueue": self._inqueue}
        return VoteDetails(text, {name: amount.clone() for name, amount in numbers.items()})

    @hookimpl
    def job_enqueued(self, job: Job) -> None:
        self._overused.clear()
        self._inqueue.add(deduct_gated(job, min_request(job)))
