"""``pumice diff``: one cycle of two policies on the same cluster."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from pumice.cli import main


def run(*args: object) -> Result:
    return CliRunner().invoke(main, ["diff", *map(str, args)])


def node(name: str, cpu: str) -> dict[str, Any]:
    amounts = {"cpu": cpu, "memory": "8Gi", "pods": "10"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name},
        "status": {"allocatable": amounts, "capacity": amounts},
    }


@pytest.fixture
def cluster(tmp_path: Path) -> Path:
    """A pod fits a small and a large node; one that is bound already fills part of the small."""
    pods = [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": "ns"},
            "spec": {
                "nodeName": on,
                "containers": [{"name": "c", "resources": {"requests": {"cpu": "2"}}}],
            },
            "status": {"phase": "Running" if on else "Pending"},
        }
        for name, on in (("old", "small"), ("new", ""))
    ]
    path = tmp_path / "dump.json"
    items = [node("small", "8"), node("large", "32"), *pods]
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    return path


@pytest.fixture
def policies(tmp_path: Path) -> list[Path]:
    table = 'actions = ["enqueue", "allocate"]\n[[tiers]]\nplugins = ["predicates", "{}"]\n'
    paths = []
    for name in ("binpack", "nodeorder"):
        paths.append(tmp_path / f"{name}.toml")
        paths[-1].write_text(table.format(name))
    return paths


def test_what_is_decided_otherwise_is_shown(cluster: Path, policies: list[Path]) -> None:
    result = run(*policies, cluster)
    assert result.exit_code == 0, result.output
    assert "pod ns/new" in result.stdout
    assert "starts on small" in result.stdout
    assert "starts on large" in result.stdout
    assert "ns/old" not in result.stdout
    assert "1 difference\n" in result.stdout


def test_json(cluster: Path, policies: list[Path]) -> None:
    answer = json.loads(run(*policies, cluster, "-o", "json").stdout)
    assert answer["differences"] == [
        {"object": "pod", "name": "ns/new", "left": "starts on small", "right": "starts on large"}
    ]


def test_the_same_is_said(cluster: Path, policies: list[Path]) -> None:
    assert "decide the same" in run(policies[0], policies[0], cluster).stdout
    assert run("volcano", "pumice", cluster).exit_code == 0


def test_wrong_input_is_refused(cluster: Path, policies: list[Path]) -> None:
    assert "nowhere.toml" in run(policies[0], "nowhere.toml", cluster).stderr
    assert "no.json" in run(*policies, "no.json").stderr
    assert "missing argument" in run(*policies).stderr
