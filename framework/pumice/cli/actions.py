"""``pumice actions``: list the installed actions, or show one."""

from __future__ import annotations

from pumice.cli._parts import part_command

command = part_command(
    "action",
    """List the installed actions, or show one with its options.

    An action that cannot be loaded is listed with the reason.
    """,
)
