"""Random samples for tests that could try thousands of seeds.

``make test`` tries a few seeds, others in every run; ``make test-long`` tries all of them.
PUMICE_TEST_SEED=N repeats the draw of a run: its report begins with the number, and whatever fails
names the seed of the cluster itself.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest

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


def few_and_all(few: int, total: int) -> Any:
    """Parametrize a test by ``count``: ``few``, and ``total`` in ``make test-long``."""
    params = [
        pytest.param(few, id="few"),
        pytest.param(total, id="all", marks=pytest.mark.long),
    ]
    return pytest.mark.parametrize("count", params)


def random_examples(few: int, many: int, *strategies: Any, **named: Any) -> Any:
    """Test a property with hypothesis: ``few`` examples, and ``many`` in ``make test-long``."""
    from hypothesis import HealthCheck, given, settings

    def decorate(check: Callable[..., None]) -> Any:
        def test(count: int) -> None:
            limits = settings(
                max_examples=count, deadline=None, suppress_health_check=list(HealthCheck)
            )
            limits(given(*strategies, **named)(check))()

        test.__name__, test.__qualname__ = check.__name__, check.__qualname__
        test.__doc__, test.__module__ = check.__doc__, check.__module__
        return few_and_all(few, many)(test)

    return decorate
