"""Dominant shares of jobs, and of queues in a tree."""

import random

import pytest

from pumice.config import policy_from_dict
from pumice_builtin_plugins.drf.hierarchy import HierarchicalShares


def three_jobs(world):
    """10 cpu and 10Gi; big holds 4 cpu, small 1 cpu in two tasks, none is pending."""
    world.node("n1", cpu=10, memory="10Gi")
    world.job("big", *[{"cpu": 2, "memory": "1Gi", "on": "n1"}] * 2)
    world.job("small", *[{"cpu": "500m", "memory": "1Gi", "on": "n1"}] * 2)
    world.job("new", {"cpu": 3}, {"cpu": 1}, {"cpu": 1, "memory": "9Gi"})


class TestJobs:
    def test_the_smaller_share_goes_first(self, world):
        three_jobs(world)
        drf = world.open("drf")
        new, small, big = (world.job_of(name) for name in ("new", "small", "big"))
        assert drf.job_order(new, small) < 0 < drf.job_order(big, small)
        assert drf.job_order(small, small) == 0
        assert drf.job_order_key(big) == 0.4
        assert drf.job_order_key(small) == 0.2  # memory dominates

    def test_events_move_the_share_and_undoing_restores_it(self, world):
        three_jobs(world)
        drf = world.open("drf")
        new, big = world.job_of("new"), world.job_of("big")
        statement = world.allocate("new-0", "new-1", node="n1")
        statement.evict(world.task("big-0"), "test")
        assert (drf.job_order_key(new), drf.job_order_key(big)) == (0.4, 0.2)
        statement.discard()
        assert (drf.job_order_key(new), drf.job_order_key(big)) == (0.0, 0.4)

    def test_victims_keep_at_least_the_share_that_the_preemptor_gets(self, world):
        three_jobs(world)
        drf = world.open("drf")
        candidates = world.tasks("big-0", "big-1", "small-0")
        # new would have 0.1; big is left with 0.2, then 0; small with 0.1
        assert drf.preemptable(world.task("new-1"), candidates) == world.tasks("big-0", "small-0")
        assert drf.preemptable(world.task("new-0"), candidates) == []

    def test_candidates_that_are_spared_count_as_gone_for_the_next(self, world):
        world.node("n1", cpu=10, memory="10Gi")
        world.job(
            "victim",
            {"cpu": 6, "on": "n1"},
            {"memory": "2Gi", "on": "n1"},
        )
        world.job("new", {"cpu": 3})
        drf = world.open("drf")
        assert drf.preemptable(world.task("new-0"), world.tasks("victim-0", "victim-1")) == []
        assert drf.preemptable(world.task("new-0"), world.tasks("victim-1")) == world.tasks(
            "victim-1"
        )

    def test_without_hierarchy_queues_are_not_ordered(self, world):
        three_jobs(world)
        drf = world.open("drf")
        queue = world.session.queues["default"]
        assert drf.queue_order(queue, queue) is None
        assert drf.reclaimable(world.task("new-0"), world.tasks("big-0")) is None


def tree_queue(world, name, path, weights):
    annotations = {"volcano.sh/hierarchy": path, "volcano.sh/hierarchy-weights": weights}
    world.queue(name, annotations=annotations)


def branches(world, *, left_weight="1", right_weight="1"):
    """12 cpu; queue a (root/eng) holds 4 cpu, queue b (root/sci) 2 cpu, both want more."""
    world.node("n1", cpu=12, memory="12Gi", pods=120)
    tree_queue(world, "a", "root/eng", f"1/{left_weight}")
    tree_queue(world, "b", "root/sci", f"1/{right_weight}")
    world.job("ja", *[{"cpu": 2, "on": "n1"}] * 2, *[{"cpu": 2}] * 4, queue="a")
    world.job("jb", {"cpu": 2, "on": "n1"}, *[{"cpu": 2}] * 5, queue="b")


