"""Options that actions with a queue tree have in common."""

from __future__ import annotations

from pydantic import Field

from pumice.action import Action


class QueueDepthOptions(Action.Options):
    """Options of actions that take jobs from a queue tree.

    A plugin that shows or predicts what such an action does finds its depth by this class.
    """

    queue_depth: int | None = Field(
        None,
        alias="queueDepth",
        ge=1,
        description="Most jobs of a leaf queue to consider; unlimited when absent.",
    )
    """Most jobs of a leaf queue to consider; None: all."""
