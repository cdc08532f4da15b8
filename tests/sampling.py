"""Random samples for tests that could try thousands of seeds.

``make test`` tries a few seeds, drawn anew in every run; ``make test-long`` tries all of them.
PUMICE_TEST_SEED=N repeats the draw of a run: its report begins with the number, and whatever fails
names the seed of the cluster itself.
"""

from __future__ import annotations

import os
import random
from collections.abc import Sequence

VARIABLE = "PUMICE_TEST_SEED"


def choose_seed() -> int:
    """The seed of this run; worker processes inherit it through the environment."""
    given = os.environ.get(VARIABLE)
    if given is None:
        given = os.environ[VARIABLE] = str(random.SystemRandom().randrange(1_000_000))
    return int(given)


def sample(name: str, total: int, count: int) -> Sequence[int]:
    """``count`` of the seeds ``0 … total - 1``, drawn for the test of this name."""
    return sorted(random.Random(f"{choose_seed()}/{name}").sample(range(total), count))
