"""What a queue may hold: limits, quotas of non-preemptible jobs, and the whole tree above it."""

import pytest

from pumice.model.facts import Queue
from pumice_builtin_plugins.fairshare.quantities import NAMES
from tests.plugins._fair import INF, FairWorld, ask, bound


@pytest.fixture
def world():
    return FairWorld()


class TestCapacity:
    def refusal(self, world, job, *, point="is_job_over_queue_capacity"):
        target = world.job_of(job)
        return getattr(world.session.ask, point)(target, list(target.tasks.values()))

    def test_a_limit_holds_for_all_tasks_together(self, world):
        world.node(gpu=8)
        world.queue("a", limit=2)
        world.job("fits", "a", ask(), ask())
        world.job("over", "a", ask(), ask(), ask())
        world.open("fairshare")
        assert self.refusal(world, "fits") is None
        refusal = self.refusal(world, "over")
        assert refusal.reason == "OverLimit"
        assert refusal.message == (
            "queue a has a limit of 2 nvidia.com/gpu: 0 in use, 3 more asked for"
        )
        assert refusal.details["limit"] == dict(zip(NAMES, (INF, INF, 2000), strict=True))

    def test_the_limit_of_an_ancestor_holds_too(self, world):
        world.node(gpu=8)
        world.queue("d", limit=1, display_name="department")
        world.queue("a", parent="d")
        world.job("j", "a", ask(), ask())
        world.open("fairshare")
        assert "queue department has a limit" in self.refusal(world, "j").message

    @pytest.mark.parametrize(
        "pod", [ask(gpu=0), ask(gpu_memory=500)], ids=["without GPUs", "GPU memory before placing"]
    )
    def test_a_gpu_limit_does_not_matter_to_pods_that_count_no_gpus(self, world, pod):
        world.node(gpu=8)
        world.queue("a", limit=0)
        world.job("j", "a", pod)
        world.open("fairshare")
        assert self.refusal(world, "j") is None

    @pytest.mark.parametrize("point", ["is_job_over_queue_capacity", "allocatable"])
    def test_gpu_memory_counts_by_the_largest_gpu_before_placing(self, world, point):
        for name, memory in (("small", 4000), ("large", 16_000)):
            world.node(name, gpu=8, gpu_memory=memory)
        world.queue("a", limit=0.25)
        for memory in (4000, 5000):
            world.job(f"j{memory}", "a", ask(gpu_memory=memory))
        world.open("fairshare")
        if point == "allocatable":
            queue, tasks = world.session.queues["a"], world.session.cluster.tasks
            answers = [world.session.ask.allocatable(queue, task) for task in tasks.values()]
            assert answers == [True, False]
        else:
            assert self.refusal(world, "j4000") is None
            assert self.refusal(world, "j5000").reason == "OverLimit"
        world.open("fairshare", upstreamGpuMemory=True)
        assert self.refusal(world, "j5000") is None

    @pytest.mark.parametrize("enforced", [True, False])
    def test_a_quota_holds_for_a_placement_where_limits_are_enforced(self, world, enforced):
        world.node("small", gpu=8, gpu_memory=4000)
        world.node("large", gpu=8, gpu_memory=16_000)
        world.queue("a", 0.25)
        world.job("j", "a", ask(gpu_memory=4000), preemptibility="non-preemptible")
        world.open("fairshare", enforceLimits=enforced)
        (task,) = world.job_of("j").tasks.values()
        nodes = world.session.nodes
        for name in ("small", "large"):
            with world.session.statement() as statement:
                row = nodes.row_of[name]
                objection = statement.pipeline(task, row, groups=("g",))
                assert (objection is None) == (not enforced or name == "large")

    def test_memory_is_limited_like_gpus(self, world):
        world.node(gpu=8)
        world.queue("a", limit=bound(INF, INF, 1500))
        world.job("j", "a", ask(), ask())
        world.open("fairshare")
        assert self.refusal(world, "j").reason == "OverLimit"

    @pytest.mark.parametrize(
        "point", ["is_job_over_queue_capacity", "is_non_preemptible_job_over_queue_quota"]
    )
    def test_only_non_preemptible_jobs_are_limited_to_the_quota(self, world, point):
        world.node(gpu=8)
        world.queue("d", 1)
        world.queue("a", 5, parent="d")
        world.job("firm", "a", ask(2), preemptibility="non-preemptible")
        world.job("soft", "a", ask(2))
        world.open("fairshare")
        refusal = self.refusal(world, "firm", point=point)
        assert refusal.reason == "NonPreemptibleOverQuota"
        assert refusal.details["queue"] == "d"
        assert self.refusal(world, "soft", point=point) is None

    def test_the_quota_question_does_not_look_at_limits(self, world):
        world.node(gpu=8)
        world.queue("a", 5, limit=0)
        world.job("firm", "a", ask(2), preemptibility="non-preemptible")
        world.open("fairshare")
        point = "is_non_preemptible_job_over_queue_quota"
        assert self.refusal(world, "firm", point=point) is None

    @pytest.mark.parametrize(
        "pod,limit,fits",
        [
            (ask(4), 1, True),
            (ask(1), 0.9, False),
            (ask(fraction=0.5), 0.5, True),
            (ask(gpu_memory=600), 0.5, False),
            (ask(gpu_memory=600), 0.6, True),
            (ask(gpu=0, scalars={"nvidia.com/mig-2g.10gb": 1000}), 1, False),
            (ask(gpu=0), 0, True),
        ],
    )
    def test_on_a_node_one_device_counts_however_many_are_asked(self, world, pod, limit, fits):
        world.node(gpu=8, gpu_memory=1000)
        world.queue("a", limit=limit)
        world.job("j", "a", pod)
        world.open("fairshare")
        answer = world.session.ask.is_task_allocation_on_node_over_capacity(
            world.task("j-0"), world.job_of("j"), world.session.nodes.view(), 0
        )
        assert (answer is None) == fits

    def test_a_closed_queue_takes_nothing(self, world):
        world.node(gpu=8)
        world.inventory.queues["a"] = Queue("a", state="Closed")
        world.job("j", "a", ask())
        world.open("fairshare")
        assert self.refusal(world, "j").reason == "QueueNotOpen"

    def test_limits_hold_for_actions_that_place_task_by_task(self, world):
        world.node(gpu=8)
        world.queue("a", limit=1)
        world.job("j", "a", ask(), ask(), min_member=1)
        world.open("fairshare")
        queue, allocatable = world.queue_of("a"), world.session.ask.allocatable
        assert allocatable(queue, world.task("j-0"))
        with world.session.statement() as statement:
            statement.allocate(world.task("j-0"), 0)
            assert not allocatable(queue, world.task("j-1"))
