"""Topology-aware preempt: what is simulated, and that nothing of it stays."""

import pytest

from pumice import Plugin, hookimpl
from pumice.model.task import PREEMPTABLE_STATUSES
from pumice.verdicts import FitError
from pumice_builtin_actions.greedy.dry_run import CandidateLimits, select_victims
from pumice_builtin_actions.greedy.victims import EvictableByQueue, of_other_jobs
from pumice_builtin_actions.preempt import Preempt
from pumice_builtin_plugins.conformance import Conformance
from pumice_builtin_plugins.drf.plugin import Drf
from pumice_builtin_plugins.gang import Gang
from pumice_builtin_plugins.predicates.plugin import Predicates
from pumice_builtin_plugins.priority import Priority
from pumice_builtin_plugins.proportion.plugin import Proportion
from tests.actions._evictions import crowded_world, evicted, with_options
from tests.framework._build import World, pipelined, policy, reasons, task
from tests.framework._session_state import differences, session_state
from tests.sampling import few_and_all, sample

TIER = [Priority, Gang, Conformance]


@pytest.mark.parametrize(
    "count, wanted",
    [(2, 1), (50, 5), (2000, 100), (0, 0)],
    ids=["at least one", "ten per cent", "at most a hundred", "none of none"],
)
def test_the_number_of_candidates_to_choose_from(count, wanted):
    assert CandidateLimits(10, 1, 100).wanted(count) == wanted


class SimulationLog(Plugin):
    """Records the simulation calls of each attempt, and refuses where it is asked to."""

    refuses = ""

    @hookimpl
    def on_session_open(self):
        self.calls = []
        self.states = []

    def _record(self, what, cycle_state, other, node):
        if not any(cycle_state is state for state in self.states):
            assert cycle_state == {}
            self.states.append(cycle_state)
        cycle_state[self.name] = True
        there = other.uid in self.session.nodes.held[node.row]
        self.calls.append((what, other.uid, there))
        return FitError.of("no") if self.refuses == what else None

    @hookimpl
    def simulate_remove_task(self, cycle_state, task, removed, node):
        return self._record("remove", cycle_state, removed, node)

    @hookimpl
    def simulate_add_task(self, cycle_state, task, added, node):
        return self._record("add", cycle_state, added, node)

    @hookimpl
    def simulate_predicate(self, cycle_state, task, node):
        return FitError.of("no") if self.refuses == "predicate" else None


def two_sizes(plugin: type[Plugin]):
    """A node of four CPUs with a task of one and, of higher priority, one of three."""
    world = World().node("n", cpu=4).job("v", 0, min_member=0)
    world.pod("small", "ns/v", cpu=1, node="n", priority=1)
    world.pod("large", "ns/v", cpu=3, node="n", priority=2)
    world.job("w", cpu=3, priority=5)
    return world.session(policy([*TIER, plugin], actions=[Preempt]))


def select(session):
    claimant = task(session, "w-t-0")
    assert session.queries.prepare(claimant) is None
    candidates = EvictableByQueue(session, PREEMPTABLE_STATUSES).of("q").tasks[0]
    return [t.uid for t in select_victims(session, claimant, 0, candidates)]


def test_victims_are_removed_until_the_task_fits_then_reprieved():
    session = two_sizes(SimulationLog)
    assert select(session) == ["large"]
    diary = session.plugins["simulationlog"]
    assert diary.calls == [
        ("remove", "small", False),
        ("remove", "large", False),
        ("add", "large", True),
        ("remove", "large", False),
        ("add", "small", True),
    ]
    assert len(diary.states) == 1


@pytest.mark.parametrize("refuses", ["remove", "add", "predicate"])
def test_a_refusal_ends_the_attempt_and_changes_nothing(refuses):
    class Objector(SimulationLog):
        """Refuses."""

    Objector.refuses = refuses
    session = two_sizes(Objector)
    before = session_state(session)["held"], session_state(session)["columns"]
    assert select(session) == []
    assert (session_state(session)["held"], session_state(session)["columns"]) == before


def test_a_plugin_that_fails_in_a_simulation_changes_nothing():
    class Broken(Plugin):
        """Raises while it simulates."""

        @hookimpl
        def simulate_predicate(self, cycle_state, task, node):
            raise RuntimeError("fell over")

    world = World().node("n", cpu=1).job("v", min_member=0, on=["n"]).job("w", priority=5)
    wiring = policy([*TIER, Broken], actions=[Preempt], on_plugin_error="isolate")
    decisions = world.run(with_options(wiring, Preempt, enableTopologyAwarePreemption=True))
    assert evicted(decisions) == []
    assert decisions.task_states["ns/v-t-0"] == ("Running", "n")
    assert "failed in simulate_predicate" in reasons(decisions)["w"]


def test_the_queue_is_asked_as_simulated():
    """Its limit is reached, so one of its tasks must go although the node fits one more."""
    world = World().node("n", cpu=8).queue("q", limit=None).job("v", 2, min_member=0, on=["n"] * 2)
    world.job("w", priority=5)

    class Two(Plugin):
        """Lets the queue hold two tasks."""

        @hookimpl
        def simulate_remove_task(self, cycle_state, removed):
            cycle_state[self.name] = cycle_state.get(self.name, 2) - 1

        @hookimpl
        def simulate_add_task(self, cycle_state, added):
            cycle_state[self.name] += 1

        @hookimpl
        def simulate_allocatable(self, cycle_state, task):
            return cycle_state.get(self.name, 2) < 2

    wiring = policy([*TIER, Two], actions=[Preempt])
    decisions = world.run(with_options(wiring, Preempt, enableTopologyAwarePreemption=True))
    assert evicted(decisions) == ["v-t-1"]
    assert pipelined(decisions) == {"w-t-0": "n"}


@few_and_all(8, 40)
def test_simulating_changes_nothing(count):
    for seed in sample("simulated preemption", 40, count):
        check_that_simulating_changes_nothing(seed)


def check_that_simulating_changes_nothing(seed):
    wiring = policy([*TIER], [Drf, Predicates, Proportion], actions=[Preempt])
    session = crowded_world(seed).session(wiring, verify=True)
    claimants = [t for job in session.jobs.values() for t in job.pending]
    for claimant in claimants:
        if session.queries.prepare(claimant) is not None:
            continue
        before = session_state(session)
        accepts = of_other_jobs(claimant)
        evictable = EvictableByQueue(session, PREEMPTABLE_STATUSES).of(claimant.queue)
        for row, tasks in enumerate(evictable.tasks):
            select_victims(session, claimant, row, [t for t in tasks if accepts(t)])
        assert differences(session_state(session), before) == [], f"seed {seed}"
