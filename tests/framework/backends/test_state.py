"""The state of the embedded cluster in a file."""

import collections.abc
import dataclasses
import json
import math
import types
import typing

import pytest

from pumice.backends.memory import MemoryBackend
from pumice.backends.state import ClusterState, StateError, decoded, encoded, load_state, save_state
from pumice.config import load_policy
from pumice.manifests import read_objects
from pumice.model.facts import EvictionLog, Inventory, Reservation, ReservedTask
from pumice.model.resources import Resource
from pumice.scheduler import Scheduler
from pumice.testing.random_clusters import seeded_cluster
from tests.evictions.generator import NOW, draw
from tests.sampling import few_and_all

CYCLES = 5


def sample(kind):
    """A value of the type that is no default; facts have all their fields set."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if dataclasses.is_dataclass(kind):
        hints = typing.get_type_hints(kind)
        return kind(**{item.name: sample(hints[item.name]) for item in dataclasses.fields(kind)})
    if kind is Resource:
        return Resource(math.inf, 1.5, {"nvidia.com/gpu": 2000, "pods": math.inf})
    if origin in (typing.Union, types.UnionType):
        return sample(arguments[0])
    if origin is typing.Literal:
        return arguments[1]
    if origin in (dict, collections.abc.Mapping):
        return {sample(arguments[0]): sample(arguments[1])}
    if origin is tuple and arguments[-1] is not Ellipsis:
        return tuple(map(sample, arguments))
    if origin in (list, tuple, frozenset, collections.abc.Sequence):
        return (tuple if origin is collections.abc.Sequence else origin)([sample(arguments[0])])
    return {str: "text", int: 7, float: 7.5, bool: False, typing.Any: {"deep": [1, "x", None]}}[
        kind
    ]


def plain(value):
    """Facts as values that can be compared."""
    if dataclasses.is_dataclass(value):
        names = [item.name for item in dataclasses.fields(value)]
        return {"": type(value).__name__} | {name: plain(getattr(value, name)) for name in names}
    if isinstance(value, Resource):
        return ("Resource", *value.items())
    if isinstance(value, collections.abc.Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value


def through_file(state: ClusterState) -> ClusterState:
    return decoded(encoded(state), "state.json")


def full_state() -> ClusterState:
    """A state in which every field of every fact differs from its default."""
    inventory = sample(Inventory)
    for table in ("pods", "groups"):
        setattr(inventory, table, {"text": getattr(inventory, table)["text"]})
    return ClusterState(inventory, 12.5, 3, {"text": 2})


def test_every_field_of_every_fact_is_stored():
    state = full_state()
    again = through_file(state)
    assert plain(again) == plain(state)
    assert again.inventory.eviction_log.reservations["text"].tasks[0].gpu_groups == ("text",)
    assert type(again.inventory.budgets["text"].disrupted_pods) is frozenset


@pytest.mark.parametrize("number", [math.inf, -math.inf, 0.1 + 0.2, 1e300, 0.0])
def test_numbers_are_stored_exactly(number):
    held = Reservation("ns/j", (ReservedTask("u", "n"),), deadline=number)
    log = EvictionLog({"ns/j": held})
    inventory = Inventory(eviction_log=log, node_usage={"n": {"cpu": {"5m": number}}})
    again = through_file(ClusterState(inventory, 1.0)).inventory
    assert again.eviction_log == log
    assert again.node_usage == {"n": {"cpu": {"5m": number}}}


def test_an_empty_log_is_not_the_same_as_none():
    assert through_file(ClusterState(Inventory(), 1.0)).inventory.eviction_log is None
    state = ClusterState(Inventory(eviction_log=EvictionLog()), 1.0)
    assert through_file(state).inventory.eviction_log == EvictionLog()


def run(inventory, now, policy, through=None):
    """The decisions of some cycles; between two, ``through`` makes another cluster of the state."""
    settings = {"between": "recreate", "eviction_takes": 2}
    backend = MemoryBackend(inventory, now=now, **settings)
    scheduler = Scheduler(backend, policy)
    decided = []
    for number in range(1, CYCLES + 1):
        decisions = scheduler.run_once()
        decided.append((decisions.as_json(), decisions.task_states, decisions.eviction_log))
        backend.advance()
        backend.step(10)
        if through is not None:
            backend = MemoryBackend.from_state(through(backend.state(number)), **settings)
            scheduler = Scheduler(backend, policy)
            scheduler.cycle = number
    return decided


def world(family, seed):
    if family == "small":
        cluster = seeded_cluster(seed)
        return cluster.inventory, cluster.now
    return read_objects(("drawn", item) for item in draw(seed, family)), NOW


@pytest.mark.parametrize(
    "family, preset",
    [
        ("small", "pumice"),
        ("small", "volcano"),
        ("small", "kai"),
        ("volcano", "pumice"),
        ("volcano", "volcano"),
        ("kai", "pumice"),
        ("kai", "kai"),
    ],
)
@few_and_all(4, 12)
def test_decisions_are_the_same_with_the_state_stored_in_between(family, preset, count):
    policy = load_policy(preset=preset, env={})
    evicted = bound = 0
    for seed in range(count):
        inventory, now = world(family, seed)
        straight = run(inventory, now, policy)
        assert run(inventory, now, policy, through_file) == straight, seed
        evicted += sum(len(json["evictions"]) for json, _, _ in straight)
        bound += sum(len(json["binds"]) for json, _, _ in straight)
    if count > 4:
        assert bound > 10
        assert evicted > 0 or family == "small"


def test_what_is_left_out_of_the_state_is_missed():
    """The comparison above notices: without the log and the terminating pods, cycles differ."""
    policy = load_policy(preset="pumice", env={})

    def forgetful(state):
        inventory = dataclasses.replace(state.inventory, eviction_log=None)
        return ClusterState(inventory, state.clock, state.cycle)

    worlds = [world("volcano", seed) for seed in range(12)]
    assert any(run(*at, policy) != run(*at, policy, forgetful) for at in worlds)


def test_a_file_that_does_not_exist_is_no_state(tmp_path):
    assert load_state(tmp_path / "state.json") is None


def test_the_file_is_readable_json_with_a_version(tmp_path):
    file = tmp_path / "state.json"
    save_state(file, full_state())
    content = json.loads(file.read_text())
    assert content["pumice_state"] == 1
    assert content["cycle"] == 3
    assert content["inventory"]["pods"]["text"]["name"] == "text"
    assert plain(load_state(file)) == plain(full_state())


def test_every_truncation_is_refused():
    text = encoded(full_state())
    for length in range(len(text.rstrip())):
        with pytest.raises(StateError, match=r"^s.json: "):
            decoded(text[:length], "s.json")


@pytest.mark.parametrize(
    "text, reason",
    [
        (b"", "not a state file"),
        (b"\xff\xfe{", "not a state file"),
        (b"[" * 100_000, "not a state file"),
        (b"[]", "it has no 'pumice_state' at its top"),
        (b'{"kind": "List", "items": []}', "it has no 'pumice_state' at its top"),
        (b'{"pumice_state": 99}', "version 99 of the format cannot be read"),
        (b'{"pumice_state": 1}', "missing required field `inventory`"),
        (b'{"pumice_state": 1, "clock": 1, "inventory": []}', r"at `\$.inventory`"),
        (
            b'{"pumice_state": 1, "clock": 1, "inventory": {"nodes": {"n": {"name": 1}}}}',
            r"Expected `str`, got `int` - at `\$.inventory.nodes",
        ),
        (
            b'{"pumice_state": 1, "clock": 1, "inventory": {"nodes": {"n": {"name": "n",'
            b' "allocatable": {"cpu": "x"}, "capacity": {}}}}}',
            r"all of them numbers - at `\$.inventory.nodes",
        ),
        (
            b'{"pumice_state": 1, "clock": {"$float": "inf"}, "inventory": {}}',
            "clock or cycle is no time",
        ),
        (
            b'{"pumice_state": 1, "clock": 1, "inventory": {}, "terminating": {"u": 1}}',
            "terminating has 'u', which is no pod",
        ),
    ],
)
def test_a_damaged_or_foreign_file_is_refused_with_place_and_fix(tmp_path, text, reason):
    file = tmp_path / "s.json"
    file.write_bytes(text)
    with pytest.raises(StateError, match=reason) as raised:
        load_state(file)
    assert str(raised.value).startswith(f"{file}: ")
    assert "move this one away" in raised.value.hint
    assert file.read_bytes() == text


def test_a_symbolic_link_is_refused(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "state.json")
    with pytest.raises(Exception, match="symbolic link"):
        load_state(tmp_path / "link")
