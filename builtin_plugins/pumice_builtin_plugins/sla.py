"""Jobs that have waited too long come first, and are let in and kept whatever their size."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import Field

from pumice import ABSTAIN, PERMIT, Duration, Job, Plugin, hookimpl
from pumice.manifests import MalformedError, duration

_KEYS = ("volcano.sh/sla-waiting-time", "sla-waiting-time")


class Sla(Plugin):
    """Longest waiting times, by policy or by the job's annotation ``volcano.sh/sla-waiting-time``.

    A permit only ends the vote of its tier: put this plugin into an earlier tier than those that
    would refuse the job.
    """

    class Options(Plugin.Options):
        waiting_time: Duration = Field(
            0.0,
            alias="sla-waiting-time",
            description="Longest waiting time of a job that names none (1h30m); 0: none.",
        )

    @hookimpl
    def on_session_open(self) -> None:
        general = self.options.waiting_time
        self._deadlines: dict[str, float] = {}
        for job in self.session.jobs.values():
            waiting = _own(job.group.annotations) or general
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
        return self._overdue(job)

    @hookimpl
    def job_pipelined(self, job: Job) -> int:
        return self._overdue(job)

    def _overdue(self, job: Job) -> int:
        deadline = self._deadlines.get(job.uid)
        return PERMIT if deadline is not None and self.session.now >= deadline else ABSTAIN


def _own(annotations: Mapping[str, str]) -> float:
    """The job's own waiting time, 0 where it names none that can be read.

    The old name of the annotation counts where the new one is absent.
    """
    key = next((key for key in _KEYS if key in annotations), None)
    try:
        return 0.0 if key is None else max(duration(annotations[key], key), 0.0)
    except MalformedError:
        return 0.0
