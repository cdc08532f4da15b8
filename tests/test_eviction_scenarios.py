"""The scenarios of evictions fail without what they are about."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from pumice.scenarios import Runner

FOLDER = Path(__file__).parent / "scenarios" / "evictions"
WRONG = {
    "limit_beside_a_terminating_pod": None,
    "beside_a_terminating_pod": {"evictions": {"atomic": False}},
    "a_host_port_that_stays": {"preset": "volcano"},
    "a_neighbour_that_stays": {"preset": "volcano"},
    "a_victim_that_comes_back": {"evictions": {"atomic": False}},
    "bystander_first": {"preset": "kai"},
    "bystander_last": None,
    "budget_of_all_pods": {"evictions": {"protected": False}},
    "full_queue": {"evictions": {"atomic": False}},
    "gang_goes_whole": {"evictions": {"atomic": False}},
    "held_for_a_pod_that_moves": {"evictions": {"reserved": False}},
    "held_for_a_pod_without_requests": {"preset": "volcano"},
    "held_for_the_claimant": {"evictions": {"reserved": False}},
    "held_while_a_pod_slot_is_freed": {"evictions": {"reserved": False}},
    "limit_and_gpu_fractions": {"preset": "volcano"},
    "moved_once": {"preset": "volcano"},
    "needless_victim": {"evictions": {"minimal": False}},
    "needed_beside_a_promised_pod": {"evictions": {"protected": False}},
    "no_exchange_within_a_gang": {"evictions": {"minimal": False}},
    "no_eviction_is_reversed": {"evictions": {"monotone": False}},
    "placed_in_this_cycle": {"preset": "kai"},
    "queue_within_its_share": {"preset": "volcano"},
    "rack_of_the_rest": {"evictions": {"atomic": False}},
    "rack_of_the_spared": {"preset": "volcano"},
    "slot_of_a_terminating_pod": {"evictions": {"atomic": False}},
    "system_critical_pods": {"preset": "volcano"},
}
"""Scenario → the upstream preset, or its own policy without a promise, that decides otherwise.

None: all decide alike; the other scenario of a pair differs.
"""


def verdict(name: str, config: dict | None = None) -> str:
    """The verdict on a scenario, with another policy if one is given."""
    file = FOLDER / f"{name}.yaml"
    data = yaml.safe_load(file.read_text(encoding="utf-8"))
    if config is not None:
        data["config"] = config if "preset" in config else {**data["config"], **config}
    return Runner().run_text(json.dumps(data).encode(), file, id=name).verdict


def test_every_scenario_is_listed():
    assert sorted(WRONG) == sorted(file.stem for file in FOLDER.iterdir())


@pytest.mark.parametrize("name", WRONG)
def test_it_passes_as_it_is(name):
    assert verdict(name) == "passed"


@pytest.mark.parametrize("name", [name for name, config in WRONG.items() if config])
def test_it_fails_without_what_it_is_about(name):
    assert verdict(name, WRONG[name]) == "failed"
