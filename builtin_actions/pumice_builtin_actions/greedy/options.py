"""Options that several actions have."""

from __future__ import annotations

from pydantic import Field

from pumice import Action

_ALIAS = "predicateErrorCacheEnable"


class ErrorCacheOptions(Action.Options):
    """For actions that may skip the nodes on which a task of the same role has failed."""

    predicate_error_cache: bool = Field(
        True,
        alias=_ALIAS,
        description="A node that failed for one task is not asked again for its role.",
    )


class IgnoredErrorCacheOptions(Action.Options):
    """For actions that Volcano gives the same option, without an effect on any decision."""

    without_effect = frozenset({_ALIAS})

    predicate_error_cache: bool = Field(
        True,
        alias=_ALIAS,
        description="Accepted for compatibility: each task is asked about all nodes.",
    )
