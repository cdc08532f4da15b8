"""The pytest plugin: fixtures, and scenario files as tests. Its imports are lazy."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pumice.scenarios import Result
    from pumice.testing.cluster import Cluster
    from pumice.testing.schedule import Schedule

SUFFIXES = tuple(f".scenario.{kind}" for kind in ("yaml", "yml", "toml", "json"))


@pytest.fixture
def cluster() -> Cluster:
    """An empty cluster to build on: ``cluster.nodes("a", gpu=8).job("j", tasks=2, gpu=1)``."""
    from pumice.testing.cluster import Cluster

    return Cluster()


@pytest.fixture
def schedule(cluster: Cluster) -> Schedule:
    """Runs a policy on the cluster: ``schedule(tiers=[["gang", "binpack"]]).placed("j")``."""
    from pumice.testing.schedule import Schedule

    return Schedule(cluster)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    if not file_path.name.endswith(SUFFIXES):
        return None
    scenarios: pytest.Collector = ScenarioFile.from_parent(parent, path=file_path)
    return scenarios


class ScenarioFile(pytest.File):
    """A file of scenarios."""

    def collect(self) -> Iterator[pytest.Item]:
        from pumice.errors import ScenarioError
        from pumice.scenarios import read_file
        from pumice.scenarios.runner import names_of

        try:
            texts = read_file(self.path)
        except ScenarioError as error:
            raise self.CollectError(
                f"{error} ({error.hint})" if error.hint else str(error)
            ) from None
        for number, text in enumerate(texts):
            id, title = names_of(text)
            name = id or title or self.path.name.partition(".")[0]
            if len(texts) > 1 and not id:
                name = f"{name}[{number}]"
            yield ScenarioItem.from_parent(self, name=name, text=bytes(text))


class ScenarioItem(pytest.Item):
    """One scenario."""

    def __init__(self, *, text: bytes, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.text = text

    def runtest(self) -> None:
        from pumice.scenarios import Runner

        result = Runner(check=True).run_text(self.text, self.path, self.name)
        if result.verdict == "skipped":
            missing = ", ".join(f"{kind} {name}" for kind, name in result.missing)
            pytest.skip(f"not installed: {missing}")
        if result.failed:
            raise ScenarioFailure(result)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, ScenarioFailure):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.path, None, self.name


class ScenarioFailure(Exception):  # noqa: N818 - a test that failed, not a program
    """The decisions that differ from the expected ones, and why jobs are pending."""

    def __init__(self, result: Result) -> None:
        lines = [f"{result.file}: {result.id}", *result.error.splitlines()]
        lines += [str(mismatch) for mismatch in result.mismatches]
        lines += [f"{job} waits: {reason}" for job, reason in result.reasons]
        super().__init__("\n".join(lines))
