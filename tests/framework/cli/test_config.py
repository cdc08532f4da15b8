"""``pumice config check`` and ``show``."""

import json

import pytest
from click.testing import CliRunner

from pumice.cli import main

PARTS = """
    from pydantic import Field
    from pumice import Action, Plugin, hookimpl

    class Order(Plugin):
        class Options(Plugin.Options):
            least: int = Field(1, alias="leastrequested.weight")
            most: int = Field(0, alias="mostrequested.weight")

        @hookimpl
        def batch_node_order(self, task, nodes): ...

    class Gang(Plugin):
        @hookimpl
        def job_ready(self, job): ...

        @hookimpl
        def preemptable(self, candidates): ...

    class Go(Action):
        def execute(self, session): ...

    class Fill(Go):
        class Options(Action.Options):
            upstream_checks: bool = Field(False, alias="upstreamChecks")

    class Admit(Go):
        admits = True

    class Place(Go):
        allocates = True
"""
POLICY = """\
actions = ["allocate", "enqueue"]

[[tiers]]
plugins = [{ name = "gang", disable = ["preemptable"] }]

[[tiers]]
plugins = ["nodeorder"]

[plugin.nodeorder]
leastrequested.weight = 2
"""


@pytest.fixture(autouse=True)
def _installed(site, tmp_path, monkeypatch):
    site.install(
        "pumice-parts",
        PARTS,
        plugins={
            "nodeorder": "Order",
            **dict.fromkeys(["gang", "priority", "conformance", "predicates", "binpack"], "Gang"),
            **dict.fromkeys(["overcommit", "drf", "proportion"], "Gang"),
        },
        actions={
            "enqueue": "Admit",
            "allocate": "Place",
            "backfill": "Fill",
            **dict.fromkeys(["reclaim", "preempt"], "Go"),
        },
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)
    (tmp_path / "policy.toml").write_text(POLICY)


def run(*args: str, status: int = 0):
    result = CliRunner().invoke(main, ["config", *args], prog_name="pumice")
    assert result.exit_code == status, result.output
    return result


def test_check_of_a_good_policy_shows_warnings_too():
    result = run("check", "policy.toml")
    assert result.stdout == "policy.toml: ok, 2 actions, 2 plugins in 2 tiers\n"
    assert result.stderr.startswith("warning: policy.toml:1: enqueue runs after allocate")


def test_check_reports_five_mistakes_in_five_lines(tmp_path):
    (tmp_path / "bad.toml").write_text(
        'actions = ["allocat"]\n[[tiers]]\nplugins = ["gangs", "nodeorder"]\n'
        '[[tiers]]\nplugins = [{ name = "binpack", enable = ["job_redy"] }]\n'
        "[plugin.nodeorder]\nleastrequested.weigth = 2\n[scheduler]\nperiod = 'soon'\n"
    )
    result = run("check", "bad.toml", status=2)
    assert result.stdout == ""
    first, *lines = result.stderr.splitlines()
    assert first == "error: bad.toml: 5 problems"
    assert [line.split(":")[1] for line in lines] == ["1", "3", "5", "7", "9"]
    for line, near in zip(
        lines,
        ["'allocate'", "'gang'", "'job_ready'", "'leastrequested.weight'", "'1s'"],
        strict=True,
    ):
        assert near in line
    assert "(pumice-parts 1.0)" in lines[1]


def test_check_as_json():
    assert json.loads(run("check", "policy.toml", "-o", "json").stdout)["ok"] is True
    result = run("check", "policy.toml", "--set", "nonsense=1", "-o", "json", status=2)
    data = json.loads(result.stdout)
    assert data["ok"] is False
    assert data["problems"][0].startswith("--set nonsense=1: ")


