"""Every recipe is on its page as it is in its folder, and its scenarios tell its policy apart."""

import pytest
import yaml
from click.testing import CliRunner

from pumice.cli import main
from tests.docs_console import ROOT, blocks

PAGE = (ROOT / "docs" / "recipes.md").read_text(encoding="utf-8")
RECIPES = sorted(path for path in (ROOT / "docs" / "examples" / "recipes").iterdir())
NAMES = [path.name for path in RECIPES]


def test_every_recipe_has_its_section() -> None:
    headings = [line[3:] for line in PAGE.splitlines() if line.startswith("## ")]
    anchors = {heading.lower().replace(",", "").replace(" ", "-") for heading in headings}
    assert anchors == set(NAMES)


@pytest.mark.parametrize("recipe", RECIPES, ids=NAMES)
def test_the_page_shows_the_policy_of_the_folder(recipe) -> None:
    policies = [block.body for block in blocks(PAGE) if block.language == "toml"]
    assert (recipe / "policy.toml").read_text(encoding="utf-8") in policies


@pytest.mark.parametrize("recipe", RECIPES, ids=NAMES)
def test_the_scenarios_run_the_policy_and_another(recipe) -> None:
    file = recipe / f"{recipe.name}.scenario.yaml"
    scenarios = yaml.safe_load(file.read_text(encoding="utf-8"))["scenarios"]
    assert "policy.toml" in [scenario["config"] for scenario in scenarios]
    other = [scenario for scenario in scenarios if scenario["config"] != "policy.toml"]
    assert other
    assert all(scenario["expect"] != scenarios[0]["expect"] for scenario in other)
    told = CliRunner().invoke(main, ["test", str(file), "--strict"])
    assert told.exit_code == 0, told.output


def test_the_imported_policy_is_what_is_imported() -> None:
    folder = ROOT / "docs" / "examples" / "recipes" / "migrate-from-volcano"
    command = ["config", "import", str(folder / "scheduler.yaml"), "--from", "volcano"]
    assert CliRunner().invoke(main, command).stdout == (folder / "imported.toml").read_text()
