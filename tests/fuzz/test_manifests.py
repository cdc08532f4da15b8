"""Damaged manifests never end a cycle, and nothing is dropped without a report."""

import time
import traceback
from collections.abc import Iterator

import pytest
from loguru import logger

from pumice.backends.adopt import adopt
from pumice.backends.memory import MemoryBackend
from pumice.config import policy_from_dict
from pumice.manifests import read_objects
from pumice.model.facts import Inventory
from pumice.scheduler import Scheduler
from tests.fuzz.mutator import Mutator
from tests.fuzz.seeds import SEEDS
from tests.sampling import few_and_all, sample

DAMAGED = (1, 2, 10, 15)
"""How many manifests of a cluster are damaged, by turns: few show more, many are quick."""
CLUSTERS = 16
"""Clusters of one batch."""
BATCH = CLUSTERS * sum(DAMAGED) // len(DAMAGED)
BATCHES = 100_000 // BATCH // len(SEEDS) + 1
SLOW = 5.0


@pytest.fixture(autouse=True, scope="module")
def quiet() -> Iterator[None]:
    for name in ("pumice", "pumice_builtin_plugins"):
        logger.disable(name)
    yield
    logger.enable("pumice_builtin_plugins")


class Fuzzed:
    """Clusters of one kind under one policy, in which a plugin that raises ends the cycle."""

    def __init__(self, name: str) -> None:
        objects, policy = SEEDS[name]
        self.objects = objects()
        strict = {**policy, "scheduler": {"on_plugin_error": "raise"}}
        self.policy = policy_from_dict(strict, where=name)

    def failures(self, batch: int) -> Iterator[str]:
        """What went wrong with the clusters of a batch."""
        mutator = Mutator(self.objects, batch)
        for number in range(CLUSTERS):
            objects = mutator.damaged(DAMAGED[number % len(DAMAGED)])
            start = time.process_time()
            try:
                self.run(objects)
            except Exception:
                yield f"batch {batch}, cluster {number}: {traceback.format_exc(limit=-3)}"
            if time.process_time() - start > SLOW:
                yield f"batch {batch}, cluster {number}: takes more than {SLOW} s"

    def run(self, objects: list[object]) -> None:
        items = [(f"objects[{i}]", item) for i, item in enumerate(objects)]
        inventory = read_objects(items)
        assert accounted(inventory) >= len(items), "an object was dropped without a report"
        backend = MemoryBackend(adopt(inventory, queue="default"))
        Scheduler(backend, self.policy, fresh=True).run_once()


def accounted(inventory: Inventory) -> int:
    """Objects that were read, are ignored or have a report."""
    tables = (
        inventory.pods, inventory.nodes, inventory.groups, inventory.queues,
        inventory.priority_classes, inventory.budgets, inventory.hypernodes, inventory.quotas,
        *inventory.others.values(),
    )  # fmt: skip
    ignored = sum(inventory.ignored_kinds.values())
    return sum(map(len, tables)) + ignored + len(inventory.problems)


@pytest.mark.parametrize("name", SEEDS)
def test_the_undamaged_objects_are_read_and_scheduled(name):
    fuzzed = Fuzzed(name)
    inventory = read_objects((str(i), item) for i, item in enumerate(fuzzed.objects))
    assert not [str(problem) for problem in inventory.problems]
    assert not inventory.ignored_kinds
    fuzzed.run(fuzzed.objects)


@few_and_all(3, BATCHES)
@pytest.mark.parametrize("name", SEEDS)
def test_damaged_manifests(name, count):
    fuzzed = Fuzzed(name)
    for batch in sample(f"damaged manifests {name}", BATCHES, count):
        assert not next(fuzzed.failures(batch), None)
