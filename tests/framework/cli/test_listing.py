"""``pumice plugins``, ``actions`` and ``hooks`` list what is installed and what it means."""

import json
import re

import pytest
from click.testing import CliRunner

from pumice.cli import main
from pumice.hookspecs import POINTS

SPREAD = """
    from typing import Annotated
    from pydantic import Field
    from pumice import Action, Plugin, hookimpl

    class Spread(Plugin):
        '''Prefer the [emptiest] node.'''

        class Options(Plugin.Options):
            weight: float = Field(1.5, alias="spread.weight", description="Multiplier.")
            mode: str | None = None
            limits: dict[str, Annotated[int, Field(ge=0)]] = {}

        @hookimpl
        def node_order(self, node):
            return 1.0

        def job_order(self, left, right):
            return 0

    class Go(Action):
        '''Do it.'''

        def execute(self, session):
            pass
"""


@pytest.fixture(autouse=True)
def _installed(site, monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    site.install("pumice-spread", SPREAD, plugins={"spread": "Spread"}, actions={"go": "Go"})
    site.install("pumice-broken", "import nowhere", version="0.2", plugins={"broken": "Broken"})


def run(*args: str, status: int = 0):
    result = CliRunner().invoke(main, args, prog_name="pumice")
    assert result.exit_code == status, result.output
    return result


def test_plugins_are_listed_and_broken_ones_with_their_error():
    out = run("plugins").stdout
    (line,) = (line for line in out.splitlines() if line.startswith("spread "))
    assert line.split(maxsplit=2) == ["spread", "pumice-spread", "Prefer the [emptiest] node."]
    assert "error: plugin 'broken' (pumice-broken 0.2, pumice_broken:Broken): cannot be" in out
    assert "hint: pumice-broken needs the module 'nowhere'" in out
    assert "warning: plugin 'spread': method job_order is named like an extension point" in out
    assert "…" not in out


def test_wide_adds_version_and_points():
    out = run("plugins", "--wide").stdout
    (line,) = (line for line in out.splitlines() if line.startswith("spread "))
    assert line.split()[:3] == ["spread", "pumice-spread", "1.0"]
    assert line.endswith("Prefer the [emptiest] node.  node_order")


@pytest.mark.parametrize("columns", [40, 50, 80])
@pytest.mark.parametrize("command", ["plugins", "actions", "hooks"])
def test_a_list_has_one_line_for_each_row_and_fits_the_terminal(monkeypatch, command, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    lines = re.split("\n\n(?:warning|error)", run(command).stdout)[0].splitlines()
    assert len(lines) == 1 + len(json.loads(run(command, "-o", "json").stdout))
    assert max(map(len, lines)) <= columns


def test_wide_folds_and_loses_nothing(monkeypatch):
    monkeypatch.setenv("COLUMNS", "50")
    out = run("plugins", "--wide").stdout
    assert "…" not in out
    assert all(len(line) <= 50 for line in out.split("\nwarning")[0].splitlines())


def test_plugins_as_json():
    broken, spread = json.loads(run("plugins", "-o", "json").stdout)
    assert "No module named 'nowhere'" in broken["error"]
    assert spread["error"] is None
    assert spread["points"] == ["node_order"]
    assert spread["distribution"] == "pumice-spread"
    assert spread["version"] == "1.0"
    assert spread["doc"] == "Prefer the [emptiest] node."
    assert len(spread["warnings"]) == 1


def test_one_plugin_is_shown_with_its_options():
    out = run("plugins", "spread").stdout
    assert "pumice-spread 1.0 (pumice_spread:Spread)" in out
    assert "node_order" in out
    (line,) = (line for line in out.splitlines() if line.startswith("spread.weight"))
    assert line.split() == ["spread.weight", "float", "1.5", "Multiplier."]
    assert "str | None" in out
    assert "dict[str, int]" in out
    assert "docs" not in out


def test_a_plugin_links_to_its_documentation(site):
    links = "Project-URL: Source, https://example.org/src\nProject-URL: Documentation, {}\n"
    site.install(
        "pumice-linked",
        SPREAD,
        plugins={"linked": "Spread"},
        metadata=links.format("https://example.org/docs"),
    )
    (line,) = (x for x in run("plugins", "linked").stdout.splitlines() if x.startswith("docs"))
    assert line.split() == ["docs", "https://example.org/docs"]
    shown = json.loads(run("plugins", "linked", "-o", "json").stdout)
    assert shown["docs"] == "https://example.org/docs"
    assert json.loads(run("plugins", "spread", "-o", "json").stdout)["docs"] is None


def test_one_plugin_as_json():
    data = json.loads(run("plugins", "spread", "-o", "json").stdout)
    assert data["options"][0] == {
        "name": "spread.weight",
        "type": "float",
        "default": 1.5,
        "required": False,
        "help": "Multiplier.",
    }


def test_an_unknown_plugin():
    stderr = run("plugins", "spred", status=2).stderr
    assert "error: no plugin named 'spred' is installed" in stderr
    assert "hint: did you mean 'spread' (pumice-spread 1.0)?" in stderr


def test_a_broken_plugin_by_name():
    assert "cannot be imported" in run("plugins", "broken", status=2).stderr


def test_actions():
    assert "go    pumice-spread  Do it." in run("actions").stdout
    assert "No options" in run("actions", "go").stdout
    assert json.loads(run("actions", "-o", "json").stdout)[0]["name"] == "go"


def test_hooks_as_json_list_every_extension_point():
    hooks = json.loads(run("hooks", "-o", "json").stdout)
    assert [hook["name"] for hook in hooks] == list(POINTS)
    by_name = {hook["name"]: hook for hook in hooks}
    assert set(hooks[0]) == {
        "name", "group", "arguments", "signature", "rule", "rule_meaning", "default", "form_of",
        "gated", "guards", "asked", "doc", "distribution", "version", "example", "implementers",
    }  # fmt: skip
    assert by_name["node_order"]["implementers"] == [
        {"plugin": "spread", "distribution": "pumice-spread", "version": "1.0"}
    ]
    assert by_name["node_order"]["arguments"] == ["task", "node"]
    assert by_name["batch_node_order"]["form_of"] == "node_order"
    assert by_name["on_allocate"]["gated"] is False
    assert by_name["target_job"]["asked"] is False
    assert by_name["job_starving"]["rule"] == "FirstTierAll"
    for hook in hooks:
        assert hook["doc"]
        assert hook["rule_meaning"]
        assert hook["default"]
        assert "'" not in hook["signature"]


def test_hooks_are_listed():
    out = run("hooks").stdout
    for point in POINTS.values():
        assert any(line.startswith(point.name) for line in out.splitlines())


def test_one_hook_is_explained():
    out = run("hooks", "node_order").stdout
    assert out.startswith("node_order(task: Task, node: NodeHandle) -> float | None\n")
    assert "Sum: The sum of all answers" in out
    assert "spread (pumice-spread 1.0)" in out


def test_an_unknown_hook():
    assert "did you mean 'node_order'?" in run("hooks", "node_ordr", status=2).stderr


@pytest.mark.parametrize(
    "upstream, ours",
    [("QueueOrderFn", "queue_order"), ("AddGPUOrderFn", "gpu_order"), ("PreBinder", "pre_bind")],
)
def test_an_upstream_name_leads_to_our_point(upstream, ours):
    result = run("hooks", upstream)
    assert result.stderr == f"{upstream} is {ours} in Pumice\n"
    assert result.stdout == run("hooks", ours).stdout
