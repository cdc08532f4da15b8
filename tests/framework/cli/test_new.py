"""``pumice new`` makes distributions that lint as made, and refuses what could not work."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from pumice import API_VERSION, Plugin, hookimpl
from pumice.cli import _stub, main
from pumice.discovery import Catalog
from pumice.hookspecs import POINTS
from pumice.testing import Cluster, Schedule
from tests.sampling import few_and_all, sample

ROOT = Path(__file__).resolve().parents[3]


def new(*words: str, into: Path) -> Result:
    return CliRunner().invoke(main, ["new", *words, "--into", str(into)])


def made(*words: str, into: Path) -> Path:
    result = new(*words, into=into)
    assert result.exit_code == 0, result.output
    return into / f"pumice-{words[1]}"


def refused(*words: str, into: Path) -> str:
    before = sorted(into.iterdir())
    result = new(*words, into=into)
    assert result.exit_code == 2
    assert sorted(into.iterdir()) == before
    return result.stderr


def class_in(folder: Path, name: str) -> type:
    (file,) = folder.glob("*.py")
    space: dict[str, object] = {"__name__": file.stem}
    exec(compile(file.read_text(), str(file), "exec"), space)
    made_class = space[name]
    assert isinstance(made_class, type)
    return made_class


@pytest.mark.parametrize("kind", ["plugin", "action"])
def test_new_creates_a_complete_distribution(kind, tmp_path):
    folder = made(kind, "dawn", into=tmp_path)
    files = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    assert files == {
        ".github/workflows/test.yml",
        ".gitignore",
        "LICENSE",
        "README.md",
        "pumice_dawn.py",
        "pyproject.toml",
        "tests/dawn.scenario.yaml",
        "tests/test_pumice_dawn.py",
    }
    assert not [path for path in folder.rglob("*") if path.is_file() and "«" in path.read_text()]
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    assert project["name"] == "pumice-dawn"
    assert project["entry-points"] == {f"pumice.{kind}s": {"dawn": "pumice_dawn:Dawn"}}
    assert project["dependencies"] == ["pumice-framework>=0.2,<0.3"]
    assert (folder / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()
    steps = yaml.safe_load((folder / ".github/workflows/test.yml").read_text())["jobs"]["test"]
    assert steps["steps"][1]["with"] == {"python-version": "${{ matrix.python }}"}
    catalog = Catalog()
    catalog.register_local(kind, "dawn", class_in(folder, "Dawn"))
    loaded = catalog.load(kind, "dawn")
    assert (loaded.cls.api_version, loaded.warnings) == (API_VERSION, ())


def test_new_prints_the_next_two_commands(tmp_path):
    result = new("plugin", "dawn", into=tmp_path)
    folder = tmp_path / "pumice-dawn"
    assert result.stdout.splitlines()[-3:] == [
        "next:",
        f"     pip install -e '{folder}[test]'",
        f"     pytest {folder}",
    ]


def test_a_relative_folder_is_no_name_of_a_distribution_to_pip(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(main, ["new", "action", "dawn"])
    assert "     pip install -e './pumice-dawn[test]'\n" in result.stdout
    assert (tmp_path / "pumice-dawn").is_dir()


@few_and_all(10, len(POINTS))
def test_every_hook_makes_code_that_loads_and_lints(tmp_path, count):
    hooks = list(POINTS)
    for number in sample("new hooks", len(hooks), count):
        hook = hooks[number]
        folder = made("plugin", f"p{number}", "--hook", hook, into=tmp_path)
        catalog = Catalog()
        catalog.register_local("plugin", "p", class_in(folder, f"P{number}"))
        assert catalog.load("plugin", "p").points == (hook,)
    made("action", "dawn", into=tmp_path)
    for command in (["check"], ["format", "--check"]):
        ruff = [sys.executable, "-m", "ruff", *command, "--no-cache", str(tmp_path)]
        result = subprocess.run(ruff, capture_output=True, text=True, check=False)
        assert result.returncode == 0, result.stdout + result.stderr


def test_the_stub_has_the_types_of_the_spec(tmp_path):
    folder = made("plugin", "dawn", "--hook", "predicate_nodes", into=tmp_path)
    text = (folder / "pumice_dawn.py").read_text()
    assert "from pumice import NodeVerdicts, NodeView, Plugin, Task, hookimpl\n" in text
    method = "def predicate_nodes(self, task: Task, nodes: NodeView) -> NodeVerdicts | None:"
    assert f"    @hookimpl\n    {method}\n" in text


@pytest.mark.parametrize(
    "name, hook, expected",
    [
        pytest.param("none", "job_order", "NonePlugin", id="a word of Python"),
        pytest.param("job", "job_order", "JobPlugin", id="a type of the signature"),
        pytest.param("plugin", "overused", "PluginPlugin", id="the base class"),
        pytest.param("big-first", "overused", "BigFirst", id="several words"),
    ],
)
def test_the_name_of_the_class_clashes_with_nothing(name, hook, expected, tmp_path):
    folder = made("plugin", name, "--hook", hook, into=tmp_path)
    assert class_in(folder, expected).__name__ == expected


def test_an_existing_folder_is_refused(tmp_path):
    made("plugin", "dawn", into=tmp_path)
    assert "pumice-dawn already exists" in refused("plugin", "dawn", into=tmp_path)


def test_an_unknown_hook_is_refused_with_the_nearest(tmp_path):
    error = refused("plugin", "dawn", "--hook", "job_ordr", into=tmp_path)
    assert "there is no extension point 'job_ordr'; did you mean 'job_order'?" in error


@pytest.mark.parametrize(
    "name, hint",
    [
        ("Big-First", "did you mean 'big-first'?"),
        ("BigFirst", "did you mean 'big-first'?"),
        ("big first", "did you mean 'big-first'?"),
        ("pumice-dawn", "did you mean 'dawn'?"),
        ("../dawn", "did you mean 'dawn'?"),
        ("7up", "lower-case letters and digits"),
        ("é", "lower-case letters and digits"),
        ("", "lower-case letters and digits"),
        ("x" * 31, "at most 30 characters, it has 31"),
        ("framework", "choose another name"),
        ("builtin_plugins", "choose another name"),
        ("gang", "'pumice plugins' lists the installed ones"),
    ],
)
def test_a_bad_name_is_refused_with_a_fix(name, hint, tmp_path):
    error = refused("plugin", name, into=tmp_path)
    assert error.startswith("error: ")
    assert f"hint: {hint}" in error or hint in error


def test_a_name_that_is_taken_names_its_owner(tmp_path):
    error = refused("action", "allocate", into=tmp_path)
    assert "action 'allocate' is already installed (pumice-builtin-actions 0.2.0)" in error


def test_a_distribution_may_be_created_again_in_another_folder(tmp_path):
    """The plugin fifo is that of pumice-fifo, wherever its folder is."""
    assert made("plugin", "fifo", into=tmp_path).is_dir()


def test_a_folder_that_cannot_be_created_is_reported(tmp_path):
    (tmp_path / "file").write_text("")
    result = new("plugin", "dawn", into=tmp_path / "file")
    assert result.exit_code == 2
    assert "file" in result.stderr
    assert "Traceback" not in result.stderr


def test_several_hooks_make_a_method_each(tmp_path):
    hooks = ("--hook", "job_order", "--hook", "AddNodeOrderFn", "--hook", "job_order")
    folder = made("plugin", "dawn", *hooks, into=tmp_path)
    catalog = Catalog()
    catalog.register_local("plugin", "dawn", class_in(folder, "Dawn"))
    assert set(catalog.load("plugin", "dawn").points) == {"job_order", "node_order"}
    readme = (folder / "README.md").read_text()
    assert "- `job_order`: Which of two jobs" in readme
    assert "- `node_order`: Score one node" in readme
    assert "\npumice hooks job_order\npumice hooks node_order\n" in readme


@pytest.mark.parametrize("kind", ["backend", "trace", "measure"])
def test_new_makes_other_kinds_whose_tests_pass_and_that_lint(kind, tmp_path):
    folder = made(kind, "dawn", into=tmp_path)
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    assert project["entry-points"] == {f"pumice.{kind}s": {"dawn": "pumice_dawn:Dawn"}}
    assert not [path for path in folder.rglob("*") if path.is_file() and "«" in path.read_text()]
    commands = (
        ["ruff", "check", "--no-cache", "."],
        ["ruff", "format", "--check", "."],
        ["pytest", "-q", "-p", "no:cacheprovider", "-n", "0", "."],
    )
    for command in commands:
        result = subprocess.run(
            [sys.executable, "-m", *command],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(folder)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert result.returncode == 0, result.stdout + result.stderr


def test_a_kind_without_a_list_refuses_a_taken_name_too(tmp_path):
    assert "measure 'delay' is already installed" in refused("measure", "delay", into=tmp_path)


@pytest.mark.parametrize("hook", ["job_order", *filter(None, _stub.special_policies())])
def test_the_policy_of_the_scaffold_asks_the_hook(hook):
    """The cluster and the actions of the test that is made lead to the question."""
    point, calls = POINTS[hook], []

    parameters = ", ".join(("self", *point.args))
    space: dict = {"calls": calls}
    exec(f"class Probe:\n    def {hook}({parameters}):\n        calls.append(1)", space)
    body = {hook: hookimpl(vars(space["Probe"])[hook]), "api_version": API_VERSION}
    probe = type("Probe", (Plugin,), {**body, "__doc__": "A probe.", "__module__": __name__})
    actions, plugins = _stub.policy([point])
    cluster = Cluster().nodes("a", "b", cpu=2).queue("q").queue("r")
    cluster.running("over", on=["a", "a", "b"], queue="r", min_member=1).running("low", on="b")
    cluster.job("large", tasks=2, priority=10, created=1.0).job("small", created=2.0)
    Schedule(cluster)(actions=actions, tiers=[[probe, *plugins]])
    assert calls
