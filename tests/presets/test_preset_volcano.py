"""``pumice run DUMP --preset volcano`` on a cluster that Volcano has been scheduling."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from pumice.cli import main
from pumice.config import load_policy

DUMP = Path(__file__).with_name("volcano_dump.json")


@pytest.fixture(scope="module")
def cycles():
    args = ["run", str(DUMP), "--preset", "volcano", "--cycles", "2", "--check", "-o", "json"]
    result = CliRunner().invoke(main, args, prog_name="pumice")
    assert result.exit_code == 0, result.output
    assert "warning" not in result.stderr
    return json.loads(result.stdout)["cycles"]


def test_the_preset_is_that_of_the_chart_with_the_evicting_actions():
    policy = load_policy(preset="volcano", env={})
    assert [action.name for action in policy.actions] == [
        "enqueue", "allocate", "backfill", "reclaim", "preempt",
    ]  # fmt: skip
    assert [[plugin.name for plugin in tier] for tier in policy.tiers] == [
        ["priority", "gang", "conformance"],
        ["overcommit", "drf", "predicates", "proportion", "nodeorder", "binpack"],
    ]
    silent = [plugin.name for plugin in policy.plugins if not plugin.answers("preemptable")]
    assert silent == ["gang", "drf"]
    assert policy.warnings == ()


def test_pending_pods_are_bound_to_free_nodes(cycles):
    """n1 and n2 are full. What fits on n3 goes there, the pod without a group included."""
    binds = {bind["task"]: bind["node"] for bind in cycles[0]["binds"]}
    assert binds["team/plain"] == "n3"
    assert set(binds) == {"team/plain", "team/probe-0"}


def test_a_queue_takes_back_its_share(cycles):
    """Research has 8 cpus of 9 and deserves less: production gets two of its pods' places.

    The gang stays at its minimum of one, and of one job the later pod goes first.
    """
    evictions = [(e["task"], e["node"], e["action"], e["for"]) for e in cycles[0]["evictions"]]
    assert evictions == [
        ("team/sweep-1", "n1", "reclaim", "team/serve"),
        ("team/sweep-0", "n1", "reclaim", "team/serve"),
    ]
    pipelined = {(p["task"], p["node"]) for p in cycles[0]["pipelined"]}
    assert pipelined == {("team/serve-0", "n1"), ("team/serve-1", "n1")}


def test_the_pipelined_pods_are_bound_in_the_next_cycle(cycles):
    binds = {(bind["task"], bind["node"]) for bind in cycles[1]["binds"]}
    assert binds == {("team/serve-0", "n1"), ("team/serve-1", "n1")}
    assert cycles[1]["evictions"] == []


def test_a_job_larger_than_the_cluster_stays_pending(cycles):
    phases = {job["job"]: job["phase"] for job in cycles[1]["jobs"]}
    assert phases["team/huge"] == "Pending"
    assert phases["team/probe"] != "Pending"
