"""``pumice test``: scenario files are unit tests of a policy."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from pathlib import Path

import click

from pumice._replace import replace_file
from pumice.cli._options import plain_option
from pumice.cli._progress import Progress
from pumice.errors import ScenarioError
from pumice.scenarios import Result, Runner, find_files

_MARK = {"passed": "pass", "failed": "FAIL", "error": "FAIL", "skipped": "skip"}
_COLOUR = {"passed": "green", "failed": "red", "error": "red", "skipped": "yellow"}


@click.command("test")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option(
    "-k", "word", default="", metavar="WORD", help="Only scenarios with WORD in id, title or path."
)
@click.option(
    "--json",
    "report",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write every result to FILE.",
)
@click.option("--strict", is_flag=True, help="Count skipped scenarios as failed.")
@click.option("--check", is_flag=True, help="Check the accounts after every action.")
@plain_option
@click.option("-v", "--verbose", is_flag=True, help="Print a line for every scenario.")
@click.option(
    "-j", "--jobs", default=1, type=click.IntRange(0), show_default=True, metavar="N",
    help="Run N processes; 0: one for each core.",
)  # fmt: skip
@click.pass_context
def command(
    ctx: click.Context,
    paths: tuple[str, ...],
    word: str,
    report: Path | None,
    strict: bool,
    check: bool,
    plain: tuple[str, ...],
    verbose: bool,
    jobs: int,
) -> None:
    """Run every scenario in the files and directories PATH.

    A scenario is a cluster, a policy and the expected decisions. Exit status 1 if one fails.
    """
    results: list[Result] = []
    files = list(dict.fromkeys(find_files(paths)))
    with Progress("testing", "files", len(files)) as progress:
        for done, results_of_file in enumerate(
            _run(files, word, check, plain, jobs or os.cpu_count() or 1), 1
        ):
            progress.update(done)
            results += results_of_file
            with progress.hidden():
                for result in results_of_file:
                    _print_result(result, verbose=verbose, strict=strict)
    if not results:
        where = ", ".join(paths)
        named = f" with {word!r} in its id, title or path" if word else ""
        raise ScenarioError(f"{where}: there is no scenario{named}")
    if report is not None:
        _write(report, results)
    _print_missing(results)
    counts = Counter(_counted(result) for result in results)
    click.echo(", ".join(f"{counts[key]} {key}" for key in ("passed", "failed", "skipped")))
    ctx.exit(1 if counts["failed"] or (strict and counts["skipped"]) else 0)


def _run(
    files: list[Path], word: str, check: bool, plain: tuple[str, ...], jobs: int
) -> Iterator[list[Result]]:
    """The results of each file."""
    if jobs > 1 and len(files) > 1:
        with ProcessPoolExecutor(min(jobs, len(files))) as pool:
            yield from pool.map(partial(_run_one, word, check, plain), files, chunksize=8)
        return
    runner = Runner(check=check, plain=plain)
    for file in files:
        yield list(runner.run_file(file, word))


@cache
def _runner(check: bool, plain: tuple[str, ...]) -> Runner:
    """The one runner of a worker process."""
    return Runner(check=check, plain=plain)


def _run_one(word: str, check: bool, plain: tuple[str, ...], file: Path) -> list[Result]:
    return list(_runner(check, plain).run_file(file, word))


def _counted(result: Result) -> str:
    return "failed" if result.failed else result.verdict


def _print_result(result: Result, *, verbose: bool, strict: bool) -> None:
    for warning in result.warnings:
        click.echo(f"warning: {result.id}: {warning}", err=True)
    if not (verbose or result.failed or (strict and result.verdict == "skipped")):
        return
    mark = click.style(_MARK[result.verdict], fg=_COLOUR[result.verdict])
    click.echo(f"{mark} {result.id}" + (f": {result.title}" if result.title else ""))
    if result.failed and result.file not in result.id:
        click.echo(f"     in {result.file}")
    for line in result.error.splitlines():
        click.echo(f"     {line}")
    for mismatch in result.mismatches:
        click.echo(f"     {mismatch}")
    for job, reason in result.reasons:
        click.echo(f"     {job} waits: {reason}")
    if result.verdict == "skipped":
        click.echo(f"     not installed: {_spell(result.missing)}")


def _spell(parts: Iterable[tuple[str, str]]) -> str:
    return ", ".join(f"{kind} {name}" for kind, name in parts)


def _print_missing(results: Iterable[Result]) -> None:
    counts = Counter(part for result in results for part in result.missing)
    if not counts:
        return
    click.echo("skipped because parts are not installed:")
    for (kind, name), count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        times = "1 scenario" if count == 1 else f"{count} scenarios"
        click.echo(f"     {kind} {name}: {times}")


def _write(file: Path, results: Iterable[Result]) -> None:
    results = list(results)
    counts = Counter(_counted(result) for result in results)
    data = {
        **{key: counts[key] for key in ("passed", "failed", "skipped")},
        "scenarios": [result.as_json() for result in results],
    }
    replace_file(file, json.dumps(data, indent=1, ensure_ascii=False) + "\n")
