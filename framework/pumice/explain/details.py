"""What a plugin says its objection is based on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pumice.verdicts import VoteDetails

if TYPE_CHECKING:
    from pumice.plugin import Plugin


def details_of(plugin: Plugin, point: str, args: Sequence[Any]) -> VoteDetails | None:
    """What a plugin says its objection is based on; None if it does not say, or fails to."""
    try:
        details = plugin.vote_details(point, *args)
    except Exception:  # an explanation must not cost the decision
        return None
    return details if isinstance(details, VoteDetails) else None
