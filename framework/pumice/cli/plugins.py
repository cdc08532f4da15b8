"""``pumice plugins``: list the installed plugins, or show one."""

from __future__ import annotations

import click

from pumice.cli._complete import complete_parts
from pumice.cli._options import output_option
from pumice.cli._parts import list_parts, show_part


@click.command("plugins")
@click.argument("name", required=False, shell_complete=complete_parts("plugin"))
@output_option
def command(name: str | None, output: str) -> None:
    """List the installed plugins, or show one with its extension points and options.

    A plugin that cannot be loaded is listed with the reason.
    """
    if name is None:
        list_parts("plugin", output)
    else:
        show_part("plugin", name, output)
