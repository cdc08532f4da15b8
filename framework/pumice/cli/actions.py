"""``pumice actions``: list the installed actions, or show one."""

from __future__ import annotations

import click

from pumice.cli._complete import complete_parts
from pumice.cli._options import output_option
from pumice.cli._parts import list_parts, show_part


@click.command("actions")
@click.argument("name", required=False, shell_complete=complete_parts("action"))
@output_option
def command(name: str | None, output: str) -> None:
    """List the installed actions, or show one with its options.

    An action that cannot be loaded is listed with the reason.
    """
    if name is None:
        list_parts("action", output)
    else:
        show_part("action", name, output)
