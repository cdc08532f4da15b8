"""What queues deserve by weight, and what follows from it."""

import random

import numpy as np
import pytest

from pumice import PERMIT, REJECT
from pumice.model.resources import Resource
from pumice_builtin_plugins.proportion.water_fill import water_fill

_INF = float("inf")


def fill(total, *queues):
    """Queues as (weight, request, bound, floor); one list per resource."""
    weights, requests, bounds, floors = zip(*queues, strict=True)
    return water_fill(
        np.array(total, float),
        weights,
        requests=np.array(requests, float),
        capabilities=np.array(bounds, float),
        guarantees=np.array(floors, float),
        pods=len(total),
    ).tolist()


class TestWaterFill:
    def test_what_one_queue_leaves_goes_to_the_others_by_weight(self):
        no_bound, no_floor = [_INF, _INF], [0, 0]
        assert fill(
            [12, 12],
            (1, [2, 2], no_bound, no_floor),
            (2, [10, 10], no_bound, no_floor),
            (3, [10, 2], no_bound, no_floor),
        ) == [[2, 2], [4, 8], [6, 2]]

    def test_a_bound_leaves_the_rest_to_the_others(self):
        assert fill([10], (1, [10], [_INF], [0]), (1, [10], [3], [0])) == [[7], [3]]

    def test_a_floor_lifts_a_queue_above_what_it_asks_for(self):
        assert fill([10], (1, [10], [_INF], [0]), (9, [2], [_INF], [4])) == [[6], [4]]

    def test_a_queue_of_weight_0_deserves_its_floor_and_no_more(self):
        assert fill([10], (0, [10], [_INF], [2]), (1, [10], [8], [0])) == [[2], [8]]

    def test_only_queues_of_weight_0_get_nothing(self):
        assert fill([10], (0, [10], [_INF], [0]), (0, [5], [_INF], [0])) == [[0], [0]]

    def test_an_extreme_weight_takes_first_and_the_rest_is_shared_exactly(self):
        assert fill([10_000], (1, [10_000], [_INF], [0]), (10**9, [4_000], [_INF], [0])) == [
            [6_000],
            [4_000],
        ]

    def test_a_cluster_of_nothing_gives_nothing(self):
        assert fill([0, 0], (1, [5, 5], [_INF, _INF], [0, 0])) == [[0, 0]]

    @pytest.mark.parametrize("seed", range(20))
    def test_nothing_is_shared_twice_or_left_that_a_queue_requests(self, seed):
        rng = random.Random(seed)
        dims, count = 3, rng.randint(1, 12)
        total = [rng.choice([10, 10**4, 10**13]) for _ in range(dims)]
        queues = [
            (
                rng.choice([1, 2, 3, 1000, 10**9]),
                [rng.randint(0, 2 * t) for t in total],
                [rng.choice([_INF, t / 3]) for t in total],
                [0] * dims,
            )
            for _ in range(count)
        ]
        deserved = np.array(fill(total, *queues))
        wanted = np.array([np.minimum(request, bound) for _, request, bound, _ in queues])
        assert (deserved <= wanted).all()
        assert np.all(deserved.sum(axis=0) <= np.array(total) * (1 + 1e-12) + 0.1)
        # A queue stops growing when a round gives it nothing, so a resource is used up or
        # everybody who may still have some has stopped.
        for dim in range(dims):
            left = total[dim] - deserved[:, dim].sum()
            if left > 0.1 + total[dim] * 1e-12:
                assert (wanted[:, dim] - deserved[:, dim] < 0.1 + wanted[:, dim] * 1e-12).all()


def two_queues(world, **facts):
    """A cluster of 10 cpu; queues a and b, of which b holds 6 cpu in three tasks."""
    world.node("n1", cpu=10, memory="10Gi")
    world.queue("a", **facts)
    world.queue("b")
    world.job("ja", *[{"cpu": 2, "memory": "1Gi"}] * 3, queue="a")
    world.job("jb", *[{"cpu": 2, "memory": "1Gi", "on": "n1"}] * 3, {"cpu": 4}, queue="b")


