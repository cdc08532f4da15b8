"""Shortcuts of the solver: simulations that must fail are skipped, and work is not repeated."""

import random
from collections import Counter

import numpy as np
import pytest

from pumice.model.task import TaskStatus
from pumice.session.statement import Statement
from pumice.solver.capacity_bound import CapacityBound, request_of
from pumice.solver.plan import Plan, VictimGroup
from pumice.solver.plan_filters import FreeGpus, IdleGpus, packs
from pumice.solver.task_batches import TaskBatches
from pumice.solver.victim_sequence import VictimSequence
from tests.framework.solver.test_search import FAIR, Search, crowded
from tests.plugins._fair import FairWorld, ask

GOING, MOVED = TaskStatus.RELEASING, TaskStatus.PIPELINED


class TestCapacityBound:
    def bound(self, *claims, rows):
        """Two nodes of two GPUs: n is full, on m one is shared. Tasks that ask for so many GPUs."""
        world = FairWorld()
        world.queue("q")
        for name in ("n", "m"):
            world.node(name, gpu=2)
        for name in ("v", "w"):
            world.job(name, "q", ask(on="n"))
        world.job("shared", "q", ask(fraction=0.5, on="m", labels={"runai-gpu-group": "g"}))
        world.job("x", "q", *[ask(gpu=gpu) for gpu in claims])
        world.open(*FAIR)
        self.world = world
        tasks = list(world.job_of("x").tasks.values())
        rows = np.array([world.session.nodes.row_of[name] for name in rows], np.intp)
        self.demand = Counter(map(request_of, tasks))
        return CapacityBound(world.session.nodes, self.demand, rows)

    def leaving(self, *names):
        return [self.world.task(f"{name}-0") for name in names]

    @pytest.mark.parametrize(
        "claims, victims, enough",
        [
            ([1], [], False),
            ([1], ["v"], True),
            ([2], ["v"], False),
            ([2], ["v", "w"], True),
            ([1, 1], ["v"], False),
            ([1, 1], ["v", "w"], True),
            ([1, 2], ["v", "w"], True),
            ([2, 2], ["v", "w"], False),
        ],
    )
    def test_only_victims_free_room_on_full_nodes(self, claims, victims, enough):
        bound = self.bound(*claims, rows=())
        assert bound.may_fit(self.demand, self.leaving(*victims)) is enough

    def test_free_room_counts_where_the_claimant_may_go(self):
        assert not self.bound(1, rows=["n"]).may_fit(self.demand, [])
        assert self.bound(1, rows=["m"]).may_fit(self.demand, [])
        assert not self.bound(1, 1, rows=["m"]).may_fit(self.demand, [])
        assert self.bound(1, 1, rows=["m"]).may_fit(self.demand, self.leaving("v"))

    def test_rows_may_be_opened_later(self):
        bound = self.bound(1, rows=())
        bound.open([self.world.session.nodes.row_of["m"]])
        assert bound.may_fit(self.demand, [])

    def test_victims_that_must_be_placed_again_need_room_as_well(self):
        bound = self.bound(1, rows=())
        assert not bound.may_fit(self.demand, self.leaving("v"), with_victims=True)
        bound = self.bound(1, rows=["m"])
        assert bound.may_fit(self.demand, self.leaving("v"), with_victims=True)

    def test_smaller_victims_do_not_count_against_larger_requests(self):
        bound = self.bound(2, rows=["m"])
        assert bound.may_fit(self.demand, self.leaving("v", "w"), with_victims=True)

    def test_a_victim_on_a_shared_device_may_free_all_of_it(self):
        bound = self.bound(2, rows=())
        assert bound.may_fit(self.demand, self.leaving("shared"))

    def test_tasks_without_requests_need_none(self):
        bound = self.bound(0, rows=())
        task = self.world.task("x-0")
        task.best_effort = True
        assert bound.may_fit({request_of(task): 1}, [])


class TestVictimSequence:
    def sequence(self, recorded=(), **jobs):
        """Over jobs of one queue: how many tasks each has, and how many it needs."""
        world = FairWorld()
        world.queue("a", 4)
        world.queue("b")
        world.node(gpu=8)
        for name, (count, least) in jobs.items():
            world.job(name, "b", *[ask(on="n")] * count, min_member=least)
        world.job("x", "a", ask())
        search = Search(world)
        victims = search.victims(world.job_of("x"))
        return VictimSequence(victims, TaskBatches(search.session.ask), recorded)

    def names(self, sequence):
        groups = [sequence.group(position) for position in range(len(sequence))]
        return [[task.name for task in group.tasks] if group else None for group in groups]

    def test_surplus_tasks_come_one_by_one_and_the_minimum_as_one_group(self):
        sequence = self.sequence(j=(3, 2), k=(1, 1))
        assert not sequence.look_ahead(0)
        assert sequence.look_ahead(99)
        assert sorted(map(len, self.names(sequence))) == [1, 1, 2]
        assert not sequence.look_ahead(1)

    def test_looking_ahead_visits_no_more_than_requested(self):
        sequence = self.sequence(j=(1, 1), k=(1, 1), m=(1, 1))
        sequence.look_ahead(1)
        assert len(sequence) == 1
        sequence.look_ahead(2)
        assert len(sequence) == 3

    @pytest.mark.parametrize(
        "recorded, same",
        [
            ([], True),
            (["k-0"], True),
            (["k-0", "m-1", "m-0"], True),
            (["j-2"], True),
            (["m-0"], False),
            (["j-2", "j-1"], False),
        ],
    )
    def test_a_sequence_is_reused_where_a_fresh_one_would_be_equal(self, recorded, same):
        jobs = {"j": (3, 1), "k": (1, 1), "m": (2, 2)}
        sequence, fresh = self.sequence(**jobs), self.sequence(recorded, **jobs)
        for each in (sequence, fresh):
            each.look_ahead(99)
        assert sequence.serves(set(recorded)) is same
        left = [names for names in self.names(sequence) if names and names[0] not in recorded]
        if same:
            assert [names for names in self.names(fresh) if names] == left
        assert fresh.serves(set(recorded))
        assert not recorded or not fresh.serves(set())


