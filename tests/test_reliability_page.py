"""The table of docs/reliability.md: every row is shown by a test that exists."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "reliability.md").read_text()
ROWS = [
    line.split("|")[1:-1]
    for line in PAGE.partition("## What was tried")[2].splitlines()
    if line.startswith("|") and not line.startswith(("| tried", "|---"))
]


def test_the_table_has_rows():
    assert len(ROWS) > 20


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[-1].strip())
def test_every_row_is_shown_by_a_test(row):
    assert len(row) == 3
    file, _, name = row[-1].strip().partition("::")
    tree = ast.parse((ROOT / file).read_text())
    functions = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    assert name in functions
    assert re.match("test_", name)


def test_the_switches_are_those_of_the_policy():
    from pumice.config import SchedulerSettings

    for name, default in (
        ("on_plugin_error", "isolate"),
        ("cycle_deadline", 0),
        ("set_aside_after", 0),
        ("set_aside_guards", False),
    ):
        assert SchedulerSettings.model_fields[name].default == default
        assert re.search(rf"\| `{name}` \| `{str(default).lower()}`", PAGE)