class TestQueues:
    def test_deserved_and_share(self, world):
        two_queues(world)
        proportion = world.open("proportion")
        a, b = world.session.queues["a"], world.session.queues["b"]
        assert proportion.get_queue_deserved_resources(a).cpu == 5000
        assert proportion.get_queue_deserved_resources(b).cpu == 5000
        assert proportion.get_queue_allocated_resources(b).cpu == 6000
        assert proportion.queue_order(a, b) < 0 < proportion.queue_order(b, a)

    def test_priority_goes_before_share(self, world):
        two_queues(world)
        world.queue("b", priority=5)
        proportion = world.open("proportion")
        assert proportion.queue_order(world.session.queues["a"], world.session.queues["b"]) > 0

    def test_queues_without_a_job_do_not_take_part(self, world):
        two_queues(world)
        world.queue("idle", weight=100)
        proportion = world.open("proportion")
        idle = world.session.queues["idle"]
        assert proportion.get_queue_deserved_resources(world.session.queues["a"]).cpu == 5000
        assert proportion.overused(idle) is None
        assert proportion.allocatable(idle, world.task("ja-0")) is None

    def test_overused_when_every_resource_is_used_up(self, world):
        world.node("n1", cpu=4)
        world.job("j", {"cpu": 4, "on": "n1"}, {"cpu": 1}, queue="q")
        proportion = world.open("proportion")
        queue = world.session.queues["q"]
        assert not proportion.overused(queue)  # a second pod is deserved and not there yet
        world.allocate("j-1", node="n1")
        assert proportion.overused(queue)

    def test_allocatable_up_to_what_is_deserved_of_what_is_asked(self, world):
        two_queues(world)
        proportion = world.open("proportion")
        a, b = world.session.queues["a"], world.session.queues["b"]
        assert proportion.allocatable(a, world.task("ja-0"))
        assert not proportion.allocatable(b, world.task("jb-3"))
        statement = world.allocate("ja-0", "ja-1", node="n1")
        assert not proportion.allocatable(a, world.task("ja-2"))
        statement.discard()
        assert proportion.allocatable(a, world.task("ja-2"))
        assert proportion.preemptive(a, world.tasks("ja-0", "ja-1"))
        assert not proportion.preemptive(a, world.tasks("ja-0", "ja-1", "ja-2"))

    def test_a_queue_that_is_not_open_takes_nothing(self, world):
        two_queues(world, state="Closed")
        proportion = world.open("proportion")
        queue = world.session.queues["a"]
        assert not proportion.allocatable(queue, world.task("ja-0"))
        assert not proportion.preemptive(queue, world.tasks("ja-0"))
        world.job_of("ja").min_resources = Resource(1000)
        assert proportion.job_enqueueable(world.job_of("ja")) == REJECT
        assert world.job_of("ja").refusals[-1].message == "queue a is Closed"

    def test_undoing_restores_the_accounts_exactly(self, world):
        two_queues(world)
        proportion = world.open("proportion")
        queue = world.session.queues["a"]
        before = list(proportion._accounts["a"].allocated), proportion._accounts["a"].share
        statement = world.allocate("ja-0", "ja-1", node="n1")
        statement.evict(world.task("jb-0"), "test")
        assert proportion.get_queue_allocated_resources(queue).cpu == 4000
        statement.discard()
        assert (
            list(proportion._accounts["a"].allocated),
            proportion._accounts["a"].share,
        ) == before
        assert proportion._accounts["b"].allocated[0] == 6000


class TestReclaim:
    def test_victims_until_the_queue_is_down_to_what_it_deserves(self, world):
        two_queues(world)
        proportion = world.open("proportion")
        candidates = world.tasks("jb-0", "jb-1", "jb-2")
        # 6 of 5 cpu: one victim brings it to 4
        assert proportion.reclaimable(candidates) == candidates[:1]

    def test_a_queue_within_its_share_gives_nothing(self, world):
        two_queues(world)
        world.queue("b", weight=9)
        assert world.open("proportion").reclaimable(world.tasks("jb-0")) == []


