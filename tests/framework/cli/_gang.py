"""A gang of two pods in files, and the commands about it."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from pumice.cli import main

CLUSTER = """
apiVersion: v1
kind: Node
metadata: {name: n1}
status: {allocatable: {cpu: "2", memory: 4Gi, pods: "10"}}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: q}
spec: {weight: 1}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: pair, namespace: ns}
spec: {queue: q, minMember: 2}
status: {phase: Pending}
"""
POLICY = """
actions = ["enqueue", "allocate"]
[[tiers]]
plugins = ["priority", "gang"]
"""


def pod(name: str, cpu: str = "1", group: str = "pair", more: str = "") -> str:
    annotations = f"scheduling.k8s.io/group-name: {group}" if group else ""
    return f"""---
apiVersion: v1
kind: Pod
metadata: {{name: {name}, namespace: ns, annotations: {{{annotations}}}}}
spec:
  {more}
  containers: [{{name: c, resources: {{requests: {{cpu: "{cpu}", memory: 1Gi}}}}}}]
"""


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("policy.toml").write_text(POLICY)

    def files(*pods: str) -> None:
        Path("cluster.yaml").write_text(CLUSTER + "".join(pods))

    files(pod("x"), pod("y"))
    return files


def pumice(*args: str):
    return CliRunner().invoke(main, args, prog_name="pumice")


def run(*args: str):
    return pumice("run", "cluster.yaml", "-c", "policy.toml", *args)


def as_json(*args: str):
    result = run("-o", "json", *args)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def placed(task: str, job: str) -> dict:
    return {"task": f"ns/{task}", "job": f"ns/{job}", "node": "n1", "gpu_groups": []}


class Failing:
    def job_valid(self, job):
        raise ZeroDivisionError("oops")
