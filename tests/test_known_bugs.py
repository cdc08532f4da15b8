"""Known bugs of batch schedulers: each is right here, and wrong without what makes it right."""

import dataclasses
import importlib
import json
from pathlib import Path

import pytest
import yaml

from pumice.config import policy_from_dict
from pumice.discovery import Catalog
from pumice.errors import PolicyError
from pumice.scenarios import Result, Runner
from tests.known_bugs import ROWS, Row, table
from tests.without import Abandoning, Hasty, hasty

ROOT = Path(__file__).parents[1]
SCENARIOS = ROOT / "tests" / "scenarios" / "known-bugs"

scenarios = pytest.mark.parametrize(
    "row", [row for row in ROWS if "::" not in row.shown], ids=lambda row: row.shown
)


def run(row: Row, *, without: bool) -> Result:
    """Run the scenario of a row, with or without its mechanism."""
    catalog = Catalog()
    catalog.register_local("action", "hasty", Hasty)
    catalog.register_local("action", "abandoning", Abandoning)
    file = SCENARIOS / f"{row.shown}.yaml"
    text = file.read_text()
    if without and row.replaced is not None:
        assert row.replaced[0] in text
        text = text.replace(*row.replaced)
    document = yaml.safe_load(text)
    if without:
        document["config"] |= row.policy
    extra = document.get("extra", {})
    if "add_before_cycle" in extra:
        extra["add_before_cycle"] = {str(k): v for k, v in extra["add_before_cycle"].items()}
    return Runner(catalog, check=not without).run_text(
        json.dumps(document).encode(), file, row.shown
    )


@scenarios
def test_it_is_right(row):
    result = run(row, without=False)
    assert result.verdict == "passed", result.error or result.mismatches


@scenarios
def test_it_is_wrong_without_its_mechanism(row, monkeypatch):
    for target, instead in row.patches.items():
        patch(monkeypatch, target, instead)
    result = run(row, without=True)
    assert result.verdict == "failed", result.error


@pytest.mark.parametrize("row", [row for row in ROWS if row.contained], ids=lambda row: row.shown)
def test_a_hasty_action_does_no_harm_with_the_mechanism(row):
    result = run(dataclasses.replace(row, policy=hasty()), without=True)
    assert result.verdict == "passed", result.error or result.mismatches


@pytest.mark.parametrize(
    "row", [row for row in ROWS if "::" in row.shown], ids=lambda row: row.shown
)
def test_the_test_fails_without_the_mechanism(row, monkeypatch):
    file, _, name = row.shown.partition("::")
    module = importlib.import_module(file.removesuffix(".py").replace("/", "."))
    test = getattr(module, name)
    test(*row.arguments)
    for target, instead in row.patches.items():
        patch(monkeypatch, target, instead)
    with pytest.raises((AssertionError, ArithmeticError, LookupError)):
        test(*row.arguments)


def test_a_policy_with_unknown_names_is_refused():
    data = {"actions": ["alocate"], "tiers": [{"plugins": ["gan"]}], "scheduler": {"peroid": 1}}
    with pytest.raises(PolicyError) as refused:
        policy_from_dict(data)
    text = "\n".join(refused.value.problems)
    assert "'alocate' is installed; did you mean 'allocate'" in text
    assert "did you mean 'gang'" in text
    assert "'peroid'; did you mean 'period'" in text


def test_a_statement_without_a_commit_leaves_nothing():
    row = next(row for row in ROWS if row.shown == "one_victim_serves_one_job")
    result = run(dataclasses.replace(row, policy={"actions": ["abandoning"]}), without=True)
    assert [(mismatch.what, mismatch.actual) for mismatch in result.mismatches] == [
        ("evictions ns/v-0", "not evicted"),
        ("jobs ns/x ns/x-0", "Pending"),
    ]


def test_there_are_38_bugs_and_every_scenario_is_one():
    assert len(ROWS) == 38
    shown = [row.shown for row in ROWS]
    assert len(set(shown)) == 38
    assert {file.stem for file in SCENARIOS.iterdir()} == {s for s in shown if "::" not in s}


def test_the_page_has_the_table():
    assert (ROOT / "docs" / "known-bugs.md").read_text().endswith("\n\n" + table())


def patch(monkeypatch, target, instead):
    """Put a function in the place of ``module:Class.name``."""
    module, _, path = target.partition(":")
    owner = importlib.import_module(module)
    *classes, name = path.split(".")
    for part in classes:
        owner = getattr(owner, part)
    assert hasattr(owner, name)
    monkeypatch.setattr(owner, name, instead)
