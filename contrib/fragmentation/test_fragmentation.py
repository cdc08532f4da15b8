from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from pydantic import ValidationError

from pumice.cli import main
from pumice_fragmentation import Fragmentation

GPU = "nvidia.com/gpu"


def scores(free: list[float], requested: float, **options: Any) -> list[float] | None:
    """What nodes with so many free GPUs score for a task that requests some."""
    dimensions = SimpleNamespace(position={"cpu": 0, GPU: 1})
    session: Any = SimpleNamespace(nodes=SimpleNamespace(dimensions=dimensions))
    plugin = Fragmentation(session, Fragmentation.Options(**options), "fragmentation")
    plugin.on_session_open()
    task: Any = SimpleNamespace(vector=np.array([1000, int(requested * 1000)]))
    nodes: Any = SimpleNamespace(idle=np.array([[0, int(f * 1000)] for f in free]))
    result = plugin.batch_node_order(task, nodes)
    return None if result is None else [round(score, 1) for score in result.tolist()]


def test_the_table_of_the_readme() -> None:
    assert scores([8, 5, 4, 1], 1) == [30.4, 55.0, 33.3, 87.5]


@pytest.mark.parametrize(
    "free, requested, best",
    [
        pytest.param([8, 7], 1, 1, id="seven is broken already"),
        pytest.param([8, 6], 2, 1, id="two of six rather than of eight"),
        pytest.param([8, 5, 4], 4, 2, id="a block of four is used up"),
        pytest.param([8, 3], 1, 1, id="a small leftover rather than a whole node"),
        pytest.param([2, 1.5], 0.5, 1, id="half a GPU comes from a broken one"),
    ],
)
def test_the_leftover_that_stays_most_usable_wins(
    free: list[float], requested: float, best: int
) -> None:
    scored = scores(free, requested)
    assert scored is not None
    assert scored.index(max(scored)) == best


def test_options_change_the_score() -> None:
    assert scores([8, 4], 1, weight=0) == [0.0, 0.0]
    assert scores([4, 3], 1, sizes=(3,)) == [62.5, 0.0]
    with pytest.raises(ValidationError, match="whole numbers from 1"):
        Fragmentation.Options(sizes=(0,))


def test_no_opinion_without_gpus() -> None:
    assert scores([8, 4], 0) is None
    assert scores([8, 4], 1, resource="amd.com/gpu") is None


def test_the_scenarios_hold() -> None:
    folder = Path(__file__).parent / "scenarios"
    result = CliRunner().invoke(main, ["test", str(folder)])
    assert result.exit_code == 0, result.output
    assert "3 passed" in result.output
