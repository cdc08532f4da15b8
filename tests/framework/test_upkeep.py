"""A cluster that is kept from cycle to cycle is the one that would be built."""

import random

import pytest

from pumice.backends.memory import MemoryBackend
from pumice.config import policy_from_dict
from pumice.scheduler import Scheduler
from pumice.testing.cluster import NOW
from tests.framework._histories import FAMILIES, Life

LOUD = {"scheduler": {"on_plugin_error": "raise"}}
POLICIES = {
    "volcano": policy_from_dict({"preset": "volcano", **LOUD}),
    "kai": policy_from_dict({"preset": "kai", **LOUD}),
    "mixed": policy_from_dict(
        {
            "actions": ["enqueue", "allocate", "fair_allocate", "solve_reclaim", "preempt"],
            "tiers": [{"plugins": ["gang", "fairshare", "predicates", "nodeorder"]}],
            "scheduler": {"on_plugin_error": "raise", "scheduler_names": ["volcano"]},
        }
    ),
}
CYCLES = 5
EACH = 30


def told(decisions):
    return decisions.as_json(), decisions.jobs, decisions.task_states


def live(family, seed, **options):
    """The decisions of some cycles of a random life; some sessions decide nothing."""
    backend = MemoryBackend(
        FAMILIES[family](seed),
        now=NOW,
        between=random.Random(seed).choice(["settle", "recreate", "none"]),
    )
    scheduler = Scheduler(backend, POLICIES[family], **options)
    life, dice = Life(seed), random.Random(seed)
    for _ in range(CYCLES):
        if dice.random() < 0.8:
            yield told(scheduler.run_once())
        else:
            yield told(scheduler.finish(scheduler.open_session()))
        if dice.random() < 0.1:
            scheduler.open_session()  # and never finished
        if dice.random() < 0.8:
            backend.advance()
        backend.step(dice.choice([0, 1, 100]))
        backend.replace(life.goes_on(backend.snapshot(), rate=dice.choice([0, 0.05, 0.2])))


@pytest.mark.parametrize("block", range(4))
@pytest.mark.parametrize("family", FAMILIES)
def test_decisions_are_those_of_clusters_that_are_built(family, block):
    for seed in range(block * EACH, (block + 1) * EACH):
        kept = list(live(family, seed, verify=True))
        assert kept == list(live(family, seed, fresh=True)), f"seed {seed}"
