"""How far a job is: work done, checkpoints, and what a stop loses."""

from __future__ import annotations

import math

from pumice.simulation.record import JobRecord


class JobRun:
    """A job that has been submitted and is not done.

    It works while its minimum of pods runs, the faster the more of its pods do. A stop sets it back
    to its last checkpoint; the next start costs some time.
    """

    __slots__ = (
        "_checkpoint",
        "_done",
        "_overhead",
        "_rate",
        "_restart_cost",
        "_saved",
        "_since",
        "number",
        "pods",
        "queue",
        "record",
        "running",
    )

    def __init__(
        self, record: JobRecord, queue: int, *, checkpoint: float | None, restart_cost: float
    ) -> None:
        """``checkpoint``: seconds of work between two; None: none are made, 0: all is saved."""
        self.record = record
        self.queue = queue
        self.pods: dict[str, str] = {}
        """Running pods by uid → node."""
        self.running = False
        """Whether the minimum runs."""
        self.number = 0
        """Grows with every change of speed, so that an end that was foreseen before is void."""
        self._checkpoint = checkpoint
        self._restart_cost = restart_cost
        self._done = self._saved = self._overhead = self._rate = self._since = 0.0

    def _advance(self, now: float) -> None:
        elapsed = now - self._since
        self._since = now
        if not self._rate:
            return
        wasted = min(self._overhead, elapsed)
        if wasted:
            self._overhead -= wasted
            self.record.lost += wasted
        self._done += (elapsed - wasted) * self._rate

    def update(self, now: float) -> float | None:
        """The pods have changed; when the job will end, None: not as things are."""
        self._advance(now)
        self.number += 1
        job = self.record.job
        count = len(self.pods)
        if count < job.minimum:
            if self.running:
                self._stop()
            return None
        if not self.running:
            self.running = True
            if self.record.start is None:
                self.record.start = now
        self._rate = count / job.pods
        return now + self._overhead + max(job.duration - self._done, 0.0) / self._rate

    def _stop(self) -> None:
        self.running, self._rate = False, 0.0
        interval = self._checkpoint
        if interval is None:
            saved = 0.0
        elif interval:
            saved = max(self._saved, math.floor(self._done / interval) * interval)
        else:
            saved = self._done
        self.record.lost += self._done - saved
        self._done = self._saved = saved
        self._overhead = self._restart_cost
