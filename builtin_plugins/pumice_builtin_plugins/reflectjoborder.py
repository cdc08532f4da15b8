"""Serve over HTTP the order in which the cycle takes up jobs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pumice import Job, Plugin, hookimpl
from pumice.gang import has_pending, is_ready_to_schedule
from pumice.solver import QueueDepthOptions, QueueTree

PATH = "/get-job-order"


class ReflectJobOrder(Plugin):
    """Serve the order in which the allocating action takes up jobs, computed when the cycle begins.

    ``/get-job-order`` returns ``{"global_order": [{"id", "priority"}], "queue_order": {queue:
    [...]}}``. List it last in the policy: plugins that open their session later do not take part.
    """

    @hookimpl
    def on_session_open(self) -> None:
        waiting = [
            job
            for job in self.session.jobs.values()
            if has_pending(job) and is_ready_to_schedule(job)
        ]
        tree = QueueTree(self.session, waiting, depth=self._depth())
        self._order: list[Job] = []
        while tree:
            self._order.append(tree.pop())

    def _depth(self) -> int | None:
        """The queue depth of the policy's allocating action; None: unlimited."""
        for entry in self.session.policy.actions:
            if entry.cls.allocates and isinstance(entry.options, QueueDepthOptions):
                return entry.options.queue_depth
        return None

    @hookimpl
    def http_handlers(self) -> Mapping[str, Callable[..., Any]]:
        return {PATH: self._job_orders}

    def _job_orders(self) -> dict[str, Any]:
        queues: dict[str, list[dict[str, Any]]] = {}
        for job in self._order:
            queues.setdefault(job.queue, []).append(_entry(job))
        return {"global_order": [_entry(job) for job in self._order], "queue_order": queues}


def _entry(job: Job) -> dict[str, Any]:
    return {"id": job.uid, "priority": job.priority}
