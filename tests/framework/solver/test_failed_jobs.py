"""Jobs like one that failed are skipped."""

from pumice.solver import FailedJobs
from tests.plugins._fair import FairWorld, ask


class TestFailedJobs:
    def jobs(self, *requests, **facts):
        """Jobs of one queue: each is a list of the GPUs that its pods ask for."""
        world = FairWorld()
        world.node()
        world.queue("q")
        for number, gpus in enumerate(requests):
            world.job(f"j{number}", "q", *[ask(gpu=gpu, **facts) for gpu in gpus])
        world.open("elastic")
        return [world.job_of(f"j{number}") for number in range(len(requests))]

    def test_a_job_like_a_failed_one_is_skipped(self):
        first, same, smaller, larger = self.jobs([2], [2], [1], [3])
        table = FailedJobs()
        assert table.worth_trying(first)
        table.failed(first)
        assert not table.worth_trying(same)
        assert table.worth_trying(smaller)
        assert not table.worth_trying(larger)

    def test_jobs_of_another_size_are_not_skipped(self):
        two, one, three = self.jobs([1, 1], [1], [1, 1, 1])
        table = FailedJobs()
        table.failed(two)
        assert table.worth_trying(one)
        assert table.worth_trying(three)

    def test_only_pending_tasks_count(self):
        world = FairWorld()
        world.node()
        world.queue("q")
        world.job("half", "q", ask(on="n"), ask(gpu=2))
        world.job("new", "q", ask(gpu=2))
        world.open("elastic")
        table = FailedJobs()
        table.failed(world.job_of("half"))
        assert not table.worth_trying(world.job_of("new"))

    def test_the_smallest_failed_job_counts(self):
        large, small, middle = self.jobs([3], [1], [2])
        table = FailedJobs()
        table.failed(large)
        assert table.worth_trying(middle)
        table.failed(small)
        assert not table.worth_trying(middle)
        table.failed(large)
        assert not table.worth_trying(middle)

    def test_jobs_with_another_node_selector_are_not_skipped(self):
        (plain,) = self.jobs([2])
        (choosy,) = self.jobs([2], node_selector={"zone": "z"})
        table = FailedJobs()
        table.failed(plain)
        assert table.worth_trying(choosy)

    def test_it_can_be_switched_off(self):
        first, same = self.jobs([2], [2])
        table = FailedJobs(enabled=False)
        table.failed(first)
        assert table.worth_trying(same)
