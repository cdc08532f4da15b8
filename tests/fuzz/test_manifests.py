"""Damaged manifests never end a cycle, and nothing is dropped without a report."""

import contextlib
import traceback
from collections.abc import Iterator

import pytest
from loguru import logger

from pumice.backends.adopt import adopt
from pumice.backends.memory import MemoryBackend
from pumice.config import load_policy
from pumice.manifests import read_objects
from pumice.scheduler import Scheduler
from tests.fuzz.mutator import Mutator
from tests.fuzz.seeds import SEEDS
from tests.sampling import few_and_all, sample

BATCH = 100
TOTAL = 100_000
PER_PRESET = TOTAL // len(SEEDS) // BATCH + 1
FEW = 2


@pytest.fixture(autouse=True, scope="module")
def quiet() -> Iterator[None]:
    logger.disable("pumice")
    yield
    logger.enable("pumice")


class Cluster:
    """Schedules objects under one preset."""

    def __init__(self, preset: str) -> None:
        self.policy = load_policy(preset=preset, env={})

    def run(self, objects: object) -> None:
        """Read the objects and run a cycle.

        :raises AssertionError: an object is neither read nor reported.
        """
        items = [(f"objects[{i}]", item) for i, item in enumerate(objects)]
        inventory = read_objects(items)
        read = sum(
            len(table)
            for table in (
                inventory.pods, inventory.nodes, inventory.groups, inventory.priority_classes,
                inventory.budgets, inventory.hypernodes, inventory.quotas,
                *inventory.others.values(),
            )
        )  # fmt: skip
        read += sum(1 for queue in inventory.queues.values() if queue.name != "default")
        known = read + sum(inventory.ignored_kinds.values()) + len(inventory.problems)
        assert known >= len(items), "an object was dropped without a report"
        backend = MemoryBackend(adopt(inventory, queue="default"))
        Scheduler(backend, self.policy, fresh=True).run_once()


def failures(preset: str, batches: list[int]) -> Iterator[str]:
    cluster, seed_objects = Cluster(preset), SEEDS[preset]()
    for batch in batches:
        mutator = Mutator(seed_objects, batch)
        for number in range(BATCH):
            objects = mutator.damaged()
            with contextlib.suppress(StopIteration):
                try:
                    cluster.run(objects)
                except Exception:
                    yield f"batch {batch}, number {number}: {traceback.format_exc(limit=-3)}"


@pytest.mark.parametrize("preset", SEEDS)
def test_the_undamaged_objects_are_read_and_scheduled(preset):
    objects = SEEDS[preset]()
    inventory = read_objects((str(i), item) for i, item in enumerate(objects))
    assert not [str(problem) for problem in inventory.problems]
    Cluster(preset).run(objects)


@few_and_all(FEW, PER_PRESET)
@pytest.mark.parametrize("preset", SEEDS)
def test_damaged_manifests(preset, count):
    batches = list(sample(f"damaged manifests {preset}", PER_PRESET, count))
    assert next(failures(preset, batches), None) is None
