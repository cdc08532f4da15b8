"""Fair shares: their values, and the options."""

import math
from fractions import Fraction

import pytest

from pumice.config import policy_from_dict
from pumice.errors import PolicyError
from pumice.model.facts import Queue
from pumice.model.gpu.request import GPU
from pumice.model.resources import Resource
from pumice_builtin_plugins.fairshare.division import ResourceShare, divide_with_guarantees
from pumice_builtin_plugins.fairshare.queues import quota_of
from tests.plugins._fair import INF, FairWorld, ask, bound


@pytest.fixture
def world():
    return FairWorld()


def held(world, queue):
    """GPUs that a queue holds, in whole ones."""
    return world.session.ask.get_queue_allocated_resources(world.queue_of(queue)).get(GPU) / 1000


class TestTerms:
    def test_a_kai_queue_has_its_quota_limit_and_weight(self):
        queue = Queue(
            "q",
            family="kai",
            deserved=bound(2, 500, 10),
            limit=bound(INF, 1000, 20),
            over_quota_weight=Resource(1, 2, {GPU: 3}),
        )
        assert quota_of(queue)[:3] == ((500, 10, 2000), (1000, 20, INF), (1, 2, 3))

    def test_a_kai_queue_that_says_nothing_may_have_nothing(self):
        assert quota_of(Queue("q", family="kai")) == ((0, 0, 0),) * 4

    def test_a_volcano_queue_shares_by_its_weight_without_limit(self):
        assert quota_of(Queue("q", weight=3))[:3] == ((0, 0, 0), (INF, INF, INF), (3, 3, 3))

    def test_a_volcano_queue_has_deserved_capability_and_guarantee(self):
        queue = Queue(
            "q",
            deserved=Resource(1000, 5, {GPU: 1000}),
            guarantee=Resource(500, 9, {}),
            limit=Resource(4000, INF, {}),
        )
        quota = quota_of(queue)
        assert quota[:2] == ((1000, 5, 1000), (4000, INF, INF))
        assert quota.guarantee == (500, 9, 0)

    def test_what_is_below_a_unit_of_a_bound_can_never_be_used(self):
        assert quota_of(Queue("q", family="kai", deserved=bound(0.3333))).deserved[2] == 333


