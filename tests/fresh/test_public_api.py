"""A distribution that imports nothing but what the API page shows: a plugin, an action, a solver
action and a backend, built as a wheel, installed, and run."""

import ast
import json
from pathlib import Path
from textwrap import dedent

import pytest

pytestmark = pytest.mark.fresh

EXAMPLES = Path(__file__).resolve().parents[2] / "docs" / "examples" / "api"
PARTS = {
    "plugins": {"teams": "plugin:Teams"},
    "actions": {"firstfit": "action:FirstFit", "makeroom": "solver_action:MakeRoom"},
    "backends": {"journal": "backend:Journal"},
}
CLUSTER = """
apiVersion: v1
kind: List
items:
- {kind: Node, apiVersion: v1, metadata: {name: east}, status: {allocatable: {cpu: "2", pods: "9"}}}
- kind: Node
  apiVersion: v1
  metadata: {name: west, labels: {example.com/team: default}}
  status: {allocatable: {cpu: "2", pods: "9"}}
- {kind: PriorityClass, apiVersion: scheduling.k8s.io/v1, metadata: {name: high}, value: 90}
- kind: PodGroup
  apiVersion: scheduling.volcano.sh/v1beta1
  metadata: {name: small, namespace: ns}
  spec: {queue: default, minMember: 1}
  status: {phase: Inqueue}
- kind: PodGroup
  apiVersion: scheduling.volcano.sh/v1beta1
  metadata: {name: old, namespace: ns}
  spec: {queue: default, minMember: 1}
  status: {phase: Running}
- kind: PodGroup
  apiVersion: scheduling.volcano.sh/v1beta1
  metadata: {name: urgent, namespace: ns}
  spec: {queue: default, minMember: 1, priorityClassName: high}
  status: {phase: Inqueue}
- kind: PodGroup
  apiVersion: scheduling.volcano.sh/v1beta1
  metadata: {name: urgent-too, namespace: ns}
  spec: {queue: default, minMember: 1, priorityClassName: high}
  status: {phase: Inqueue}
- kind: Pod
  apiVersion: v1
  metadata: {name: a, namespace: ns, annotations: {scheduling.k8s.io/group-name: small}}
  spec: {containers: [{name: c, resources: {requests: {cpu: "1"}}}]}
- kind: Pod
  apiVersion: v1
  metadata: {name: b, namespace: ns, annotations: {scheduling.k8s.io/group-name: old}}
  spec: {nodeName: east, containers: [{name: c, resources: {requests: {cpu: "2"}}}]}
  status: {phase: Running}
- kind: Pod
  apiVersion: v1
  metadata: {name: c, namespace: ns, annotations: {scheduling.k8s.io/group-name: urgent}}
  spec: {priority: 90, containers: [{name: c, resources: {requests: {cpu: "2"}}}]}
- kind: Pod
  apiVersion: v1
  metadata: {name: d, namespace: ns, annotations: {scheduling.k8s.io/group-name: urgent-too}}
  spec: {priority: 90, containers: [{name: c, resources: {requests: {cpu: "2"}}}]}
"""
POLICY = """
actions = ["firstfit", "makeroom"]
[[tiers]]
plugins = ["teams", "gang", "priority", "predicates"]
[plugin.teams]
weight = 50
[action.makeroom]
most = 1
"""
OWN_PROGRAM = """
    import sys
    from pumice import Backend, Ledger, Scheduler, load_policy
    from scratch.backend import Journal

    backend, ledger = Journal([sys.argv[1]]), Ledger()
    assert isinstance(backend, Backend)
    decisions = Scheduler(backend, load_policy(sys.argv[2]), ledger=ledger).run_once()
    print(decisions.binds[0].node, any(e["event"] == "evict" for e in ledger.events()))
"""


@pytest.fixture(scope="module")
def scratch(build_wheels, fresh_venv, tmp_path_factory):
    """The fresh environment with the scratch distribution in it."""
    folder = tmp_path_factory.mktemp("elsewhere") / "scratch"
    package = folder / "scratch"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    for example in EXAMPLES.glob("*.py"):
        (package / example.name).write_text(example.read_text(encoding="utf-8"), encoding="utf-8")
    lines = [
        '[build-system]\nrequires = ["hatchling"]\nbuild-backend = "hatchling.build"',
        '[project]\nname = "scratch"\nversion = "1.0"',
        'dependencies = ["pumice-framework>=0.2,<0.3"]',
    ]
    for group, names in PARTS.items():
        lines.append(f'[project.entry-points."pumice.{group}"]')
        lines += [f'{name} = "scratch.{target}"' for name, target in names.items()]
    (folder / "pyproject.toml").write_text("\n".join(lines), encoding="utf-8")
    with fresh_venv.holding(*build_wheels(folder)):
        yield fresh_venv


@pytest.fixture
def files(tmp_path):
    (tmp_path / "cluster.yaml").write_text(CLUSTER)
    (tmp_path / "policy.toml").write_text(POLICY)
    return tmp_path / "cluster.yaml", tmp_path / "policy.toml"


def test_it_imports_from_pumice_alone():
    """What simulations are made of has modules of its own."""
    for example in EXAMPLES.glob("*.py"):
        modules = {
            node.module
            for node in ast.walk(ast.parse(example.read_text(encoding="utf-8")))
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("pumice")
        }
        simulation = {"pumice.measures", "pumice.simulation", "pumice.traces"}
        assert modules == (simulation if example.stem == "measure" else {"pumice"}), example.name


def test_the_command_runs_plugin_action_and_solver(scratch, files):
    cluster, policy = files
    printed = scratch.output("pumice", "run", cluster, "-c", policy, "-o", "json", "--check")
    (cycle,) = json.loads(printed)["cycles"]
    assert [(bind["task"], bind["node"]) for bind in cycle["binds"]] == [("ns/c", "west")]
    assert [(one["task"], one["node"]) for one in cycle["pipelined"]] == [("ns/d", "east")]
    (eviction,) = cycle["evictions"]
    assert (eviction["task"], eviction["action"]) == ("ns/b", "makeroom")
    assert eviction["for"] == "ns/urgent-too"


def test_the_command_takes_a_backend_by_name(scratch, files):
    cluster, policy = files
    command = ["run", cluster, "-c", policy, "--backend", "journal", "--cycles", "2"]
    scratch.output("pumice", *command)
    written = cluster.with_suffix(".decisions.json").read_text().splitlines()
    binds = [json.loads(line)["binds"] for line in written]
    assert [[(bind["task"], bind["node"]) for bind in each] for each in binds] == [
        [("ns/c", "west")]
    ] * 2


def test_a_program_of_its_own_runs_it(scratch, files, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(dedent(OWN_PROGRAM))
    assert scratch.output("python", program, *files).split() == ["west", "True"]