def test_show_prints_the_pipeline():
    out = run("show", "policy.toml", "--set", "scheduler.period=5s").stdout
    lines = out.splitlines()
    assert "actions  allocate → enqueue" in lines
    assert any(line.split()[:4] == ["1", "gang", "pumice-parts", "1.0"] for line in lines)
    assert "without preemptable" in out
    options = [line.split() for line in lines]
    assert ["plugin", "nodeorder", "leastrequested.weight", "2", "*"] in options
    assert ["plugin", "nodeorder", "mostrequested.weight", "0"] in options
    assert ["scheduler", "period", "5.0", "*"] in options
    assert ["job_ready", "All", "gang"] in options
    assert ["node_order", "Sum", "nodeorder"] in options
    assert not any(line.startswith("preemptable") for line in lines)
    assert "…" not in out


def test_show_as_json():
    data = json.loads(run("show", "policy.toml", "-o", "json").stdout)
    assert [action["name"] for action in data["actions"]] == ["allocate", "enqueue"]
    assert data["tiers"][0][0]["points"] == ["job_ready"]
    assert data["tiers"][1][0]["changed"] == ["leastrequested.weight"]
    assert data["points"] == {"job_ready": [["gang"], []], "node_order": [[], ["nodeorder"]]}
    assert data["config"]["plugin"] == {"nodeorder": {"leastrequested.weight": 2}}


def test_show_applies_the_environment(monkeypatch):
    monkeypatch.setenv("PUMICE_SCHEDULER__PERIOD", "250ms")
    data = json.loads(run("show", "policy.toml", "-o", "json").stdout)
    assert data["scheduler"]["period"] == 0.25


class TestWhy:
    def test_every_part_value_and_voter_has_its_place(self, monkeypatch):
        monkeypatch.setenv("PUMICE_SCHEDULER__PERIOD", "2s")
        override = "plugin.nodeorder.mostrequested.weight=7"
        out = run("show", "policy.toml", "--why", "--set", override).stdout
        lines = [line.split() for line in out.splitlines()]
        assert ["action", "allocate", "pumice-parts", "1.0", "policy.toml:1"] in lines
        assert ["1", "gang", "pumice-parts", "1.0", "without", "preemptable", "policy.toml:4"] in (
            lines
        )
        start = ["plugin", "nodeorder"]
        assert [*start, "leastrequested.weight", "2", "*", "policy.toml:10"] in lines
        assert [*start, "mostrequested.weight", "7", "*", "--set", override] in lines
        period = ["scheduler", "period", "2.0", "*", "environment", "PUMICE_SCHEDULER__PERIOD"]
        assert period in lines
        assert ["scheduler", "default_queue", "default", "default"] in lines
        assert ["job_ready", "All", "gang", "(policy.toml:4)"] in lines

    def test_a_preset_below_the_file_is_named(self, tmp_path):
        text = 'preset = "volcano"\n[plugin.nodeorder]\nmostrequested.weight = 1\n'
        (tmp_path / "policy.toml").write_text(text)
        why = json.loads(run("show", "policy.toml", "--why", "-o", "json").stdout)["why"]
        assert why["plugin"]["nodeorder"]["listed"].startswith("preset volcano:")
        assert why["plugin"]["nodeorder"]["options"] == {
            "leastrequested.weight": "default",
            "mostrequested.weight": "policy.toml:3",
        }
        assert why["action"]["enqueue"]["listed"].startswith("preset volcano:")
        assert why["scheduler"]["period"] == "default"

    def test_without_why_no_origin_is_shown(self):
        assert "FROM" not in run("show", "policy.toml").stdout
        assert "why" not in json.loads(run("show", "policy.toml", "-o", "json").stdout)


def test_an_option_collected_from_several_keys_names_all_their_lines(load):
    policy = load(
        'actions = ["allocate"]\n[[tiers]]\nplugins = ["binpack"]\n'
        "[plugin.binpack]\nbinpack.resources.a = 1\nbinpack.resources.b = 2\n"
    )
    why = policy.why("plugin", "binpack", "binpack.resources.NAME")
    assert [place.rpartition("/")[2] for place in why.split(", ")] == [
        "policy.toml:5",
        "policy.toml:6",
    ]
    assert policy.why("plugin", "binpack", "binpack.weight") == "default"
