"""Options of the solver actions and of evict_stale_gangs."""

import pytest

from pumice.backends.memory import MemoryBackend
from pumice.config import policy_from_dict
from pumice.config.settings import AS_UPSTREAM
from pumice.errors import PolicyError
from pumice.scheduler import Scheduler
from pumice.solver import Solver
from tests.plugins._fair import FairWorld, ask

FAIR = ["fairshare", {"name": "priority", "enable": ["job_order"]}]


def run(world, action, *plugins, plain=(), **options):
    made = policy_from_dict(
        {
            "actions": [action],
            "tiers": [{"plugins": [*FAIR, *plugins]}],
            "action": {action: options},
            "scheduler": {"on_plugin_error": "raise", "plain": plain},
            "evictions": AS_UPSTREAM,
        }
    )
    backend = MemoryBackend(world.inventory, now=world.now)
    return Scheduler(backend, made, verify=True).run_once()


def evicted(decisions):
    return sorted(eviction.uid for eviction in decisions.evictions)


class TestConsolidate:
    def scattered(self, *others):
        """Two jobs must leave node m so that x finds three GPUs in one place."""
        world = FairWorld()
        world.node("m", gpu=3)
        world.node("n", gpu=2)
        world.node("o", gpu=len(others))
        world.queue("q")
        for name in ("u", "v"):
            world.job(name, "q", ask(on="m"))
        for name in others:
            world.job(name, "q", ask(on="o"))
        world.job("x", "q", ask(gpu=3))
        return world

    def limited(self, world, limit):
        options = {"maxNumberConsolidationPreemptees": limit}
        return evicted(run(world, "consolidate", "nodeplacement", **options))

    def test_as_many_jobs_as_needed_move(self):
        assert self.limited(self.scattered(), -1) == ["u-0", "v-0"]

    def test_with_a_limit_of_zero_no_job_moves(self):
        assert self.limited(self.scattered(), 0) == []

    def test_the_limit_allows_one_more_job_than_it_says(self):
        assert self.limited(self.scattered(), 1) == ["u-0", "v-0"]

    def test_jobs_are_counted_in_the_order_of_their_names(self):
        assert self.limited(self.scattered("a"), 1) == []
        assert self.limited(self.scattered("a"), 2) == ["u-0", "v-0"]

    @pytest.mark.parametrize("cordoned, searches", [(True, 0), (False, 1)])
    def test_gpus_of_a_cordoned_node_are_not_free(self, monkeypatch, cordoned, searches):
        searched = []
        monkeypatch.setattr(Solver, "solve", lambda solver, job, rows: searched.append(job))
        world = FairWorld()
        world.node("m", gpu=1)
        world.node("n", gpu=8, unschedulable=cordoned)
        world.queue("q")
        world.job("u", "q", ask(on="m"))
        world.job("x", "q", ask(gpu=1))
        run(world, "consolidate", "kai_predicates")
        assert len(searched) == searches


class TestSolveReclaim:
    def movable(self):
        """Queue b has no more than its quota, but its job on m could run on n."""
        world = FairWorld()
        world.node("m", gpu=1)
        world.node("n", gpu=2)
        world.queue("a", 1)
        world.queue("b", 2)
        world.job("v", "b", ask(on="m"))
        world.job("w", "b", ask(on="n"))
        world.inventory.nodes["m"].labels["zone"] = "z"
        world.job("x", "a", ask(node_selector={"zone": "z"}))
        return world

    @pytest.mark.parametrize("allowed, gone", [(True, ["v-0"]), (False, [])])
    def test_a_moved_victim_counts_as_taken_or_not(self, allowed, gone):
        options = {"allowConsolidatingReclaim": allowed}
        decisions = run(self.movable(), "solve_reclaim", "kai_predicates", **options)
        assert evicted(decisions) == gone

    def test_jobs_beyond_the_queue_depth_are_not_considered(self):
        world = FairWorld()
        world.node("m", gpu=2)
        world.queue("a", 1)
        world.queue("b", 0)
        for name in ("v", "w"):
            world.job(name, "b", ask(on="m"))
        world.job("huge", "a", ask(gpu=9), priority=60)
        world.job("x", "a", ask())
        assert evicted(run(world, "solve_reclaim")) == ["w-0"]
        assert evicted(run(world, "solve_reclaim", queueDepth=1)) == []

    def test_no_task_is_evicted_for_a_gang_that_is_larger_than_the_cluster(self):
        world = FairWorld()
        world.node("m", gpu=1)
        world.queue("a", 9)
        world.queue("b", 0)
        world.job("v", "b", ask(on="m"))
        world.job("x", "a", ask(), ask())
        decisions = run(world, "solve_reclaim")
        assert evicted(decisions) == []