class TestShares:
    def test_quotas_come_first_and_the_rest_goes_by_weight(self, world):
        world.node(gpu=8)
        world.queue("a", 2, weight=1)
        world.queue("b", 0, weight=3)
        world.job("ja", "a", *[ask()] * 8)
        world.job("jb", "b", *[ask()] * 8)
        world.open("fairshare")
        # 6 GPUs beyond the quota: 1.5 and 4.5, and the older queue gets the unit that is left
        assert world.shares("a", "b") == [4, 4]

    def test_a_guarantee_is_the_least_share_and_not_an_addition(self):
        rich, poor = ResourceShare(0, INF, Fraction(1), 12), ResourceShare(0, INF, Fraction(1), 12)
        rich.guarantee = 4
        divide_with_guarantees(12, [rich, poor], Fraction(1))
        assert (rich.fair_share, poor.fair_share) == (6, 6)
        rich.guarantee = 9
        divide_with_guarantees(12, [rich, poor], Fraction(1))
        assert (rich.fair_share, poor.fair_share) == (9, 3)

    def test_a_queue_that_asks_for_nothing_has_no_share(self, world):
        world.node(gpu=8)
        world.queue("a", 4)
        world.queue("b", 4)
        world.job("jb", "b", *[ask()] * 8)
        world.open("fairshare")
        assert world.shares("a", "b") == [0, 8]

    def test_a_department_divides_its_share_among_its_queues(self, world):
        world.node(gpu=8)
        world.queue("d1", 4, weight=0)
        world.queue("d2", 4, weight=0)
        world.queue("a", 99, parent="d1")
        world.queue("b", 0, parent="d1")
        world.queue("c", 1, parent="d2")
        for queue in "abc":
            world.job(f"j{queue}", queue, *[ask()] * 3)
        world.open("fairshare")
        assert world.shares("d1", "d2", "a", "b", "c") == [4, 3, 3, 1, 3]

    def test_a_waiting_gpu_memory_request_weighs_by_the_smallest_gpu_that_has_so_much(self, world):
        world.node("small", gpu=8, gpu_memory=4000)
        world.node("large", gpu=8, gpu_memory=16_000)
        for queue, memory in (("a", 2000), ("b", 8000), ("c", 20_000)):
            world.queue(queue)
            pod = ask(gpu_memory=memory, annotations={"gpu-fraction-num-devices": "2"})
            world.job(f"j{queue}", queue, pod)
        world.open("fairshare")
        assert world.shares("a", "b", "c") == [1, 1, 2]

    def test_as_upstream_it_weighs_one_gpu_per_100_mib(self, world):
        world.node(gpu=8, gpu_memory=16_000)
        world.queue("a")
        world.job("j", "a", ask(gpu_memory=400))
        world.open("fairshare", upstreamGpuMemory=True)
        assert world.shares("a") == [4]

    def test_a_placed_gpu_memory_request_weighs_what_it_takes_of_its_node(self, world):
        world.node(gpu=8, gpu_memory=16_000)
        world.queue("a")
        world.job("j", "a", ask(gpu_memory=4000, on="n"))
        world.open("fairshare")
        assert held(world, "a") == 0.25

    def test_mig_instances_weigh_their_slices(self, world):
        world.node(gpu=8)
        world.queue("a")
        mig = {"nvidia.com/mig-2g.10gb": 1000}
        world.job("j", "a", ask(gpu=0, scalars=mig, on="n"))
        world.open("fairshare")
        assert held(world, "a") == 2

    def test_gated_and_leaving_pods_ask_for_nothing(self, world):
        world.node(gpu=8)
        world.queue("a")
        world.job("j", "a", ask(gates=("wait",)), ask(on="n", deleted=1.0), ask())
        world.open("fairshare")
        assert world.shares("a") == [1]
        assert held(world, "a") == 0

    def test_volcano_queues_share_by_weight(self, world):
        world.node(gpu=0)
        world.inventory.queues["a"] = Queue("a", weight=1)
        world.inventory.queues["b"] = Queue("b", weight=3)
        for name in "ab":
            world.job(f"j{name}", name, *[ask(0, cpu=10_000)] * 4)
        world.open("fairshare")
        shares = [world.session.ask.get_queue_fair_share(world.queue_of(q)).cpu for q in "ab"]
        assert shares == [8_000, 24_000]


class TestTotal:
    def total(self, world):
        world.queue("a", INF)
        world.job("j", "a", *[ask()] * 99)
        world.open("fairshare")
        return world.shares("a")[0]

    @pytest.mark.parametrize(
        "facts",
        [
            {"unschedulable": True},
            {"conditions": {"Ready": "Unknown"}},
            {"conditions": {"Ready": "True", "DiskPressure": "True"}},
        ],
    )
    def test_a_node_that_takes_no_pods_is_not_divided(self, world, facts):
        world.node("n", gpu=4)
        world.node("out", gpu=8, **facts)
        assert self.total(world) == 4

    def test_a_ready_node_counts(self, world):
        world.node("n", gpu=4, conditions={"Ready": "True", "DiskPressure": "False"})
        assert self.total(world) == 4

    def test_pods_of_other_schedulers_are_taken_off(self, world):
        world.node(gpu=8)
        world.job("foreign", "nowhere", ask(2, on="n", scheduler_name="default-scheduler"))
        world.job("utility", "nowhere", ask(2, on="n", scheduler_name="default-scheduler"))
        world.inventory.pods["utility-0"].labels = {"app": "kai-resource-reservation"}
        world.job("ours", "nowhere", ask(1, on="n", scheduler_name="kai-scheduler"))
        assert self.total(world) == 6

    def test_a_pod_group_does_not_make_a_foreign_pod_ours(self, world):
        world.node(gpu=8)
        world.queue("b")
        world.job("foreign", "b", ask(2, on="n", scheduler_name="default-scheduler"))
        assert self.total(world) == 6

    def test_volcano_jobs_are_ours_whatever_their_pods_say(self, world):
        world.node(gpu=8)
        world.inventory.queues["v"] = Queue("v")
        world.job("v1", "v", ask(2, on="n", scheduler_name="default-scheduler"), family="volcano")
        assert self.total(world) == 8

    def test_only_gpu_workers_count_where_nodes_are_restricted(self, world):
        world.node("n", gpu=8)
        world.node("w", gpu=4)
        world.inventory.nodes["w"].labels = {"node-role.kubernetes.io/gpu-worker": ""}
        world.inventory.scheduler_params = {"restrictSchedulingNodes": True}
        assert self.total(world) == 4


