"""Damaged policies are used or refused with a PolicyError, and never end a cycle otherwise."""

import random
import time
import traceback
from collections.abc import Iterator

import pytest
import tomli

from pumice.backends.adopt import adopt
from pumice.backends.memory import MemoryBackend
from pumice.config import Policy, load_policy, policy_from_dict
from pumice.config.presets import preset_layer
from pumice.discovery import Catalog
from pumice.errors import PumiceError
from pumice.manifests import read_objects
from pumice.scheduler import Scheduler
from tests.fuzz.mutator import Mutator
from tests.fuzz.seeds import EVERY_PLUGIN, SEEDS
from tests.sampling import few_and_all, sample

BATCH = 50
BATCHES = 20_000 // BATCH
SLOW = 5.0
OPTIONS = {
    "nodeorder": {"mostrequested.weight": 2, "leastrequested.weight": 1},
    "binpack": {"binpack.weight": 10, "binpack.resources": "cpu", "binpack.resources.cpu": 3},
    "capacity": {"hierarchy": False},
    "sla": {"sla-waiting-time": "1h"},
    "overcommit": {"overcommit-factor": "1.2"},
}
SCHEDULER = {"period": "1s", "on_plugin_error": "isolate", "scheduler_names": ["volcano"]}
TEXT = """\
preset = "volcano"
actions = ["enqueue", "allocate"]

[[tiers]]
plugins = ["priority", { name = "gang", disable = ["preemptable"] }]

[[tiers]]
plugins = ["drf", "predicates", "proportion", "nodeorder"]

[plugin.nodeorder]
leastrequested.weight = 5

[action.allocate]
predicateErrorCacheEnable = true

[scheduler]
period = "500ms"
scheduler_names = ["volcano"]
"""
PIECES = (*"[]{}=.,\"'#\n\\ -", "[[", "]]", '"""', "\x00", "\ud7ff", "1e999", "0x", "preset")


def policies() -> list[dict]:
    every = {**EVERY_PLUGIN, "plugin": OPTIONS, "scheduler": SCHEDULER}
    return [every, *(dict(preset_layer(name).data) for name in ("volcano", "kai", "pumice"))]


def damaged_text(dice: random.Random) -> str:
    text = TEXT
    for _ in range(dice.choice((1, 1, 2, 4))):
        at, to = sorted(dice.randrange(len(text) + 1) for _ in range(2))
        match dice.choice(("insert", "cut", "repeat")):
            case "insert":
                text = text[:at] + dice.choice(PIECES) + text[at:]
            case "cut":
                text = text[:at] + text[min(to, at + 20) :]
            case "repeat":
                text = text[:to] + text[at:to] + text[to:]
    return text


@pytest.fixture(scope="module")
def inventory():
    objects = SEEDS["volcano"][0]()
    return adopt(read_objects((str(i), item) for i, item in enumerate(objects)))


class Fuzzed:
    def __init__(self, inventory, folder) -> None:
        self.inventory = inventory
        self.catalog = Catalog()
        self.file = folder / "policy.toml"

    def failures(self, batch: int) -> Iterator[str]:
        """What went wrong with the policies of a batch."""
        dice = random.Random(batch)
        mutators = [Mutator(data, batch) for data in policies()]
        for number in range(BATCH):
            start = time.process_time()
            try:
                if number % 2:
                    self.file.write_text(damaged_text(dice), encoding="utf-8")
                    policy = load_policy(self.file, env={}, catalog=self.catalog)
                else:
                    data = dice.choice(mutators).damaged(dice.choice((1, 1, 2, 3)))
                    policy = policy_from_dict(data, catalog=self.catalog)
                if number % 10 < 2:
                    self.run(policy)
            except PumiceError as error:
                if not str(error):
                    yield f"batch {batch}, policy {number}: an error without a message"
            except Exception:
                yield f"batch {batch}, policy {number}: {traceback.format_exc(limit=-3)}"
            if time.process_time() - start > SLOW:
                yield f"batch {batch}, policy {number}: takes more than {SLOW} s"

    def run(self, policy: Policy) -> None:
        Scheduler(MemoryBackend(self.inventory), policy, fresh=True).run_once()


def test_the_undamaged_policies_are_used(inventory, tmp_path):
    for data in policies():
        Fuzzed(inventory, tmp_path).run(policy_from_dict(data))
    assert tomli.loads(TEXT)
    (tmp_path / "policy.toml").write_text(TEXT)
    load_policy(tmp_path / "policy.toml", env={})


@few_and_all(3, BATCHES)
def test_damaged_policies(inventory, tmp_path, count):
    fuzzed = Fuzzed(inventory, tmp_path)
    for batch in sample("damaged policies", BATCHES, count):
        assert not next(fuzzed.failures(batch), None)
