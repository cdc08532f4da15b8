"""What a newcomer is shown first: the whole command, as it is installed here."""

import inspect
import json
import re
import subprocess
import sys
from collections import defaultdict
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from pumice.combine import RULES
from pumice.hookspecs import SPECS

DEMO = Path(__file__).parent.parent / "docs" / "examples" / "demo"

FIVE_MISTAKES = """\
actions = ["enqueue", "alocate"]

[[tiers]]
plugins = ["gang", { name = "priority", disable = ["job_ordr"] }]

[[tiers]]
plugins = ["binpak", "nodeorder"]

[plugin.nodeorder]
leastrequested.wieght = 2

[scheduler]
peroid = "1s"
"""
FIVE_ANSWERS = {
    1: ("alocate", "allocate"),
    4: ("job_ordr", "job_order"),
    7: ("binpak", "binpack"),
    10: ("leastrequested.wieght", "leastrequested.weight"),
    13: ("peroid", "period"),
}


def pumice(*arguments: str | Path, seed: str = "0") -> subprocess.CompletedProcess[str]:
    """Run the command in a process of its own, away from what the caller has set."""
    command = [Path(sys.executable).with_name("pumice")]
    return subprocess.run(
        [str(word) for word in (*command, *arguments)],
        env={"PYTHONHASHSEED": seed, "LC_ALL": "C.UTF-8"},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


@pytest.fixture(scope="module")
def hooks() -> dict[str, dict]:
    result = pumice("hooks", "-o", "json")
    assert result.returncode == 0, result.stderr
    listed = json.loads(result.stdout)
    assert len({hook["name"] for hook in listed}) == len(listed)
    return {hook["name"]: hook for hook in listed}


def test_every_extension_point_is_listed_with_its_arguments(hooks):
    declared = {
        name: list(inspect.signature(method).parameters)[1:]
        for spec in SPECS
        for name, method in vars(spec).items()
        if inspect.isfunction(method)
    }
    listed = {name: hook["arguments"] for name, hook in hooks.items()}
    assert {name: listed.get(name) for name in declared} == declared
    others = {name: hook for name, hook in hooks.items() if name not in declared}
    assert all(hook["distribution"] != "pumice-framework" for hook in others.values())


def test_every_extension_point_is_listed_with_its_combination_rule(hooks):
    rules = {rule.__name__.rstrip("_"): inspect.getdoc(rule).splitlines()[0] for rule in RULES}
    for name, hook in hooks.items():
        assert hook["rule_meaning"] == rules[hook["rule"]], name
        assert hook["default"], name


def test_every_extension_point_is_listed_with_its_implementers(hooks):
    implemented = defaultdict(list)
    for entry_point in sorted(entry_points(group="pumice.plugins"), key=lambda ep: ep.name):
        cls, dist = entry_point.load(), entry_point.dist
        for name in dir(cls):
            if hasattr(getattr(cls, name), "pumice_impl"):
                implemented[name].append((entry_point.name, dist.name, dist.version))
    assert len(implemented) > 30
    for name, hook in hooks.items():
        told = [(i["plugin"], i["distribution"], i["version"]) for i in hook["implementers"]]
        assert told == implemented[name], name


@pytest.mark.parametrize(
    "policy",
    [("-c", DEMO / "policy.toml"), ("--preset", "volcano"), ("--preset", "kai")],
    ids=lambda policy: Path(policy[-1]).stem,
)
def test_the_same_cluster_and_policy_give_the_same_bytes(policy):
    printed = [
        pumice("run", DEMO, *policy, "--cycles", "3", "-o", "json", seed=seed)
        for seed in ("0", "20261116")
    ]
    assert {(one.returncode, one.stdout, one.stderr) for one in printed} == {
        (0, printed[0].stdout, "")
    }
    cycles = json.loads(printed[0].stdout)["cycles"]
    assert len(cycles) == 3
    assert cycles[0]["binds"]
    assert cycles[0]["jobs"]


@pytest.mark.parametrize(
    "command", [("config", "check"), ("run", DEMO, "-c")], ids=["check", "run"]
)
def test_a_policy_with_five_mistakes_names_all_five(tmp_path, command):
    file = tmp_path / "policy.toml"
    file.write_text(FIVE_MISTAKES, encoding="utf-8")
    result = pumice(*command, file)
    assert (result.returncode, result.stdout) == (2, "")
    first, *problems = result.stderr.splitlines()
    assert first == f"error: {file}: 5 problems"
    told = {}
    for problem in problems:
        where, text = problem.strip().removeprefix(f"{file}:").split(": ", 1)
        told[int(where)] = (
            re.search(r"'(\S+)'(?: is installed)?; did you mean", text)[1],
            re.search(r"did you mean '([^']+)'", text)[1],
        )
    assert told == FIVE_ANSWERS


@pytest.mark.parametrize(
    "arguments, error, hint",
    [
        pytest.param(
            ("run", "clustr.yaml"),
            "clustr.yaml: No such file or directory",
            "did you mean cluster.yaml?",
            id="run a file that is not there",
        ),
        pytest.param(
            ("run", "half.json"),
            "half.json:2: Input data was truncated",
            "a file holds what 'kubectl get … -o json' or '-o yaml' prints",
            id="run half a file",
        ),
        pytest.param(
            ("run", "cluster.yaml", "--preset", "volcan"),
            "there is no preset 'volcan'; did you mean 'volcano'?",
            "presets: kai, pumice, volcano",
            id="run with a preset that is not there",
        ),
        pytest.param(
            ("run", "cluster.yaml", "--cycles", "many"),
            "invalid value for '--cycles': 'many' is not a whole number",
            "see 'pumice run --help'",
            id="run for no number of cycles",
        ),
        pytest.param(
            ("test", "cases"),
            "cases: there is no such file or directory",
            "name scenario files, or directories that hold some",
            id="test a directory that is not there",
        ),
        pytest.param(
            ("test", "cluster.yaml"),
            "cluster.yaml: not a scenario file",
            "a scenario has 'expect', a file of several has them in a list 'scenarios'",
            id="test manifests",
        ),
    ],
)
def test_wrong_input_is_told_in_one_line_with_a_hint(tmp_path, monkeypatch, arguments, error, hint):
    monkeypatch.chdir(tmp_path)
    Path("cluster.yaml").write_text("kind: Node\napiVersion: v1\nmetadata: {name: n}\n")
    Path("half.json").write_text('{"kind": "List",\n')
    result = pumice(*arguments)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.splitlines() == [f"error: {error}", f"hint: {hint}"]


def test_a_scenario_that_fails_is_no_wrong_input(tmp_path):
    file = tmp_path / "case.yaml"
    file.write_text(
        "title: nothing runs\nobjects: []\nconfig: {preset: volcano}\nexpect: {bind_count: 1}\n"
    )
    result = pumice("test", file)
    assert (result.returncode, result.stderr) == (1, "")
    assert "bind_count: expected 1, got 0" in result.stdout
    assert result.stdout.endswith("0 passed, 1 failed, 0 skipped\n")
