"""Service level agreement: jobs that have waited too long are ordered first and admitted."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import Field

from pumice import ABSTAIN, PERMIT, Duration, Job, Plugin, hookimpl
from pumice.manifests import MalformedError, duration

_KEYS = ("volcano.sh/sla-waiting-time", "sla-waiting-time")


class Sla(Plugin):
    """Maximum waiting times, by policy or by the job annotation ``volcano.sh/sla-waiting-time``.

    A permit only decides the vote of its own tier: put this plugin into an earlier tier than those
    that would reject the job.
    """

    class Options(Plugin.Options):
        waiting_time: Duration = Field(
            0.0,
            alias="sla-waiting-time",
            description="Maximum waiting time of a job without its own (1h30m); 0: none.",
        )

    @hookimpl
    def on_session_open(self) -> None:
        default = self.options.waiting_time
        self._deadlines: dict[str, float] = {}
        for job in self.session.jobs.values():
            waiting = _waiting_time(job.group.annotations) or default
            if waiting > 0:
                self._deadlines[job.uid] = job.created + waiting

    @hookimpl
    def job_order(self, left: Job, right: Job) -> int:
        l_key, r_key = self.job_order_key(left), self.job_order_key(right)
        return (l_key > r_key) - (l_key < r_key)

    @hookimpl
    def job_order_key(self, job: Job) -> tuple[bool, float]:
        deadline = self._deadlines.get(job.uid)
        return (True, 0.0) if deadline is None else (False, deadline)

    @hookimpl
    def job_enqueueable(self, job: Job) -> int:
        return self._permit_overdue(job)

    @hookimpl
    def job_pipelined(self, job: Job) -> int:
        return self._permit_overdue(job)

    def _permit_overdue(self, job: Job) -> int:
        deadline = self._deadlines.get(job.uid)
        return PERMIT if deadline is not None and self.session.now >= deadline else ABSTAIN


def _waiting_time(annotations: Mapping[str, str]) -> float:
    """The job's own waiting time; 0 where it has none or a malformed one.

    The annotation's old name counts where the new one is absent.
    """
    key = next((key for key in _KEYS if key in annotations), None)
    try:
        return 0.0 if key is None else max(duration(annotations[key], key), 0.0)
    except MalformedError:
        return 0.0
