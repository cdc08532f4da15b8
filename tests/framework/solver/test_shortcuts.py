"""What the solver spares itself: simulations that must fail, and doing the same thing twice."""

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
    def test_there_is_room_only_where_victims_leave_it(self, claims, victims, enough):
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

    def test_victims_that_have_to_stay_need_room_as_well(self):
        bound = self.bound(1, rows=())
        assert not bound.may_fit(self.demand, self.leaving("v"), with_victims=True)
        bound = self.bound(1, rows=["m"])
        assert bound.may_fit(self.demand, self.leaving("v"), with_victims=True)

    def test_smaller_victims_do_not_count_against_large_claims(self):
        bound = self.bound(2, rows=["m"])
        assert bound.may_fit(self.demand, self.leaving("v", "w"), with_victims=True)

    def test_who_shares_a_device_may_leave_all_of_it(self):
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

    def test_it_takes_surplus_one_by_one_and_the_rest_as_one(self):
        sequence = self.sequence(j=(3, 2), k=(1, 1))
        assert not sequence.look_ahead(0)
        assert sequence.look_ahead(99)
        assert sorted(map(len, self.names(sequence))) == [1, 1, 2]
        assert not sequence.look_ahead(1)

    def test_looking_ahead_visits_no_more_than_asked(self):
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
    def test_it_serves_again_where_a_fresh_one_would_go_the_same_way(self, recorded, same):
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
    def test_evictions_that_stay_are_not_done_again(self, monkeypatch):
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

    def test_scenarios_without_enough_room_in_one_place_are_not_simulated(self):
        # The GPUs would do, but each node has only one, and the filter looks at all victims.
        world = crowded(1, nodes=("n", "m", "o"))
        world.job("x", "a", ask(gpu=1, cpu=32_000), ask(gpu=1, cpu=32_000))
        world.job("idle", "b", ask(gpu=0, cpu=1, on="o"))
        search = Search(world)
        search.solve("x").discard()
        assert search.solver.simulations == 2
        assert search.solver.refused == 3

    def test_what_a_refused_plan_would_have_freed_stays_open_in_the_step(self):
        world = FairWorld()
        world.queue("a", 4)
        world.queue("b", 0)
        for name in ("n", "m"):
            world.node(name, gpu=1)
        world.job("large", "b", ask(gpu=0, cpu=10_000, on="m"))
        world.job("second", "b", ask(on="m"))
        world.job("first", "b", ask(on="n"))
        world.job("x", "a", ask(cpu=30_000))
        search = Search(world, judge=lambda plan: len(plan.victims) > 1)
        assert search.evictions(search.solve("x", [])) == ["second-0", "large-0"]
        assert world.task("x-0").node == "m"
        assert (search.status("large-0"), world.task("large-0").node) == (MOVED, "n")
        assert search.status("first-0") is TaskStatus.RUNNING

    @pytest.mark.parametrize("moves, simulations", [(False, 2), (True, 0)])
    def test_a_plan_that_moves_needs_room_for_all(self, moves, simulations):
        world = crowded(2)
        world.job("x", "a", ask())
        search = Search(
            world,
            judge=lambda s: all(v.tasks[0].status is not GOING for v in s.victims.values()),
            only_moves=moves,
        )
        assert search.solve("x") is None
        assert search.solver.simulations == simulations


class TestIdleGpus:
    @pytest.mark.parametrize("seed", range(30))
    def test_it_answers_as_if_all_nodes_were_looked_at_every_time(self, seed):
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


def test_a_part_that_was_widened_is_like_one_made_at_once():
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
