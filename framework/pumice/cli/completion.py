"""``pumice completion``: the script that teaches a shell our commands and names."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

_VARIABLE = "_PUMICE_COMPLETE"
_SHELLS = ("bash", "zsh", "fish")


@click.command("completion")
@click.argument("shell", type=click.Choice(_SHELLS))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print the script that makes SHELL complete commands, options and installed names.

    \b
    bash: eval "$(pumice completion bash)"            in ~/.bashrc
    zsh:  eval "$(pumice completion zsh)"             in ~/.zshrc
    fish: pumice completion fish > ~/.config/fish/completions/pumice.fish
    """
    found = get_completion_class(shell)
    assert found is not None
    completer = found(ctx.find_root().command, {}, "pumice", _VARIABLE)
    # The template alone: click's source() starts the shell to ask for its version.
    click.echo(completer.source_template % completer.source_vars())