class TestSteps:
    def test_evictions_shared_by_two_plans_are_not_repeated(self, monkeypatch):
        done, evict = [], Statement.evict

        def noted(statement, task, *args, **options):
            done.append(task.name)
            evict(statement, task, *args, **options)

        monkeypatch.setattr(Statement, "evict", noted)
        world = crowded(4)
        world.job("x", "a", *[ask()] * 3)
        search = Search(world)
        assert search.evictions(search.solve("x")) == ["v3-0", "v2-0", "v1-0"]
        assert done == ["v3-0", "v2-0", "v1-0"]

    def test_plans_without_enough_room_on_one_node_are_not_simulated(self):
        # There are enough GPUs in sum, but each node has only one; the filter counts all victims.
        world = crowded(1, nodes=("n", "m", "o"))
        world.job("x", "a", ask(gpu=1, cpu=32_000), ask(gpu=1, cpu=32_000))
        world.job("idle", "b", ask(gpu=0, cpu=1, on="o"))
        search = Search(world)
        search.solve("x").discard()
        assert search.solver.simulations == 2
        assert search.solver.refused == 3

    def test_nodes_freed_by_a_rejected_plan_stay_in_the_step(self):
        world = FairWorld()
        world.queue("a", 4)
        world.queue("b", 0)
        for name in ("n", "m"):
            world.node(name, gpu=1)
        world.job("large", "b", ask(gpu=0, cpu=10_000, on="m"))
        world.job("second", "b", ask(on="m"))
        world.job("first", "b", ask(on="n"))
        world.job("x", "a", ask(cpu=30_000))
        search = Search(world, validate=lambda plan: len(plan.victims) > 1)
        assert search.evictions(search.solve("x", [])) == ["second-0", "large-0"]
        assert world.task("x-0").node == "m"
        assert (search.status("large-0"), world.task("large-0").node) == (MOVED, "n")
        assert search.status("first-0") is TaskStatus.RUNNING

    @pytest.mark.parametrize("moves, simulations", [(False, 2), (True, 0)])
    def test_a_consolidating_plan_needs_room_for_all_victims(self, moves, simulations):
        world = crowded(2)
        world.job("x", "a", ask())
        search = Search(
            world,
            validate=lambda s: all(v.tasks[0].status is not GOING for v in s.victims.values()),
            only_moves=moves,
        )
        assert search.solve("x") is None
        assert search.solver.simulations == simulations


class TestIdleGpus:
    @pytest.mark.parametrize("seed", range(30))
    def test_cached_counts_equal_a_full_recount(self, seed):
        rng = random.Random(seed)
        world = FairWorld()
        world.queue("q")
        names = [f"n{number}" for number in range(rng.randint(1, 5))]
        for name in names:
            world.node(name, gpu=4)
        for number in range(rng.randint(1, 12)):
            world.job(f"v{number}", "q", ask(gpu=rng.choice([1, 2]), on=rng.choice(names)))
        world.job("x", "q", ask())
        world.open(*FAIR)
        nodes = world.session.nodes
        needs = sorted([rng.choice([1, 2, 4]) for _ in range(rng.randint(1, 4))], reverse=True)
        rule, free = IdleGpus(nodes, needs, FreeGpus(nodes)), FreeGpus(nodes).of.copy()
        plan = Plan(world.job_of("x"), [], allow_consolidating=True)
        for job in [None, *(j for j in world.session.jobs.values() if j.name != "x")]:
            if job is not None:
                tasks = list(job.tasks.values())
                plan.add(VictimGroup(job, tasks))
                for task in tasks:
                    free[nodes.row_of[task.node]] += task.gpu.devices
            roomiest = sorted(free.tolist(), reverse=True)[: len(needs)]
            assert rule.may_work(plan) is packs(needs, roomiest)


def test_a_widened_job_subset_equals_one_made_at_once():
    world = FairWorld()
    world.node()
    world.queue("q")
    world.job("j", "q", ask(on="n"), ask(), ask(gpu=2), min_member=2)
    world.open(*FAIR)
    job = world.job_of("j")
    at_once = job.subset(job.tasks.values(), {"default": 3})
    widened = job.subset(())
    for size, task in enumerate(job.tasks.values(), 1):
        widened.widen(task, size)
    for part in (at_once, widened):
        assert list(part.tasks) == ["j-0", "j-1", "j-2"]
        assert [len(tasks) for tasks in part.by_status] == [len(t) for t in job.by_status]
        assert part.total_request.tolist() == job.total_request.tolist()
        assert part.allocated.tolist() == job.allocated.tolist()
        assert part.sub_jobs["default"].min_available == 3
        assert list(part.sub_jobs["default"].tasks) == list(part.tasks)
        assert (part.uid, part.queue, part.refusals) == (job.uid, job.queue, job.refusals)
    assert job.sub_jobs["default"].min_available == 2
