"""``pumice top``: queues, nodes and jobs of each cycle as a page of the terminal."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click

from pumice import log
from pumice.backends import Backend
from pumice.backends.memory import MemoryBackend
from pumice.cli._cluster import adopt_pods, advance, input_warnings, make_backend
from pumice.cli._live import is_live, live_backend, run_live
from pumice.cli._options import backend_option, backend_set_option, now_option, policy_options
from pumice.cli._output import colour_setting, print_warnings, width
from pumice.cli._progress import Progress
from pumice.cli.top.app import App
from pumice.cli.top.cycles import Cycles
from pumice.cli.top.page import MOST, Content, plain_page
from pumice.cli.top.terminal import Terminal, is_interactive
from pumice.config import Policy, PolicyHolder, load_policy
from pumice.discovery import Catalog
from pumice.errors import PumiceError
from pumice.scheduler import Scheduler


@click.command("top")
@click.argument("files", nargs=-1, metavar="[FILES...]")
@policy_options
@click.option("--once", is_flag=True, help="Print one page as plain text, as into a pipe.")
@click.option(
    "--cycles",
    type=click.IntRange(1),
    help="How many cycles; without it one for --once, else until you quit.",
)
@click.option(
    "-d",
    "--delay",
    type=click.FloatRange(0),
    default=2.0,
    show_default=True,
    metavar="SECONDS",
    help="Seconds between two cycles of FILES; a live cluster says when one is due.",
)
@click.option("--full", is_flag=True, help=f"In plain text, all rows, not {MOST} of each table.")
@backend_option("memory")
@backend_set_option
@now_option
def command(
    files: tuple[str, ...],
    policy: str | None,
    preset: str | None,
    overrides: tuple[str, ...],
    once: bool,
    cycles: int | None,
    delay: float,
    full: bool,
    backend_name: str,
    settings: tuple[str, ...],
    now: float | None,
) -> None:
    """Show queues, nodes and jobs of each cycle in the terminal.

    FILES are those of 'pumice run': the cluster is embedded, and between cycles bound pods start
    and evicted pods disappear. With --backend kubernetes the cycles are decided from the live
    cluster and nothing in it is changed: the page shows what this policy would do next.

    '?' lists the keys: they pause, switch the pane, filter, and explain the selected job.
    """
    catalog = Catalog()
    interactive = is_interactive() and not once
    if not interactive:
        cycles = cycles or 1

    def load() -> Policy:
        return load_policy(policy, preset=preset, overrides=overrides, catalog=catalog)

    chosen = load()
    cls = catalog.load("backend", backend_name).cls
    if is_live(cls):
        for given, text in ((files, "FILES"), (now is not None, "--now")):
            if given:
                raise PumiceError(f"the backend {backend_name!r} does not take {text}")
        live = live_backend(backend_name, cls, settings, chosen, dry_run=True)
        print_warnings(chosen.warnings)
        top = Cycles(Scheduler(live, PolicyHolder(load)))
        policy_file = Path(policy) if policy else None

        def live_loop() -> None:
            run_live(live, top.scheduler, top.step, cycles=cycles, policy_file=policy_file)

        _show(f"pumice top {backend_name}", top, live_loop, interactive, full, live.stop)
        return
    with Progress("loading", ticks=True):
        backend = make_backend(backend_name, files, chosen, catalog, now=now, settings=settings)
    print_warnings([*chosen.warnings, *input_warnings(backend)])
    adopt_pods(backend, chosen)
    top = Cycles(Scheduler(backend, chosen))

    def loop() -> None:
        _run_embedded(top, backend, cycles, delay if interactive else 0)

    _show("pumice top", top, loop, interactive, full)


def _run_embedded(top: Cycles, backend: Backend, cycles: int | None, delay: float) -> None:
    scheduler = top.scheduler
    while True:
        top.step()
        if scheduler.cycle == cycles or not top.sleep(delay):
            break
        if isinstance(backend, MemoryBackend):
            backend.history.clear()
        advance(backend, scheduler.policy)
    scheduler.close()


def _show(
    title: str,
    top: Cycles,
    loop: Callable[[], None],
    interactive: bool,
    full: bool,
    stop: Callable[[], None] = lambda: None,
) -> None:
    if not interactive:
        loop()
        if top.last is None:
            raise PumiceError("the cluster was stopped before a cycle was due")
        # Without the time that it took: the same input gives the same text.
        content = Content(title, top.last.view)
        click.echo("\n".join(plain_page(content, width(), full=full)))
        return
    terminal = Terminal()
    app = App(title, top, terminal, colour=colour_setting() is not False)
    root = click.get_current_context().find_root().params
    log.logger.remove()  # it would write into the page
    log.logger.add(
        lambda message: setattr(app, "notice", message.record["message"]),
        level="ERROR" if root.get("quiet") else "WARNING",
    )
    try:
        with terminal.opened():
            top.start(loop)
            app.run()
    except KeyboardInterrupt:
        pass
    finally:
        log.setup(-1 if root.get("quiet") else 0, json=bool(root.get("log_json")))
        top.stop()
        stop()
        if not top.ended.wait(_PATIENCE):
            click.echo("a cycle was still being decided; it was dropped", err=True)


_PATIENCE = 5.0
"""Seconds for the last cycle to end."""
