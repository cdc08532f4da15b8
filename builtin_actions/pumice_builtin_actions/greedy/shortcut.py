"""The shortcut of the actions that place and evict task by task."""

from __future__ import annotations

from pumice import Shortcut

VICTIMS = Shortcut(
    "victims",
    "evictable tasks are cached by node for a whole action; nodes and queues that would stay too"
    " full without all of them are passed over, and so are nodes that failed like tasks, and tasks"
    " like one that failed",
    "evictable tasks are gathered for every task that needs room, and every node is tried",
)
