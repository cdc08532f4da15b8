"""What upstream schedulers really decide, replayed: as many cases as the installed parts allow."""

from collections import Counter
from pathlib import Path

import pytest

from pumice.scenarios import Result, Runner, find_files


@pytest.mark.parametrize("group", ["actions", "derived", "directed", "plugins", "random"])
def test_volcano(shared: Path, group: str) -> None:
    replay(shared / "conformance" / "volcano" / group)


@pytest.mark.parametrize("group", ["actions", "directed", "integration_tests", "random"])
def test_kai(shared: Path, group: str) -> None:
    replay(shared / "conformance" / "kai" / group)


def replay(folder: Path) -> None:
    """Run all cases of a folder; one message has every failure in it."""
    if not folder.is_dir():
        pytest.skip(f"no cases in {folder}")
    runner = Runner(check=True)
    results = [result for file in find_files([folder]) for result in runner.run_file(file)]
    assert results, f"{folder} holds no scenario"
    failed = [result for result in results if result.failed]
    assert not failed, "\n".join([f"{len(failed)} of {len(results)} failed", *map(tell, failed)])
    if all(result.verdict == "skipped" for result in results):
        missing = Counter(" ".join(part) for result in results for part in result.missing)
        parts = ", ".join(f"{part} ({count})" for part, count in missing.most_common())
        pytest.skip(f"all {len(results)} cases need parts that are not installed: {parts}")


def tell(result: Result) -> str:
    lines = [result.error] if result.error else [str(mismatch) for mismatch in result.mismatches]
    return "\n    ".join([f"{result.id}: {result.title}", *lines])
