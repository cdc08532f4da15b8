"""Fair shares: which queue is served first."""

import pytest

from pumice.model.gpu.request import GPU
from pumice.model.resources import Resource
from tests.plugins._fair import INF, FairWorld, ask, bound


@pytest.fixture
def world():
    return FairWorld()


class TestQueueOrder:
    def two(self, world, left, right, **jobs):
        """Queues a and b with these terms, each with the jobs given under its name."""
        world.node(gpu=8)
        world.queue("a", **left)
        world.queue("b", **right)
        for queue in "ab":
            for name, pods in jobs.get(queue, {}).items():
                world.job(name, queue, *pods)
        world.open("fairshare")

    def test_a_queue_above_its_share_in_every_resource_goes_last(self, world):
        nothing = Resource(0, 0, {GPU: 0})
        self.two(
            world,
            {"quota": nothing, "weight": nothing, "priority": 200},
            {"quota": 4},
            a={"ja": [ask(on="n")]},
            b={"jb": [ask()]},
        )
        assert world.first("a", "b") == "b"

    def test_above_its_share_in_gpus_alone_its_priority_still_counts(self, world):
        self.two(
            world,
            {"quota": 0, "weight": 0, "priority": 200},
            {"quota": 0},
            a={"ja": [ask(on="n")]},
            b={"jb": [ask(on="n")]},
        )
        assert world.first("a", "b") == "a"

    def test_a_queue_that_stays_within_its_quota_with_the_job_goes_first(self, world):
        self.two(
            world,
            {"quota": 1, "priority": 200},
            {"quota": 2},
            a={"ja": [ask(2)]},
            b={"jb": [ask(2)]},
        )
        assert world.first("a", "b", left_job="ja", right_job="jb") == "b"

    def test_then_the_higher_priority_goes_first(self, world):
        self.two(world, {"quota": 4}, {"quota": 4, "priority": 101})
        assert world.first("a", "b") == "b"

    def test_a_queue_that_may_have_nothing_of_a_resource_goes_behind(self, world):
        self.two(
            world, {"weight": 0}, {"weight": 1}, a={"ja": [ask()]}, b={"jb": [ask()], "k": [ask(3)]}
        )
        assert world.first("a", "b", left_job="ja", right_job="k") == "b"

    @pytest.mark.parametrize("name", ["cpu", "memory"])
    def test_that_holds_for_every_resource(self, world, name):
        terms = {"quota": bound(1), "weight": Resource(1, 1, {GPU: 1})}
        terms["quota"].set(name, 0)
        terms["weight"].set(name, 0)
        self.two(world, terms, {"quota": 1}, a={"ja": [ask(2)]}, b={"jb": [ask(2)]})
        assert world.first("a", "b", left_job="ja", right_job="jb") == "b"

    def test_a_share_of_zero_does_not_matter_where_nothing_is_requested(self, world):
        jobs = {"a": {"ja": [ask(0, cpu=100)]}, "b": {"jb": [ask(0, cpu=200)]}}
        self.two(world, {"weight": 0}, {"weight": 1}, **jobs)
        assert world.first("a", "b", left_job="ja", right_job="jb") == "a"

    def test_the_smaller_dominant_share_with_the_job_goes_first(self, world):
        self.two(world, {}, {}, a={"ja": [ask(3)]}, b={"jb": [ask(1)], "kb": [ask(3)]})
        assert world.first("a", "b", left_job="ja", right_job="jb") == "b"

    def test_victims_are_taken_off_first(self, world):
        self.two(
            world,
            {},
            {},
            a={"ja": [ask(3, on="n")], "ka": [ask()]},
            b={"jb": [ask(2, on="n")], "kb": [ask()]},
        )
        assert world.first("a", "b") == "b"
        assert world.first("a", "b", left_victims=["ja"]) == "a"

    def test_of_victims_that_lost_something_only_the_rest_is_taken_off(self, world):
        self.two(world, {}, {}, a={"ja": [ask(2, on="n"), ask(1, on="n")]})
        plugin, job = world.session.plugins["fairshare"], world.job_of("ja")
        assert plugin._jobs.allocated(job)[2] == 3000
        with world.session.statement() as statement:
            statement.evict(world.task("ja-1"), "test")
            assert plugin._jobs.allocated(job)[2] == 2000
        assert plugin._jobs.allocated(job)[2] == 3000

    def test_with_equal_shares_after_the_job_the_smaller_one_before_it_goes_first(self, world):
        self.two(world, {}, {}, a={"ja": [ask(1, on="n")], "ka": [ask(2)]}, b={"jb": [ask(3)]})
        assert world.first("a", "b", left_job="ka", right_job="jb") == "b"

    def test_then_the_queue_that_may_have_less_goes_first(self, world):
        self.two(world, {"quota": 3}, {"quota": 2})
        assert world.first("a", "b") == "b"

    def test_the_older_queue_goes_first_when_all_else_is_equal(self, world):
        self.two(world, {"created": 2.0}, {"created": 1.0})
        assert world.first("a", "b") == "b"

    def test_names_decide_between_queues_of_the_same_age(self, world):
        self.two(world, {"created": 1.0}, {"created": 1.0})
        assert world.first("b", "a") == "a"

    def test_an_unlimited_share_is_measured_against_the_whole_cluster(self, world):
        self.two(
            world,
            {"quota": INF},
            {"quota": INF},
            a={"ja": [ask(4, on="n")]},
            b={"jb": [ask(2, on="n")]},
        )
        assert world.first("a", "b") == "b"

    def test_what_a_job_asks_next_is_asked_again_after_it_grew(self, world):
        world.node(gpu=8)
        world.queue("a")
        world.queue("b")
        world.job("ja", "a", ask(2), ask(1), ask(1), min_member=1)
        world.job("jb", "b", ask(1), ask(1))
        plugin = world.open("fairshare")
        job = world.job_of("ja")
        assert plugin._jobs.next_request(job) == (100, 1000, 2000)
        with world.session.statement() as statement:
            statement.allocate(world.task("ja-0"), 0)
            assert plugin._jobs.next_request(job) == (100, 1000, 1000)
        assert plugin._jobs.next_request(job) == (100, 1000, 2000)

    def test_a_part_of_a_job_is_not_taken_for_the_whole(self, world):
        self.two(world, {}, {}, a={"ja": [ask(2), ask(1)]})
        plugin = world.session.plugins["fairshare"]
        job = world.job_of("ja")
        part = job.subset([world.task("ja-1")], {"default": 1})
        assert plugin._jobs.next_request(job)[2] == 3000
        assert plugin._jobs.next_request(part)[2] == 1000
        assert plugin._jobs.next_request(job)[2] == 3000

    def test_a_pod_that_was_evicted_for_good_is_no_candidate(self, world):
        self.two(world, {}, {}, a={"ja": [ask(2, on="n")]})
        plugin = world.session.plugins["fairshare"]
        job = world.job_of("ja")
        statement = world.session.statement()
        statement.evict(world.task("ja-0"), "test")
        assert plugin._jobs.next_request(job)[2] == 2000
        statement.commit()
        assert plugin._jobs.next_request(job)[2] == 0
