"""The upper bound of what fits after evictions."""

from collections import Counter

import numpy as np
import pytest

from pumice.solver.capacity_bound import CapacityBound, request_of
from pumice.solver.releases import Released
from tests.framework.solver._search import FAIR
from tests.plugins._fair import FairWorld, ask


class TestCapacityBound:
    def bound(self, *claims, rows, rejecting=()):
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
        rejected = np.array([name in rejecting for name in world.session.nodes.names])
        return CapacityBound(
            world.session.nodes, dict.fromkeys(self.demand, rejected if rejecting else None), rows
        )

    def leaving(self, *names):
        return [self.world.task(f"{name}-0") for name in names]

    def fits(self, bound, *names):
        """Whether the tasks may fit once these victims are evicted."""
        released = Released(bound)
        for row, amounts in bound.released_by(self.leaving(*names)).items():
            released.add(row, amounts)
        return released.may_fit(self.demand)

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
        assert self.fits(bound, *victims) is enough

    def test_free_room_counts_where_the_claimant_may_go(self):
        assert not self.fits(self.bound(1, rows=["n"]))
        assert self.fits(self.bound(1, rows=["m"]))
        assert not self.fits(self.bound(1, 1, rows=["m"]))
        bound = self.bound(1, 1, rows=["m"])
        assert self.fits(bound, "v")

    def test_a_node_that_rejects_the_claimant_does_not_count(self):
        assert not self.fits(self.bound(1, rows=["m"], rejecting=["m"]))
        bound = self.bound(1, rows=["m"], rejecting=["m"])
        bound.open([self.world.session.nodes.row_of["m"]])
        assert not self.fits(bound)
        assert self.fits(bound, "v")
        bound = self.bound(1, rows=(), rejecting=["n"])
        assert not self.fits(bound, "v", "w")

    def test_a_node_that_rejects_the_claimant_may_take_a_victim(self):
        bound = self.bound(1, rows=["m"], rejecting=["m"])
        assert bound.may_fit_with(self.demand, self.leaving("v"))

    def test_rows_may_be_opened_later(self):
        bound = self.bound(1, rows=())
        bound.open([self.world.session.nodes.row_of["m"]])
        assert self.fits(bound)

    def test_victims_that_must_be_placed_again_need_room_as_well(self):
        bound = self.bound(1, rows=())
        assert not bound.may_fit_with(self.demand, self.leaving("v"))
        bound = self.bound(1, rows=["m"])
        assert bound.may_fit_with(self.demand, self.leaving("v"))

    def test_smaller_victims_need_room_beside_larger_requests(self):
        bound = self.bound(2, rows=["m"])
        assert not bound.may_fit_with(self.demand, self.leaving("v", "w"))
        bound = self.bound(1, rows=["m"])
        assert bound.may_fit_with(self.demand, self.leaving("v", "w"))

    @pytest.mark.parametrize("claims, enough", [([1], True), ([1, 1], False)])
    def test_a_large_victim_counts_as_several_small_tasks(self, claims, enough):
        bound = self.bound(*claims, rows=["m"])
        victim = self.world.task("v-0")
        victim.vector = victim.vector * 2
        assert bound.may_fit_with(self.demand, [victim]) is enough

    def test_what_is_taken_meanwhile_is_not_free_any_more(self):
        bound = self.bound(1, rows=["m"])
        nodes = self.world.session.nodes
        where = np.array([nodes.row_of["m"]])
        assert bound.may_fit_now(self.demand, where)
        nodes.future_idle[where] = 0
        assert not bound.may_fit_now(self.demand, where)
        assert self.fits(bound)

    def test_a_node_that_rejects_the_claimant_is_not_counted_meanwhile_either(self):
        bound = self.bound(1, rows=["m"], rejecting=["m"])
        assert not bound.may_fit_now(self.demand, np.array([self.world.session.nodes.row_of["m"]]))

    def test_a_victim_on_a_shared_device_may_free_all_of_it(self):
        bound = self.bound(2, rows=())
        assert bound.may_fit_with(self.demand, self.leaving("shared"))

    def test_tasks_without_requests_need_none(self):
        bound = self.bound(0, rows=())
        task = self.world.task("x-0")
        task.best_effort = True
        self.demand = {request_of(task): 1}
        assert self.fits(bound)
