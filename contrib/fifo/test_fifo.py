from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner

from pumice.cli import main
from pumice_fifo import Fifo


@pytest.mark.parametrize(
    "left, right, expected",
    [
        pytest.param((10.0, 0), (20.0, 0), -1, id="earlier first"),
        pytest.param((20.0, 0), (10.0, 0), 1, id="later last"),
        pytest.param((20.0, 1000), (10.0, 0), 1, id="priority does not help"),
        pytest.param((10.0, 0), (10.0, 1000), 0, id="same instant, no opinion"),
    ],
)
def test_jobs_go_in_the_order_of_submission(
    left: tuple[float, int], right: tuple[float, int], expected: int
) -> None:
    session: Any = None  # the order does not use it
    jobs: list[Any] = [SimpleNamespace(created=c, priority=p) for c, p in (left, right)]
    assert Fifo(session, Fifo.Options(), "fifo").job_order(*jobs) == expected


def test_the_scenarios_hold() -> None:
    folder = Path(__file__).parent / "scenarios"
    result = CliRunner().invoke(main, ["test", str(folder)])
    assert result.exit_code == 0, result.output
    assert "1 passed" in result.output
