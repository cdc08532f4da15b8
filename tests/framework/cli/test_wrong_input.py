"""Wrong arguments: each error names the thing and says what to do."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from pumice.cli import main

_SMALL = ("--trace-option", "jobs=3", "--processes", "1")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder: a node, an object that is none, and an empty folder."""
    (tmp_path / "node.yaml").write_text("apiVersion: v1\nkind: Node\nmetadata: {name: a}\n")
    (tmp_path / "text.yaml").write_text("hello\n")
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "args, words",
    [
        (["run", "nothing.json"], ["nothing.json: No such file", "name a file that exists"]),
        (["run", "nod.yaml"], ["nod.yaml: No such file", "did you mean node.yaml?"]),
        (["simulate", "nod.yaml"], ["nod.yaml: cannot be read", "did you mean node.yaml?"]),
        (["simulate", "empty"], ["empty: cannot be read: Is a directory", "name one file in it"]),
        (["simulate", "synthetic", "--format", "sfw"], ["no trace named 'sfw'", "'swf'"]),
        (["config", "import", "--from", "kai", "nod.yaml"], ["did you mean node.yaml?"]),
        (["config", "import", "--from", "kai", "empty"], ["name one file in it"]),
        (["diff", "kai", "volcno", "node.yaml"], ["'volcno'; did you mean 'volcano'?", "presets:"]),
        (["diff", "kai", "nod.yaml", "node.yaml"], ["'nod.yaml'", "did you mean node.yaml?"]),
        (["tune", "synthetic", "kia", "--over", "x=1..2"], ["'kia'; did you mean 'kai'?"]),
        (
            ["tune", "synthetic", "kai", *_SMALL, "--over", "plugin.binpack.binpack.weight=1,2"],
            ["--over plugin.binpack.binpack.weight", "does not use the plugin 'binpack'"],
        ),
        (
            ["run", "node.yaml", "--backend-set", "kubeconfig=x"],
            ["--backend-set kubeconfig=x: the backend 'memory' has no options", "--backend NAME"],
        ),
        (["top", "--once", "node.yaml", "--backend-set", "a=b"], ["'memory' has no options"]),
        (["explain", "x", "node.yaml", "--budget", "x"], ["'--budget': 'x' is not a number"]),
        (["run", "node.yaml", "--cycles", "x"], ["'--cycles': 'x' is not a whole number"]),
        (["config", "chek"], ["there is no command 'chek'; did you mean 'check'?"]),
        (["new", "plugn", "x"], ["there is no command 'plugn'; did you mean 'plugin'?"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_wrong_input(folder: Path, args: list[str], words: list[str]) -> None:
    result = CliRunner().invoke(main, args)
    assert result.exit_code == 2, result.output
    assert result.stderr.startswith("error: ")
    for word in words:
        assert word in result.stderr
    assert not result.stdout


def test_diff_warns_of_what_it_leaves_out_once(folder: Path) -> None:
    result = CliRunner().invoke(main, ["diff", "kai", "volcano", "node.yaml", "text.yaml"])
    assert result.exit_code == 0
    assert result.stderr.count("text.yaml:1: object: expected an object, got a string") == 1
    quiet = CliRunner().invoke(main, ["-q", "diff", "kai", "volcano", "node.yaml", "text.yaml"])
    assert quiet.stderr == ""