class TestAdmission:
    def minimum(self, world, **minimum):
        world.node("n1", cpu=10)
        world.queue("q", limit={"cpu": 6})
        world.job("runs", {"cpu": 3, "on": "n1"}, queue="q", phase="Running")
        world.job("waits", queue="q", phase="Inqueue", min_resources={"cpu": 2})
        world.job("new", queue="q", phase="Pending", min_resources=minimum)

    def test_minimums_of_admitted_jobs_count_and_elastic_room_does_not(self, world):
        self.minimum(world, cpu=4)
        proportion = world.open("proportion")
        job = world.job_of("new")
        assert proportion.job_enqueueable(job) == PERMIT  # 4 + 3 held + 2 - 3 elastic = 6
        proportion.job_enqueued(job)
        assert proportion.job_enqueueable(job) == REJECT
        assert job.refusals[-1].message == ("queue resource quota insufficient: insufficient cpu")

    def test_only_what_is_asked_for_is_compared(self, world):
        self.minimum(world, memory="1Gi")
        assert world.open("proportion").job_enqueueable(world.job_of("new")) == PERMIT

    def test_guarantees_of_other_queues_are_not_to_be_had(self, world):
        world.node("n1", cpu=10)
        world.queue("other", guarantee={"cpu": 4})
        world.job("new", queue="q", phase="Pending", min_resources={"cpu": 7})
        assert world.open("proportion").job_enqueueable(world.job_of("new")) == REJECT

    def test_a_scalar_that_the_capability_does_not_name_is_not_limited_by_it(self, world):
        world.node("n1", cpu=10, nvidia_com_gpu=8)
        world.queue("q", limit={"cpu": 6})
        world.job("new", queue="q", phase="Pending", min_resources={"nvidia.com/gpu": 8})
        assert world.open("proportion").job_enqueueable(world.job_of("new")) == PERMIT

    def test_tasks_behind_a_gate_are_not_counted_as_admitted(self, world):
        world.node("n1", cpu=4)
        gated = {"cpu": 3, "facts": {"gates": ("example.com/wait",)}}
        world.job("gated", gated, queue="q", phase="Inqueue", min_resources={"cpu": 3})
        world.job("new", queue="q", phase="Pending", min_resources={"cpu": 4})
        assert world.open("proportion").job_enqueueable(world.job_of("new")) == PERMIT

    def test_tasks_that_wait_for_their_queue_alone_are_counted(self, world):
        world.node("n1", cpu=4)
        gate = {"gates": ("scheduling.volcano.sh/queue-allocation-gate",)}
        world.job("gated", {"cpu": 3, "facts": gate}, queue="q", min_resources={"cpu": 3})
        world.job("new", queue="q", phase="Pending", min_resources={"cpu": 4})
        assert world.open("proportion").job_enqueueable(world.job_of("new")) == REJECT

    def test_a_running_job_below_min_member_adds_no_inqueue(self, world):
        world.node("n1", cpu=4)
        world.job("done", queue="q", phase="Running", min_member=1, min_resources={"cpu": 4})
        world.job("new", queue="q", phase="Pending", min_resources={"cpu": 4})
        assert world.open("proportion").job_enqueueable(world.job_of("new")) == PERMIT


class TestSimulation:
    def test_an_attempt_sees_its_own_changes_only(self, world):
        two_queues(world)
        proportion = world.open("proportion")
        ask, b, waiting = world.session.ask, world.session.queues["b"], world.task("jb-3")
        node = world.session.nodes.get("n1")
        first, second = {}, {}
        assert not ask.simulate_allocatable(first, b, waiting)
        for name in ("jb-0", "jb-1", "jb-2"):
            assert ask.simulate_remove_task(first, waiting, world.task(name), node) is None
        assert ask.simulate_allocatable(first, b, waiting)
        ask.simulate_add_task(first, waiting, world.task("jb-0"), node)
        assert not ask.simulate_allocatable(first, b, waiting)
        assert not ask.simulate_allocatable(second, b, waiting)
        assert proportion._accounts["b"].allocated[0] == 6000
