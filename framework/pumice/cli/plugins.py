"""``pumice plugins``: list the installed plugins, or show one."""

from __future__ import annotations

from pumice.cli._parts import part_command

command = part_command(
    "plugin",
    """List the installed plugins, or show one with its extension points and options.

    A plugin that cannot be loaded is listed with the reason.
    """,
)
