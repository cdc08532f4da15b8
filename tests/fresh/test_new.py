"""What ``pumice new`` makes installs, passes its own tests, decides, and goes away again."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.fresh, pytest.mark.long]

POLICY = """
actions = ["enqueue", "allocate"]
[[tiers]]
plugins = [{plugins}]
"""
CLUSTER = """
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Node, metadata: {name: quay}, status: {allocatable: {cpu: "2", pods: "9"}}}
"""
JOB = """
- apiVersion: scheduling.volcano.sh/v1beta1
  kind: PodGroup
  metadata: {{name: {name}, namespace: bay, creationTimestamp: "{created}"}}
  spec: {{queue: default, minMember: {tasks}}}
  status: {{phase: Inqueue}}
"""
POD = """
- apiVersion: v1
  kind: Pod
  metadata: {{name: {name}-{number}, namespace: bay,
              annotations: {{scheduling.k8s.io/group-name: {name}}}}}
  spec: {{containers: [{{name: c, resources: {{requests: {{cpu: "1"}}}}}}]}}
"""
PYTEST = "import sys; sys.path.append({home!r}); import pytest; sys.exit(pytest.main({words!r}))"


@pytest.fixture
def bay(tmp_path):
    """A node with room for an older job of two tasks, or for a younger one of one."""
    text = CLUSTER
    for name, tasks, created in (("fleet", 2, "2026-01-01"), ("tug", 1, "2026-01-02")):
        text += JOB.format(name=name, tasks=tasks, created=f"{created}T00:00:00Z")
        text += "".join(POD.format(name=name, number=number) for number in range(tasks))
    (tmp_path / "bay.yaml").write_text(text)
    (tmp_path / "plain.toml").write_text(POLICY.format(plugins='"gang"'))
    (tmp_path / "naming.toml").write_text(POLICY.format(plugins='"dawn", "gang"'))
    return tmp_path


def bound(venv, folder: Path, policy: str) -> set[str]:
    words = ["run", folder / "bay.yaml", "-c", folder / policy, "-o", "json"]
    (cycle,) = json.loads(venv.output("pumice", *words))["cycles"]
    return {bind["task"] for bind in cycle["binds"]}


def pass_tests(venv, home: Path, folder: Path) -> str:
    words = ["-p", "no:cacheprovider", "-q", str(folder)]
    told = venv.output("python", "-c", PYTEST.format(home=str(home), words=words))
    assert " passed" in told
    return told


def test_a_new_plugin_comes_decides_and_goes(fresh_venv, build_wheels, home_of_pytest, bay):
    fresh_venv.output("pumice", "new", "plugin", "dawn", "--into", bay)
    folder = bay / "pumice-dawn"
    (wheel,) = build_wheels(folder)
    with fresh_venv.holding(wheel):
        assert "skipped" not in pass_tests(fresh_venv, home_of_pytest, folder)
        assert bound(fresh_venv, bay, "plain.toml") == {"bay/fleet-0", "bay/fleet-1"}
        assert bound(fresh_venv, bay, "naming.toml") == {"bay/tug-0"}
    gone = fresh_venv.run("pumice", "run", bay / "bay.yaml", "-c", bay / "naming.toml")
    assert gone.returncode == 2
    assert "no plugin named 'dawn' is installed" in gone.stderr


def test_a_new_plugin_of_another_hook_passes_its_tests(
    fresh_venv, build_wheels, home_of_pytest, tmp_path
):
    words = ["dusk", "--hook", "batch_node_order", "--into", tmp_path]
    fresh_venv.output("pumice", "new", "plugin", *words)
    folder = tmp_path / "pumice-dusk"
    with fresh_venv.holding(*build_wheels(folder)):
        pass_tests(fresh_venv, home_of_pytest, folder)


def test_a_new_action_passes_its_tests(fresh_venv, build_wheels, home_of_pytest, tmp_path):
    fresh_venv.output("pumice", "new", "action", "dawn", "--into", tmp_path)
    folder = tmp_path / "pumice-dawn"
    with fresh_venv.holding(*build_wheels(folder)):
        pass_tests(fresh_venv, home_of_pytest, folder)
        assert "dawn" in fresh_venv.output("pumice", "actions")


def test_what_is_made_lints_and_type_checks(fresh_venv, tmp_path):
    mypy = ["mypy", "--cache-dir", str(tmp_path / "cache")]
    for kind, name in (("plugin", "noon"), ("action", "dawn")):
        fresh_venv.output("pumice", "new", kind, name, "--into", tmp_path)
        for tool in (["ruff", "check", "--no-cache"], ["ruff", "format", "--check"], mypy):
            result = subprocess.run(
                [sys.executable, "-m", *tool],
                cwd=tmp_path / f"pumice-{name}",
                capture_output=True,
                text=True,
                check=False,
            )
            assert result.returncode == 0, result.stdout + result.stderr