class TestEvents:
    def test_allocated_follows_every_step_and_its_undo(self, world):
        world.node(gpu=8, gpu_memory=1000)
        world.queue("d")
        world.queue("a", parent="d")
        world.job("j", "a", ask(2), ask(gpu_memory=300), ask(on="n"), min_member=1)
        plugin = world.open("fairshare")
        before = {name: list(queue.allocated) for name, queue in plugin._queues.items()}
        with world.session.statement() as statement:
            statement.evict(world.task("j-2"), "test")
            assert held(world, "d") == 0
            statement.allocate(world.task("j-0"), 0)
            assert (held(world, "a"), held(world, "d")) == (2, 2)
            statement.pipeline(world.task("j-1"), 0, groups=("g",))
            assert held(world, "a") == 2.3
        assert {name: queue.allocated for name, queue in plugin._queues.items()} == before

    def test_only_non_preemptible_jobs_count_as_non_preemptible(self, world):
        world.node(gpu=8)
        world.queue("a")
        world.job("firm", "a", ask(on="n"), ask(), preemptibility="non-preemptible", min_member=1)
        world.job("soft", "a", ask(on="n"))
        plugin = world.open("fairshare")
        assert plugin._queues["a"].non_preemptible[2] == 1000
        with world.session.statement() as statement:
            statement.allocate(world.task("firm-1"), 0)
            assert plugin._queues["a"].non_preemptible[2] == 2000
        assert plugin._queues["a"].non_preemptible[2] == 1000


class TestOptions:
    def policy(self, **options):
        return policy_from_dict(
            {
                "actions": ["enqueue"],
                "tiers": [{"plugins": ["fairshare"]}],
                "plugin": {"fairshare": options},
            }
        )

    def options(self, **options):
        return self.policy(**options).tiers[0][0].options

    def test_values_out_of_range_become_the_nearest_that_means_something(self):
        options = self.options(kValue="-3", relcaimerSaturationMultiplier="0.5")
        assert (options.k, options.saturation_multiplier) == (0.0, 1.0)

    @pytest.mark.parametrize(
        "name", ["relcaimerSaturationMultiplier", "reclaimerSaturationMultiplier"]
    )
    def test_the_multiplier_may_be_spelt_right(self, name):
        assert self.options(**{name: "2"}).saturation_multiplier == 2.0

    def test_a_misspelt_option_is_refused_with_the_right_name(self):
        with pytest.raises(PolicyError, match="kValue"):
            self.policy(kvalue=1)

    def test_a_value_that_is_no_number_is_refused(self):
        with pytest.raises(PolicyError, match="kValue"):
            self.policy(kValue="much")

    def test_defaults(self):
        options = self.options()
        assert (options.k, options.saturation_multiplier, options.window) == (1.0, 1.0, 0.0)


def test_quota_fair_share_and_allocated_for_messages(world):
    world.node(gpu=8)
    world.queue("a", 2)
    world.job("j", "a", ask(3, on="n"))
    world.open("fairshare")
    queue, hooks = world.queue_of("a"), world.session.ask
    assert hooks.get_queue_deserved_resources(queue).get(GPU) == 2000
    assert hooks.get_queue_allocated_resources(queue).get(GPU) == 3000
    assert hooks.get_queue_fair_share(queue).get(GPU) == 3000
    assert math.isinf(hooks.get_queue_deserved_resources(queue).cpu)
