"""``pumice dump``: write the objects of a live cluster to a file."""

from __future__ import annotations

from pathlib import Path

import click
import msgspec

from pumice._replace import check_target, replace_file
from pumice.cli._live import is_live, live_backend
from pumice.cli._options import backend_option, backend_set_option, policy_options
from pumice.config import load_policy
from pumice.discovery import Catalog
from pumice.errors import PumiceError


@click.command("dump")
@click.option(
    "-o",
    "--output",
    "target",
    required=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The file to write; '-' is the standard output.",
)
@policy_options
@backend_option("kubernetes", "Where the objects come from")
@backend_set_option
def command(
    target: Path,
    policy: str | None,
    preset: str | None,
    overrides: tuple[str, ...],
    backend_name: str,
    settings: tuple[str, ...],
) -> None:
    """Write the objects of a live cluster that scheduling reads, for 'pumice run FILE'.

    Secrets are not read, and environment and commands of containers are left out.
    """
    catalog = Catalog()
    chosen = load_policy(policy, preset=preset, overrides=overrides, catalog=catalog)
    cls = catalog.load("backend", backend_name).cls
    if not is_live(cls):
        raise PumiceError(f"the backend {backend_name!r} has no live cluster to dump")
    to_file = str(target) != "-"
    if to_file:
        check_target(target)
    items = list(live_backend(backend_name, cls, settings, chosen, dry_run=True).dump())
    text = msgspec.json.encode({"apiVersion": "v1", "kind": "List", "items": items}) + b"\n"
    if not to_file:
        click.echo(text, nl=False)
        return
    replace_file(target, text)
    click.echo(f"{target}: {len(items)} objects")
