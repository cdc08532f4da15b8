"""The ``pumice`` command: global options, subcommands, and the printing of errors."""

from __future__ import annotations

import errno
from importlib import import_module
from typing import Any, NamedTuple

import click

from pumice import __version__
from pumice._nearest import did_you_mean
from pumice.errors import PumiceError


class LogChoice(NamedTuple):
    """What the user wants to be logged."""

    level: int
    """-1: errors only, 0: warnings, 1: decisions, up to 5: everything."""
    job: str
    """The only job that is logged; empty: all."""


COMMANDS = {
    "run": ("pumice.cli.run:command", "Schedule a cluster and print the decisions."),
    "explain": (
        "pumice.cli.explain:command",
        "Explain why a job waits, runs or was evicted.",
    ),
    "top": (
        "pumice.cli.top.command:command",
        "Show queues, nodes and jobs of each cycle in the terminal.",
    ),
    "serve": ("pumice.cli.serve:command", "Show the cycles of a cluster on a web page."),
    "dump": ("pumice.cli.dump:command", "Write the objects of a live cluster to a file."),
    "shadow": (
        "pumice.cli.shadow:command",
        "Compare a policy with the scheduler in charge of a live cluster.",
    ),
    "test": ("pumice.cli.test:command", "Run scenario files: unit tests of a policy."),
    "simulate": ("pumice.cli.simulate:command", "Replay a trace and compare policies."),
    "diff": ("pumice.cli.diff:command", "Show what two policies decide differently."),
    "tune": ("pumice.cli.tune:command", "Search settings of a policy by simulation."),
    "plugins": ("pumice.cli.plugins:command", "List the installed plugins, or show one."),
    "actions": ("pumice.cli.actions:command", "List the installed actions, or show one."),
    "hooks": ("pumice.cli.hooks:command", "List the extension points, or explain one."),
    "config": ("pumice.cli.config:command", "Check, show or import a policy."),
    "new": (
        "pumice.cli.new:command",
        "Create a distribution of your own: a plugin, an action, …",
    ),
    "doctor": ("pumice.cli.doctor:command", "Report problems of the installed distributions."),
    "completion": ("pumice.cli.completion:command", "Print the completion script of a shell."),
}
"""Subcommands: module and line of help, so that the help text imports none of them."""


class Subcommands(click.Group):
    """A group that answers an unknown command with the one that was probably meant."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        known = self.list_commands(ctx)
        if args[0] not in known and not args[0].startswith("-"):
            near = did_you_mean(args[0], known)
            raise click.UsageError(f"there is no command {args[0]!r}{near}", ctx)
        return super().resolve_command(ctx, args)


class Commands(Subcommands):
    """A group whose commands are imported when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[cmd_name][0].partition(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])

    def make_context(self, *args: Any, **extra: Any) -> click.Context:
        try:
            return super().make_context(*args, **extra)
        except click.UsageError as error:
            raise click.exceptions.Exit(_print_usage_error(error)) from error

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except click.UsageError as error:
            status = _print_usage_error(error)
        except (click.ClickException, click.Abort, click.exceptions.Exit):
            raise
        except Exception as error:
            if ctx.params.get("debug") or getattr(error, "errno", None) == errno.EPIPE:
                raise
            status = _print_exception(error)
        ctx.exit(status)


def _print_exception(error: Exception) -> int:
    """Print an error for the user; returns the exit status."""
    if isinstance(error, PumiceError):
        _print_error(str(error), error.hint)
        return error.exit_status
    hint = "this is a bug; 'pumice --debug …' shows the traceback"
    _print_error(f"{type(error).__name__}: {error}", hint)
    return 1


def _print_usage_error(error: click.UsageError) -> int:
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        error.show()
    else:
        message = error.format_message().rstrip(".")
        for words, plain in _PLAIN_WORDS.items():
            message = message.replace(words, plain)
        command = error.ctx.command_path if error.ctx else "pumice"
        _print_error(message[:1].lower() + message[1:], f"see '{command} --help'")
    return error.exit_code


_PLAIN_WORDS = {
    "is not a valid float range": "is not a number",
    "is not a valid integer range": "is not a whole number",
}
"""Click's words for what a value should be, and those for a user."""


def _print_error(message: str, hint: str) -> None:
    click.echo(f"error: {message}", err=True)
    for line in hint.splitlines():
        click.echo(f"hint: {line}", err=True)


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"]},
    no_args_is_help=True,
)
@click.version_option(__version__, prog_name="pumice", message="%(prog)s %(version)s")
@click.option(
    "-v",
    "--verbose",
    count=True,
    help="Log decisions; -vv also skips, tries, commits and discards, -vvv votes, -vvvv all "
    "questions.",
)
@click.option(
    "--log-level",
    type=click.IntRange(0, 5),
    help="The same as a number: 0 warnings only … 4 as -vvvv, 5 also orders and scores.",
)
@click.option("--log-job", default="", metavar="NAME", help="Log only what concerns this job.")
@click.option("-q", "--quiet", is_flag=True, help="No warnings about objects, only errors.")
@click.option("--log-json", is_flag=True, help="Log one JSON object per line.")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
def main(
    verbose: int, log_level: int | None, log_job: str, quiet: bool, log_json: bool, debug: bool
) -> None:
    """A batch and GPU cluster scheduler made of plugins."""
    from pumice import log
    from pumice.cli._output import colour_setting

    level = verbose if log_level is None else log_level
    context = click.get_current_context()
    context.color = colour_setting()
    context.obj = LogChoice(-1 if quiet else level, log_job)
    log.setup(context.obj.level, json=log_json, job=log_job)
