"""Recorded clusters on which evictions went wrong: what the default policy does with them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from pumice.config import load_policy
from pumice.scenarios import Runner
from tests.evictions.kinds import ADVISORY
from tests.evictions.run import RULES, Result, Run

CASES = {
    "04-kube-system-evicted.yaml": ("volcano", {"protected"}),
    "05-reclaim-from-queue-within-deserved.yaml": ("volcano", {"within-share"}),
    "06-antiaffinity-endless-eviction.yaml": ("volcano", {"promise"}),
    "15-tiers-hide-deserved.json": ("volcano", {"within-share", "gang-broken"}),
    "17-limit-passed-by-shared-gpus.json": ("volcano", {"queue-limit", "gang-broken"}),
    "pingpong-kai-3.json": ("kai", {"bound-and-evicted", "still-evicting"}),
    "pingpong-kai-9.json": ("kai", {"bound-and-evicted", "still-evicting"}),
    "pingpong-pumice-11.json": ("volcano", {"promise", "still-evicting"}),
    "pingpong-pumice-19.json": ("volcano", {"protected", "mutual", "still-evicting"}),
}
"""File → the upstream preset that goes wrong on it, and how."""
BYSTANDERS = ("16-kai-bystander-a.json", "16-kai-bystander-b.json")
"""The same cluster, but for the name of a job that can never run."""


@pytest.fixture(scope="module")
def findings(shared: Path) -> Path:
    folder = shared / "findings"
    if not folder.is_dir():
        pytest.skip("the shared material has no findings")
    return folder


def run(file: Path, preset: str) -> Result:
    """Thirty cycles in which evicted pods come back."""
    text = file.read_text(encoding="utf-8")
    items = json.loads(text)["items"] if file.suffix == ".json" else list(yaml.safe_load_all(text))
    return Run(items, load_policy(preset=preset, env={}), RULES[preset]).cycles()


@pytest.mark.parametrize("name", CASES)
def test_the_default_policy_does_nothing_wrong(findings, name):
    violations = run(findings / name, "pumice").violations
    assert not [violation for violation in violations if violation.kind not in ADVISORY]


@pytest.mark.parametrize("name", CASES)
def test_upstreams_policy_does(findings, name):
    preset, kinds = CASES[name]
    assert kinds <= {violation.kind for violation in run(findings / name, preset).violations}


def test_the_name_of_a_bystander_decides_nothing(findings):
    results = [run(findings / name, "pumice") for name in BYSTANDERS]
    assert [result.evictions for result in results] == [2, 2]
    assert not any(result.violations for result in results)


def test_for_upstream_it_does(findings):
    first, second = (run(findings / name, "kai").evictions for name in BYSTANDERS)
    assert first != second


def test_nothing_is_evicted_for_a_queue_that_is_full(findings):
    (result,) = Runner().run_file(findings / "14-topology-aware-full-queue.scenario.json")
    assert result.verdict == "passed", result
