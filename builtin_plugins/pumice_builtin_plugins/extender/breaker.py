"""A circuit breaker: a service that fails again and again is left alone for a while."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class CircuitBreaker:
    """Counts failures in a row, across cycles.

    When there are too many it opens: the service is not asked until ``retry_at``. Then one more
    failure opens it again, and one answer closes it.
    """

    limit: int
    """So many failures in a row open it; 0: none do."""
    pause: float
    """Seconds that it stays open."""
    failures: int = 0
    """Failures in a row."""
    retry_at: float = 0.0
    """Epoch seconds until when nothing is asked."""
    last: str = ""
    """What the last failure was."""

    def is_open(self, now: float) -> bool:
        """Whether nothing may be asked now."""
        return now < self.retry_at

    def succeeded(self) -> None:
        """The service has answered."""
        self.failures = 0

    def failed(self, now: float, text: str) -> bool:
        """The service has not answered, or with nonsense; whether that opens the breaker."""
        self.failures += 1
        self.last = text
        if not self.limit or self.failures < self.limit:
            return False
        self.retry_at = now + self.pause
        return True
