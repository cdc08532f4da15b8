"""What upstream schedulers really decide, replayed: as many cases as the installed parts allow."""

from collections import Counter
from collections.abc import Set
from pathlib import Path

import pytest

from pumice.scenarios import Result, Runner, find_files
from tests.sampling import few_and_all, sample

ALL = 10_000
"""More cases than any folder has."""


@pytest.mark.parametrize("group", ["actions", "derived", "directed", "plugins", "random"])
def test_volcano(shared: Path, group: str) -> None:
    replay(shared / "conformance" / "volcano" / group)


@pytest.mark.parametrize("group", ["actions", "directed", "integration_tests", "random"])
def test_kai(shared: Path, group: str) -> None:
    replay(shared / "conformance" / "kai" / group)


@few_and_all(5, ALL)
def test_mixed_clusters_of_volcano(shared: Path, count: int) -> None:
    replay(shared / "mixed" / "volcano", count)


@few_and_all(5, ALL)
def test_mixed_clusters_of_kai(shared: Path, count: int) -> None:
    # KAI goes through an unordered map here: which 17 jobs pass consolidation's limit of victims
    # differs from run to run, so the recorded decision is one of several.
    replay(shared / "mixed" / "kai", count, differing={"k-10-158"})


def replay(folder: Path, count: int = ALL, differing: Set[str] = frozenset()) -> None:
    """Run cases of a folder, all or a sample; one message has every failure in it.

    The files named in ``differing`` may decide otherwise than recorded.
    """
    if not folder.is_dir():
        pytest.skip(f"no cases in {folder}")
    runner = Runner(check=True)
    results, failed = list[Result](), list[Result]()
    files = list(find_files([folder]))
    for number in sample(str(folder), len(files), min(count, len(files))):
        file = files[number]
        of_file = runner.run_file(file)
        results += of_file
        failed += [r for r in of_file if r.failed and (r.error or file.stem not in differing)]
    assert results, f"{folder} holds no scenario"
    assert not failed, "\n".join([f"{len(failed)} of {len(results)} failed", *map(tell, failed)])
    if all(result.verdict == "skipped" for result in results):
        missing = Counter(" ".join(part) for result in results for part in result.missing)
        parts = ", ".join(f"{part} ({count})" for part, count in missing.most_common())
        pytest.skip(f"all {len(results)} cases need parts that are not installed: {parts}")


def tell(result: Result) -> str:
    lines = [result.error] if result.error else [str(mismatch) for mismatch in result.mismatches]
    return "\n    ".join([f"{result.id}: {result.title}", *lines])
