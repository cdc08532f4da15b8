"""The photographs of a session, without what builtin plugins only remember."""

from __future__ import annotations

from typing import Any

from pumice.session.session import Session
from pumice.testing import session_state
from pumice.testing.session_state import differences

CACHES = {("binpack", "_terms"), ("nodeorder", "_terms")}
"""(plugin, attribute) that only remembers what was computed."""

__all__ = ["CACHES", "differences", "photograph"]


def photograph(session: Session) -> dict[str, Any]:
    return session_state.photograph(session, CACHES)