class TestEvictStaleGangs:
    @pytest.mark.parametrize("grace, gone", [("0s", ["j-0"]), ("-1s", []), ("1h", [])])
    def test_a_stale_gang_is_evicted_once_the_grace_period_has_passed(self, grace, gone):
        world = FairWorld()
        world.node("m")
        world.queue("q")
        world.job("j", "q", ask(on="m"), ask(), stale_since=world.now - 60)
        options = {"defaultStalenessGracePeriod": grace}
        assert evicted(run(world, "evict_stale_gangs", **options)) == gone

    def test_tasks_on_a_deleted_node_are_left_alone(self):
        world = FairWorld()
        world.node("m")
        world.queue("q")
        world.job("j", "q", ask(on="gone"), ask(on="m"), ask(), stale_since=world.now - 60)
        assert evicted(run(world, "evict_stale_gangs")) == ["j-1"]

    def test_the_start_of_the_grace_period_is_stored_for_the_next_cycle(self):
        world = FairWorld()
        world.node("m")
        world.queue("q")
        world.job("j", "q", ask(on="m"), ask())
        world.job("whole", "q", ask(on="m"), stale_since=1.0)
        states = {state.job: state.stale_since for state in run(world, "evict_stale_gangs").jobs}
        assert states == {"ns/j": world.now, "ns/whole": None}


class TestTooLarge:
    """Three tasks of two GPUs on two nodes of three: no eviction ever helps."""

    def tried(self, monkeypatch, *, shared=False, plain=(), **options):
        """Whether a search was made; the reason is reported either way."""
        world = FairWorld()
        world.queue("a", 6)
        world.queue("b", 0)
        for node in "mn":
            world.node(node, gpu=3, gpu_memory=1000)
            world.job(f"whole-{node}", "b", ask(gpu=2, on=node))
        if shared:
            facts = {"fraction": 0.5, "gpu_groups": ("g",)}
            world.job("part", "b", ask(gpu=0, on="m", **facts))
        world.job("x", "a", *[ask(gpu=2)] * 3)
        searched = []
        solve = Solver.solve
        monkeypatch.setattr(
            Solver, "solve", lambda *args: searched.append(args[1].name) or solve(*args)
        )
        decisions = run(world, "solve_reclaim", plain=plain, **options)
        (reason,) = (state.reason for state in decisions.jobs if state.job == "ns/x")
        assert "would not fit on the nodes even if they were empty" in reason
        assert not decisions.evictions
        return bool(searched)

    def test_a_job_larger_than_the_cluster_is_refused_without_a_search(self, monkeypatch):
        assert not self.tried(monkeypatch)
        assert not self.tried(monkeypatch, upstreamStaleReleases=True)

    def test_without_the_shortcut_a_search_is_made(self, monkeypatch):
        assert self.tried(monkeypatch, plain=["solver_search"])

    def test_where_gpus_are_shared_only_searches_with_stale_releases_are_made(self, monkeypatch):
        """Stale releases count GPUs twice, so the job may seem to fit."""
        assert self.tried(monkeypatch, shared=True, upstreamStaleReleases=True)
        assert not self.tried(monkeypatch, shared=True, plain=["solver_search"])


def test_the_old_name_of_an_option_works_with_a_warning():
    table = {
        "actions": ["solve_reclaim"],
        "tiers": [{"plugins": FAIR}],
        "action": {"solve_reclaim": {"upstreamGhosts": True}},
    }
    with pytest.warns(DeprecationWarning, match="option 'upstreamGhosts' is called"):
        made = policy_from_dict(table)
    assert made.actions[0].options.stale_releases
    assert made.raw["action"] == {"solve_reclaim": {"upstreamStaleReleases": True}}
    (warning,) = (text for text in made.warnings if "upstreamGhosts" in text)
    assert "'upstreamStaleReleases' since 0.2; 0.3 drops the old name" in warning


def test_giving_both_names_of_an_option_is_an_error():
    options = {"upstreamGhosts": True, "upstreamStaleReleases": False}
    table = {
        "actions": ["solve_reclaim"],
        "tiers": [{"plugins": FAIR}],
        "action": {"solve_reclaim": options},
    }
    with (
        pytest.warns(DeprecationWarning, match="upstreamGhosts"),
        pytest.raises(PolicyError, match=r"'upstreamStaleReleases' .* is given twice"),
    ):
        policy_from_dict(table)
