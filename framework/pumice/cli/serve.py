"""``pumice serve``: a web page on the cycles of a cluster."""

from __future__ import annotations

import socket
from collections.abc import Sequence

import click

from pumice.backends.memory import MemoryBackend
from pumice.cli._cluster import adopt_pods, advance, input_warnings, make_backend
from pumice.cli._options import policy_options
from pumice.config import load_policy
from pumice.discovery import Catalog
from pumice.errors import PumiceError
from pumice.scheduler import Scheduler
from pumice.serve.access import Access, choose_token
from pumice.serve.app import App
from pumice.serve.history import History
from pumice.serve.server import Server

PORT = 8642
EXAMPLE = "pumice serve dump.json, where kubectl get nodes,pods,… -A -o json wrote dump.json"
VARIABLE = "PUMICE_SERVE_TOKEN"


@click.command("serve")
@click.argument("files", nargs=-1, metavar="FILES...")
@policy_options
@click.option(
    "--cycles",
    default=1,
    type=click.IntRange(1, 200),
    show_default=True,
    help="Cycles to run at the start; the page can run more.",
)
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    metavar="ADDRESS",
    help="The address to listen on; one that others can reach demands a token.",
)
@click.option(
    "--port",
    default=PORT,
    type=click.IntRange(0, 65535),
    show_default=True,
    help="The port to listen on; 0: a free one.",
)
@click.option(
    "--token",
    envvar=VARIABLE,
    show_envvar=True,
    metavar="TOKEN",
    help="Demand this token; without it one is generated where one is demanded.",
)
def command(
    files: tuple[str, ...],
    policy: str | None,
    preset: str | None,
    overrides: tuple[str, ...],
    cycles: int,
    host: str,
    port: int,
    token: str | None,
) -> None:
    """Show the cycles of a cluster on a web page.

    FILES are those of 'pumice run': the cluster is embedded, and nothing outside this process is
    touched. The page shows queues, nodes, jobs and evictions of every cycle and explains each job.
    Ctrl-C ends it.
    """
    if not files:
        raise PumiceError("there is nothing to show: give FILES", hint=EXAMPLE)
    catalog = Catalog()
    chosen = load_policy(policy, preset=preset, overrides=overrides, catalog=catalog)
    backend = make_backend("memory", files, chosen, catalog)
    assert isinstance(backend, MemoryBackend)
    warnings = [*chosen.warnings, *input_warnings(backend)]
    adopt_pods(backend, chosen)
    access_token = choose_token(host, token)
    # Listen before the cycles run: a port in use is reported at once.
    with Server(host, port) as server:

        def between() -> None:
            backend.history.clear()
            advance(backend, chosen)

        history = History(Scheduler(backend, chosen, fresh=True), between)
        for _ in range(cycles):
            history.run_cycle()
        access = Access(host, server.port, access_token)
        server.app = App(history, access, {"files": files, "warnings": warnings})
        announce(host, server.port, access_token, warnings)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            click.echo("stopped", err=True)


def announce(
    host: str, port: int, token: str, warnings: Sequence[str], *, err: bool = False
) -> None:
    """Print the address of the page."""
    quiet = click.get_current_context().find_root().params.get("quiet")
    for warning in () if quiet else warnings:
        click.echo(f"warning: {warning}", err=True)
    name = f"[{host}]" if ":" in host else host
    if host in ("0.0.0.0", "::"):  # all addresses of the machine; none of them to be opened
        name = socket.gethostname()
    query = f"?token={token}" if token else ""
    click.echo(f"http://{name}:{port}/{query}", err=err)
    if not quiet:
        click.echo("Ctrl-C ends it", err=True)