class TestTree:
    def order(self, world, drf, left="a", right="b"):
        return drf.queue_order(world.session.queues[left], world.session.queues[right])

    def test_the_branch_with_the_smaller_share_goes_first(self, world):
        branches(world)
        drf = world.open("drf", hierarchy=True)
        assert self.order(world, drf) > 0
        statement = world.allocate("jb-1", "jb-2", node="n1")
        assert self.order(world, drf) < 0
        statement.discard()
        assert self.order(world, drf) > 0

    @pytest.mark.parametrize("weight, expected", [("2", 0), ("3", -1), ("0.5", 1), ("x", 1)])
    def test_shares_count_by_weight(self, world, weight, expected):
        branches(world, left_weight=weight)
        assert self.order(world, world.open("drf", hierarchy=True)) == expected

    def test_missing_weights_count_as_1(self, world):
        branches(world)
        world.inventory.queues["a"].annotations = {"volcano.sh/hierarchy": "root/eng"}
        assert self.order(world, world.open("drf", hierarchy=True)) > 0

    def test_a_branch_that_can_use_no_more_comes_last(self, world):
        world.node("n1", cpu=12, memory="12Gi", pods=120)
        tree_queue(world, "a", "root/eng", "1/1")
        tree_queue(world, "b", "root/sci", "1/1")
        world.job("ja", {"cpu": 1, "on": "n1"}, queue="a")
        world.job("jb", {"cpu": 4, "on": "n1"}, {"cpu": 4}, queue="b")
        assert self.order(world, world.open("drf", hierarchy=True)) > 0

    def test_a_used_up_resource_saturates_queues_that_request_it(self, world):
        world.node("n1", cpu=4, memory="12Gi", pods=120)
        tree_queue(world, "a", "root/eng", "1/1")
        tree_queue(world, "b", "root/sci", "1/1")
        world.job("ja", {"cpu": 4, "on": "n1"}, {"cpu": 4}, queue="a")
        world.job("jb", {"memory": "10Gi", "on": "n1"}, {"memory": "1Gi"}, queue="b")
        world.job("jc", {"cpu": 1, "memory": "1Gi"}, queue="b")
        assert self.order(world, world.open("drf", hierarchy=True)) > 0

    def test_growing_children_are_scaled_to_the_smallest_share(self, world):
        # b's children hold 6 and 1 of 12 cpu: as branches that grow they count 1 + 1,
        # which is less than the 3 of a.
        world.node("n1", cpu=12, memory="12Gi", pods=1200)
        tree_queue(world, "a", "root/eng", "1/1")
        tree_queue(world, "b1", "root/sci/one", "1/1/1")
        tree_queue(world, "b2", "root/sci/two", "1/1/1")
        world.job("ja", {"cpu": 3, "on": "n1"}, {"cpu": 1}, queue="a")
        world.job("jb1", {"cpu": 6, "on": "n1"}, {"cpu": 1}, queue="b1")
        world.job("jb2", {"cpu": 1, "on": "n1"}, {"cpu": 1}, queue="b2")
        drf = world.open("drf", hierarchy=True)
        assert self.order(world, drf, "b1", "a") < 0
        assert self.order(world, drf, "b2", "b1") < 0

    def test_queues_without_a_path_are_equal(self, world):
        branches(world)
        world.queue("plain")
        world.job("jp", {"cpu": 1, "on": "n1"}, {"cpu": 1}, queue="plain")
        assert self.order(world, world.open("drf", hierarchy=True), "plain", "a") == 0

    def test_reclaim_from_a_branch_with_the_larger_share(self, world):
        branches(world)
        world.inventory.pods["ja-2"].node_name = world.inventory.pods["ja-3"].node_name = "n1"
        world.inventory.pods["ja-2"].phase = world.inventory.pods["ja-3"].phase = "Running"
        drf = world.open("drf", hierarchy=True)
        # a holds 8, b 2: with one more b has 4 and a, one less, 6. Each victim is looked at alone.
        victims = world.tasks("ja-0", "ja-1", "ja-2", "ja-3")
        before = drf._tree.root.share
        assert drf.reclaimable(world.task("jb-1"), victims) == victims
        assert drf.reclaimable(world.task("ja-4"), world.tasks("jb-0")) == []
        drf.queue_order(world.session.queues["a"], world.session.queues["b"])
        assert drf._tree.root.share == before

    def test_an_updated_tree_equals_a_fresh_one(self, world):
        rng = random.Random(7)
        world.node("n1", cpu=40, memory="40Gi", pods=400)
        paths = ["root/a", "root/a/b", "root/c/d", "root/c/e", "root/f"]
        for number, path in enumerate(paths):
            tree_queue(world, f"q{number}", path, "1/2/3")
            for job in range(3):
                pods = [
                    {"cpu": rng.randint(1, 3), "memory": f"{rng.randint(0, 3)}Gi"}
                    for _ in range(rng.randint(1, 4))
                ]
                world.job(f"j{number}{job}", *pods, queue=f"q{number}")
        drf = world.open("drf", hierarchy=True)
        session = world.session
        statement = session.statement()
        pending = [t for job in session.jobs.values() for t in job.tasks.values()]
        rng.shuffle(pending)
        for task in pending:
            statement.pipeline(task, 0)
            fresh = HierarchicalShares(session.queues, drf._shares, session.cluster.total.tolist())
            for left in session.queues.values():
                for right in session.queues.values():
                    assert drf._tree.compare(left, right) == fresh.compare(left, right)
        statement.discard()
        assert self.order(world, drf, "q0", "q4") == 0
        assert drf._tree.root.share == 0


def test_hierarchy_beside_proportion_in_one_tier_is_a_warning() -> None:
    def warnings(*tiers: list[str]) -> tuple[str, ...]:
        return policy_from_dict(
            {
                "actions": ["allocate"],
                "tiers": [{"plugins": names} for names in tiers],
                "plugin": {"drf": {"hierarchy": True}},
            }
        ).warnings

    (warning,) = warnings(["drf", "proportion"])
    assert "order the queues of one tier in two ways" in warning
    assert not warnings(["drf"], ["proportion"])
