"""Plans that cannot succeed are not simulated."""

import random

import pytest

from pumice.solver.plan import Plan, VictimGroup
from pumice.solver.plan_filters import FreeGpus, IdleGpus, packs
from tests.framework.solver._search import FAIR, Search, crowded
from tests.plugins._fair import FairWorld, ask


class TestFilters:
    @pytest.mark.parametrize(
        "needs, room, fits",
        [
            ([2, 1], [2, 1], True),
            ([2, 1], [3], True),
            ([2, 2], [3, 1], False),
            ([1, 1, 1], [2], False),
            ([0], [], True),
            ([1], [], False),
        ],
    )
    def test_packing(self, needs, room, fits):
        assert packs(needs, room) is fits

    def test_plans_that_free_too_few_gpus_are_not_simulated(self):
        world = crowded(4)
        world.job("x", "a", ask(gpu=4))
        search = Search(world)
        search.solve("x").discard()
        assert (search.solver.simulations, search.solver.refused) == (1, 4)

    def test_a_selector_that_no_victim_can_meet_is_not_simulated(self):
        world = crowded(2)
        world.job("x", "a", ask(node_selector={"zone": "z"}))
        search = Search(world)
        assert search.solve("x", []) is None
        assert (search.solver.simulations, search.solver.refused) == (0, 3)

    def test_a_domain_that_cannot_hold_the_job_is_not_simulated(self):
        world = crowded(1, nodes=("n", "m"))
        for name, rack in (("n", "r1"), ("m", "r2")):
            world.inventory.nodes[name].labels["rack"] = rack
        constraint = {"topology": "dc", "requiredTopologyLevel": "rack"}
        world.job("x", "a", ask(), ask(), topology_constraint=constraint)
        levels = {"spec": {"levels": [{"nodeLabel": "rack"}]}}
        world.inventory.others["Topology"] = {"dc": levels}
        search = Search(world, *FAIR, "topology")
        assert search.solve("x") is None
        # One simulation places the first pod; both together fit into no rack.
        assert search.solver.simulations == 1


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
