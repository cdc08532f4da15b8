"""What the tests of evicting actions share."""

import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from pumice import Action
from pumice.config import Policy
from pumice.decisions import Decisions
from pumice_builtin_actions.greedy.queue_lookahead import QueueLookahead
from pumice_builtin_actions.greedy.reachable_nodes import ReachableNodes
from pumice_builtin_actions.greedy.victims import Evictable
from tests.framework._build import World, amount


def with_options(policy: Policy, action: type[Action], **options: Any) -> Policy:
    """The same policy with options of one action, by their names in a policy file."""
    entries = [
        replace(entry, options=action.Options.model_validate(options))
        if entry.cls is action
        else entry
        for entry in policy.actions
    ]
    return replace(policy, actions=tuple(entries))


def evicted(decisions: Decisions) -> list[str]:
    """The evicted tasks in the order of their eviction."""
    return [eviction.uid for eviction in decisions.evictions]


def outcome(decisions: Decisions) -> tuple[Any, ...]:
    return decisions.binds, decisions.pipelined, decisions.evictions, decisions.task_states


def try_every_node(monkeypatch: pytest.MonkeyPatch) -> None:
    """Switch the shortcuts off that skip nodes where evictions cannot be enough."""

    def everywhere(
        self: ReachableNodes, request: np.ndarray, evictable: Evictable, *_: Any
    ) -> np.ndarray:
        return np.ones(len(evictable.tasks), bool)

    monkeypatch.setattr(ReachableNodes, "mask", everywhere)
    monkeypatch.setattr(QueueLookahead, "stays_full", lambda *args: False)


def crowded_world(seed: int) -> World:
    """Nodes that are almost full, and pending jobs of several queues."""
    rng = random.Random(seed)
    world = World()
    names = [f"n{number}" for number in range(rng.randint(2, 5))]
    for name in names:
        world.node(name, cpu=4, memory=rng.choice([4, 8]), pods=rng.choice([5, 110]))
    for queue in "abc":
        deserved = amount(cpu=rng.randint(1, 4), memory=4)
        world.queue(
            queue, weight=rng.randint(1, 3), deserved=deserved, reclaimable=rng.random() < 0.8
        )
    for number in range(rng.randint(3, 5)):
        on = [rng.choice(names) for _ in range(rng.randint(1, 5))]
        world.job(
            f"r{number}",
            len(on),
            cpu=rng.choice([0.5, 1, 1]),
            memory=rng.choice([0, 0.5]),
            min_member=rng.randint(0, len(on)),
            queue=rng.choice("abc"),
            phase="Running",
            priority=rng.choice([0, 1]),
            on=on,
            created=float(rng.randint(0, 2)),
        )
    for number in range(rng.randint(2, 5)):
        world.job(
            f"w{number}",
            rng.randint(1, 3),
            cpu=rng.choice([1, 2, 3]),
            memory=rng.choice([0, 1]),
            min_member=rng.randint(1, 2),
            queue=rng.choice("abc"),
            priority=rng.choice([0, 1, 2]),
            created=float(rng.randint(0, 2)),
        )
    return world
