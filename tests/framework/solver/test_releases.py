"""What the victims of a plan release, by job and node."""

from collections import Counter

import numpy as np
from hypothesis import strategies as st

from pumice.solver import Plan, VictimGroup
from pumice.solver.capacity_bound import CapacityBound, request_of
from pumice.solver.releases import Released, Releases
from tests.plugins._fair import FairWorld, ask
from tests.sampling import random_examples


class TestReleases:
    def plan(self, wanted, *recorded):
        world = self.world = FairWorld()
        world.queue("q")
        for name in ("n", "m"):
            world.node(name, gpu=2)
        world.job("v", "q", ask(on="n"), ask(on="m"), min_member=1)
        world.job("w", "q", ask(on="n"))
        world.job("away", "q", ask(on="elsewhere"))
        world.job("shared", "q", ask(fraction=0.5, on="m", labels={"runai-gpu-group": "g"}))
        world.job("x", "q", ask(gpu=wanted))
        world.open("elastic")
        self.wanted = Counter([request_of(world.task("x-0"))])
        nodes = world.session.nodes
        bound = CapacityBound(nodes, dict.fromkeys(self.wanted), np.array([], np.intp))
        groups = [self.group(name) for name in recorded]
        self.plan = Plan(world.job_of("x"), groups, allow_consolidating=True)
        self.releases = Releases(nodes, bound, self.plan)

    def group(self, name):
        task = self.world.task(name)
        return VictimGroup(task.job, [task])

    def fits(self, *names):
        """Add victims one by one; for each, whether the claimant fits with those of its job."""
        found = []
        for name in names:
            group = self.group(name)
            self.plan.add(group)
            self.releases.refresh()
            found.append(self.releases.may_fit(self.wanted, [group.job.uid]))
        return found

    def test_victims_of_one_job_are_summed_up_by_node(self):
        self.plan(2)
        assert self.fits("v-0", "w-0", "v-1") == [False, False, False]
        assert self.releases.may_fit(self.wanted, ["ns/v", "ns/w"])
        assert self.releases.may_all_fit(self.wanted)

    def test_all_victims_of_the_plan_together_may_be_too_few(self):
        self.plan(2)
        self.fits("v-0", "v-1")
        assert not self.releases.may_all_fit(self.wanted)

    def test_recorded_victims_are_evicted_in_every_trial(self):
        self.plan(2, "v-0")
        assert self.fits("w-0") == [True]
        assert self.releases.rows == {"ns/v": {1}, "ns/w": {1}}

    def test_a_victim_counts_once(self):
        self.plan(2, "v-0")
        assert self.fits("v-0", "v-0") == [False, False]

    def test_a_victim_that_shares_a_gpu_may_release_all_of_it(self):
        self.plan(2)
        assert self.fits("w-0", "shared-0") == [False, True]
        assert self.releases.share_gpus(["ns/shared"])
        assert not self.releases.share_gpus(["ns/w"])
        assert self.releases.may_all_fit(self.wanted)

    def test_jobs_on_nodes_of_others_are_known(self):
        self.plan(1)
        self.fits("away-0")
        assert self.releases.elsewhere == {"ns/away"}


STEPS = st.lists(st.tuples(st.booleans(), st.integers(0, 3), st.integers(0, 2)), max_size=12)


@random_examples(20, 300, STEPS, st.integers(1, 12))
def test_growing_releases_answer_as_a_count_of_all_rows(steps, count):
    """Each step releases GPUs on a row, or opens the row to the claimant."""
    world = FairWorld()
    world.queue("q")
    for name in "abcd":
        world.node(name, gpu=3)
    world.job("x", "q", ask(gpu=2))
    world.open("elastic")
    request = request_of(world.task("x-0"))
    nodes, wanted = world.session.nodes, Counter({request: count})
    rejected = np.arange(len(nodes)) == 3
    bound = CapacityBound(nodes, {request: rejected}, np.array([0], np.intp))
    gpu = [nodes.dimensions.names[d] for d, _ in request].index("nvidia.com/gpu")
    one = request[gpu][1] // 2
    growing, released = Released(bound), {}
    for opens, row, gpus in steps:
        if opens:
            bound.open([row])
        else:
            amounts = [0] * len(request)
            amounts[gpu] = gpus * one
            growing.add(row, amounts)
            before = released.get(row, [0] * len(request))
            released[row] = [a + b for a, b in zip(before, amounts, strict=True)]
        free = {
            row: [a + b for a, b in zip(bound.free_on(row), amounts, strict=True)]
            for row, amounts in released.items()
        }
        assert growing.may_fit(wanted) == (count <= bound.table_of(request).total_with(free))
