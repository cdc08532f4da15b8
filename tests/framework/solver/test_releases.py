"""What the victims of a plan release, by job and node."""

from collections import Counter

import numpy as np

from pumice.solver import Plan, VictimGroup
from pumice.solver.capacity_bound import CapacityBound, request_of
from pumice.solver.releases import Releases
from tests.plugins._fair import FairWorld, ask


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
