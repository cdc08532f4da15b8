"""The engine and its slow, obvious twin decide the same on random clusters."""

import pytest

from pumice.backends.memory import MemoryBackend
from pumice.scheduler import Scheduler
from pumice_builtin_actions.allocate import Allocate
from pumice_builtin_actions.backfill import Backfill
from pumice_builtin_plugins.binpack import Binpack
from pumice_builtin_plugins.conformance import Conformance
from pumice_builtin_plugins.drf.plugin import Drf
from pumice_builtin_plugins.gang import Gang
from pumice_builtin_plugins.nodeorder.plugin import NodeOrder
from pumice_builtin_plugins.overcommit import Overcommit
from pumice_builtin_plugins.predicates.plugin import Predicates
from pumice_builtin_plugins.priority import Priority
from pumice_builtin_plugins.proportion.plugin import Proportion
from tests.framework._build import NOW, World, policy
from tests.framework._worlds import seeded_world
from tests.sampling import few_and_all, sample
from tests.twin.engine import Outcome, Twin

POLICIES = {
    "gangs": policy([Priority, Gang, Conformance], [Predicates, NodeOrder, Binpack]),
    "shares": policy(
        [Priority, Gang, Conformance],
        [Overcommit, Drf, Predicates, Proportion, NodeOrder, Binpack],
    ),
    "no gang": policy([Priority], [Predicates, Binpack]),
    "no enqueue": policy([Gang, Predicates, NodeOrder], actions=[Allocate, Backfill]),
    "no plugins": policy([]),
}
SEEDS = 200


def engine(world, policy):
    decisions = Scheduler(MemoryBackend(world.inventory, now=NOW), policy, verify=True).run_once()
    return Outcome(
        [(bind.task, bind.node) for bind in decisions.binds],
        {one.task: one.node for one in decisions.pipelined},
        {state.job: state.phase for state in decisions.jobs},
    )


@few_and_all(15, SEEDS)
@pytest.mark.parametrize("name", POLICIES)
def test_both_decide_the_same(name, count):
    policy = POLICIES[name]
    for seed in sample(f"twin of {name}", SEEDS, count):
        expected = Twin(seeded_world(seed).session(policy)).run()
        actual = engine(seeded_world(seed), policy)
        assert actual == expected, f"seed {seed}"


def test_a_node_that_failed_a_task_is_missed_by_smaller_tasks_of_the_role():
    """They are of one role, and the node is not asked again for it within a turn."""

    def world():
        world = World().node("full", cpu=1).node("roomy", cpu=4)
        world.job("j", tasks=0, min_member=2).pod("j-t-0", "ns/j", cpu=2, role="w")
        return world.pod("j-t-1", "ns/j", cpu=0.5, role="w")

    tiers = policy([Gang], [Predicates, Binpack])
    assert engine(world(), tiers).binds == [("ns/j-t-0", "roomy"), ("ns/j-t-1", "roomy")]
    assert Twin(world().session(tiers)).run() == engine(world(), tiers)


def test_the_random_clusters_cover_all_outcomes():
    """They bind, pipeline, leave pending, and let whole jobs wait."""
    seen = {"bind": 0, "pipeline": 0, "Pending": 0, "Inqueue": 0, "Running": 0, "Unknown": 0}
    for seed in range(60):
        outcome = Twin(seeded_world(seed).session(POLICIES["shares"])).run()
        seen["bind"] += len(outcome.binds)
        seen["pipeline"] += len(outcome.promises)
        for phase in outcome.phases.values():
            seen[phase] = seen.get(phase, 0) + 1
    assert min(seen.values()) >= 5, seen
