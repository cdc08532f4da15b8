"""``pumice completion``: print the completion script of a shell."""

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
    completion = get_completion_class(shell)
    assert completion is not None
    completer = completion(ctx.find_root().command, {}, "pumice", _VARIABLE)
    # Not click's source(), which runs the shell to check its version.
    click.echo(completer.source_template % completer.source_vars())
