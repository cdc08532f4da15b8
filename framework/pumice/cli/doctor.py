"""``pumice doctor``: report problems of the installed distributions."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version

import click

from pumice import __version__
from pumice.cli._options import output_option
from pumice.cli._output import print_json
from pumice.discovery import KINDS, OURS, Catalog
from pumice.errors import LoadError


@dataclass(frozen=True, slots=True)
class Finding:
    """One result: ``check`` is its kind, ``wrong`` whether it must be fixed."""

    check: str
    text: str
    hint: str = ""
    wrong: bool = True


@click.command("doctor")
@output_option
@click.pass_context
def command(ctx: click.Context, output: str) -> None:
    """Report problems of the installed distributions; exit status 1 if there are any.

    Checked are: parts that cannot be loaded or were written for another API version, names that two
    distributions install, methods that look like hooks but are not, deprecated names, and versions
    of Pumice's own distributions that differ.
    """
    catalog = Catalog()
    findings = [*_parts(catalog), *_versions()]
    counts = {kind: len(catalog.names(kind)) for kind in KINDS}
    wrong = sum(finding.wrong for finding in findings)
    if output == "json":
        listed = [asdict(finding) for finding in findings]
        print_json({"ok": not wrong, "findings": listed, "installed": counts})
    else:
        for finding in findings:
            click.echo(
                f"{'error' if finding.wrong else 'warning'}: {finding.check}: {finding.text}"
            )
            if finding.hint:
                click.echo(f"hint: {finding.hint}")
        checked = ", ".join(_counted(count, kind) for kind, count in counts.items())
        click.echo(f"checked {checked}: {f'{wrong} wrong' if wrong else 'all well'}")
    if wrong:
        ctx.exit(1)


def _counted(count: int, kind: str) -> str:
    one = kind.removesuffix("s")
    return f"{count} {one}" if count == 1 else f"{count} {one}s"


def _parts(catalog: Catalog) -> list[Finding]:
    findings = []
    for kind in KINDS:
        for line in catalog.listing(kind):
            if line.error is not None:
                findings.append(_error(line.error))
                continue
            assert line.loaded is not None
            what = f"{kind} {line.installed.name!r} ({line.installed.source.label})"
            findings += [Finding("not a hook", f"{what}: {w}") for w in line.loaded.warnings]
            findings += [
                Finding("old name", f"{what}: {text}", wrong=False)
                for text in line.loaded.deprecations
            ]
    return list(dict.fromkeys(findings))


def _error(error: LoadError) -> Finding:
    return Finding(error.reason, str(error), error.hint)


def _versions() -> list[Finding]:
    versions: dict[str, str] = {"pumice (the package that runs)": __version__}
    for name in OURS:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    if len(set(versions.values())) == 1:
        return []
    text = ", ".join(f"{name} {number}" for name, number in versions.items())
    return [
        Finding(
            "versions differ", text, "install the same version of all: pip install --upgrade pumice"
        )
    ]
