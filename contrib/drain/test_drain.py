from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner

from pumice.cli import main
from pumice_drain import DrainLabel

SCENARIOS = Path(__file__).parent / "scenarios"


@pytest.mark.parametrize(
    "labels, expected",
    [({"drain": "true"}, True), ({"drain": "false"}, False), ({}, False)],
    ids=["marked", "marked off", "unmarked"],
)
def test_the_label_says_which_nodes_to_drain(labels: dict[str, str], expected: bool) -> None:
    session: Any = None
    node: Any = SimpleNamespace(labels=labels)
    plugin = DrainLabel(session, DrainLabel.Options(), "drainlabel")
    assert plugin.should_drain(node) is expected


def test_the_scenarios_hold() -> None:
    result = CliRunner().invoke(main, ["test", str(SCENARIOS)])
    assert result.exit_code == 0, result.output
    assert "3 passed" in result.output


def test_without_a_plugin_no_node_is_drained(tmp_path: Path) -> None:
    text = (SCENARIOS / "minimum.yaml").read_text().replace(", drainlabel", "")
    (tmp_path / "minimum.yaml").write_text(text)
    result = CliRunner().invoke(main, ["test", str(tmp_path)])
    assert result.exit_code == 1, result.output
