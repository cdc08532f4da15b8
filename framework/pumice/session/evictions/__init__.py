"""What every eviction must satisfy, whichever action decides it (``[evictions]`` of the policy)."""

from __future__ import annotations

from pumice.session.evictions.guard import EvictionGuard
from pumice.session.evictions.reservations import honour_reservations

__all__ = ["EvictionGuard", "honour_reservations"]
