"""What commands print at 80, 120 and 200 columns, compared with stored files.

``UPDATE_GOLDEN=1 pytest tests/framework/cli/test_golden.py`` writes the files again.
"""

import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from pumice.cli import main

ROOT = Path(__file__).resolve().parents[3]
GOLDEN = Path(__file__).parent / "golden"
DEMO = ("docs/examples/demo", "-c", "docs/examples/demo/policy.toml")
COMMANDS = {
    "actions": ("actions",),
    "config": ("config", "show", "docs/examples/demo/policy.toml"),
    "hooks": ("hooks",),
    "plugins": ("plugins",),
    "plugin": ("plugins", "binpack"),
    "hook": ("hooks", "JobOrderFn"),
    "run": ("run", *DEMO, "--cycles", "2"),
    "run-full": ("run", "crowd.yaml", "-c", "docs/examples/demo/policy.toml", "--full"),
    "top": ("top", *DEMO),
    "top-many": ("top", "crowd.yaml", "-c", "docs/examples/demo/policy.toml"),
    "summary": ("run", "crowd.yaml", "-c", "docs/examples/demo/policy.toml"),
}
NODE = """---
apiVersion: v1
kind: Node
metadata: {{name: n{number}}}
status: {{allocatable: {{cpu: "8", memory: 64Gi, pods: "110"}}}}
"""
QUEUE = """---
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {{name: team-{number}}}
spec: {{weight: {weight}, reclaimable: true}}
"""
JOB = """---
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {{name: job-{number:02}, namespace: ns,
            creationTimestamp: "2026-03-01T09:00:{number:02}Z"}}
spec: {{queue: team-{queue}, minMember: {tasks}}}
"""
POD = """---
apiVersion: v1
kind: Pod
metadata: {{name: job-{number:02}-{task}, namespace: ns,
            annotations: {{scheduling.k8s.io/group-name: job-{number:02}}}}}
spec: {{containers: [{{name: c, resources: {{requests: {{cpu: "1", memory: 1Gi}}}}}}]}}
"""


def crowd() -> str:
    """Thirty jobs of three queues, of which about half fit."""
    text = "".join(NODE.format(number=number) for number in range(6))
    text += "".join(QUEUE.format(number=n, weight=n + 1) for n in range(3))
    for number in range(30):
        tasks = 2 + number % 4
        text += JOB.format(number=number, queue=number % 3, tasks=tasks)
        text += "".join(POD.format(number=number, task=task) for task in range(tasks))
    return text


@pytest.mark.parametrize("columns", [80, 120, 200])
@pytest.mark.parametrize("name", COMMANDS)
def test_output_is_as_stored(name, columns, monkeypatch, tmp_path):
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", str(columns))
    (tmp_path / "crowd.yaml").write_text(crowd())
    words = [str(tmp_path / word) if word == "crowd.yaml" else word for word in COMMANDS[name]]
    result = CliRunner().invoke(main, words, prog_name="pumice")
    assert result.exit_code == 0, result.output
    file = GOLDEN / str(columns) / f"{name}.txt"
    if os.environ.get("UPDATE_GOLDEN"):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(result.stdout, encoding="utf-8")
    assert result.stdout == file.read_text(encoding="utf-8")
    listed = result.stdout.partition("\nExample\n")[0].splitlines()
    assert max(map(len, listed)) <= columns
