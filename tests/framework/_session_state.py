"""The state of a session, without the caches of the built-in plugins."""

from __future__ import annotations

from typing import Any

from pumice.session.session import Session
from pumice.testing import session_state as states
from pumice.testing.session_state import differences

CACHES = {("binpack", "_terms"), ("nodeorder", "_terms")}
"""(plugin, attribute) that only remembers what was computed."""

__all__ = ["CACHES", "differences", "session_state"]


def session_state(session: Session) -> dict[str, Any]:
    return states.session_state(session, CACHES)
