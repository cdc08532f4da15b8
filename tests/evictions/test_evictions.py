"""Random clusters under the default policy: no eviction is wrong, and evictions stop."""

from __future__ import annotations

import pytest

from tests.evictions.generator import draw
from tests.evictions.kinds import ADVISORY
from tests.evictions.run import RULES, Run, policy_of
from tests.sampling import few_and_all, sample

TOTAL, CHUNK, FEW = 1000, 50, 5
CHURNED = 60
"""How many clusters may also be run with jobs that come and go; each takes many cycles."""


def violations(seeds, family, *, churn=False):
    """What must not happen, with the seed of its cluster."""
    policy = policy_of("pumice")
    return [
        (seed, violation)
        for seed in seeds
        for violation in Run(
            draw(seed, family), policy, RULES["pumice"], churn=seed if churn else None
        )
        .cycles()
        .violations
        if violation.kind not in ADVISORY
    ]


@pytest.mark.parametrize("family", ["volcano", "kai"])
def test_a_sample(family):
    assert not violations(sample(f"evictions/{family}", TOTAL, FEW), family)


@few_and_all(2, 12)
@pytest.mark.parametrize("family", ["volcano", "kai"])
def test_jobs_that_come_and_go(family, count):
    assert not violations(sample(f"evictions/{family}/churn", CHURNED, count), family, churn=True)


@pytest.mark.long
@pytest.mark.parametrize("first", range(0, TOTAL, CHUNK))
@pytest.mark.parametrize("family", ["volcano", "kai"])
def test_all(family, first):
    assert not violations(range(first, first + CHUNK), family)
