"""Task batches: the tasks of a job that are placed or evicted together."""

import random

import pytest

from pumice import Plugin, hookimpl
from pumice.model.facts import SubGroup
from pumice.model.gang import has_pending
from pumice.solver.task_batches import TaskBatches
from tests.framework._build import World, policy
from tests.plugins._fair import FairWorld, ask

GONE = {"deleted": 1.0}


def open_job(*pods, min_member=1, sets=None, plugins=("subgrouporder",)):
    """World, job and task batches; ``sets`` maps pod sets to their minimums."""
    world = FairWorld()
    world.node(gpu=16)
    world.queue("q")
    world.job("j", "q", *pods, min_member=min_member)
    if sets:
        world.inventory.groups["ns/j"].sub_groups = [SubGroup(n, m) for n, m in sets.items()]
    world.open(*plugins)
    return world, world.job_of("j"), TaskBatches(world.session.ask)


def of(name, **facts):
    return ask(sub_group=name, **facts)


def names(tasks):
    return [task.name for task in tasks]


class TestToAllocate:
    def test_below_the_minimum_the_missing_part_goes_together(self):
        _, job, batches = open_job(ask(on="n"), ask(), ask(), ask(), min_member=3)
        assert names(batches.to_allocate(job, real=True)) == ["j-1", "j-2"]

    def test_at_the_minimum_one_more_task_is_placed(self):
        _, job, batches = open_job(ask(on="n"), ask(), ask(), min_member=1)
        assert names(batches.to_allocate(job, real=True)) == ["j-1"]

    def test_every_pod_set_below_its_minimum_is_in_the_batch(self):
        pods = of("a"), of("a"), of("b"), of("b"), of("c", on="n"), of("c")
        _, job, batches = open_job(*pods, sets={"a": 1, "b": 2, "c": 1})
        assert names(batches.to_allocate(job, real=True)) == ["j-0", "j-2", "j-3"]

    def test_above_all_minimums_the_pod_set_with_least_grows(self):
        pods = of("a", on="n"), of("a", on="n"), of("a"), of("b", on="n"), of("b")
        _, job, batches = open_job(*pods, sets={"a": 1, "b": 1})
        assert names(batches.to_allocate(job, real=True)) == ["j-4"]

    def test_a_pod_set_without_candidates_is_passed_over(self):
        pods = of("a", on="n"), of("b", on="n"), of("b", on="n"), of("b")
        _, job, batches = open_job(*pods, sets={"a": 1, "b": 1})
        assert names(batches.to_allocate(job, real=True)) == ["j-3"]

    def test_gated_tasks_wait(self):
        _, job, batches = open_job(ask(gates=("later",)), ask(), min_member=1)
        assert names(batches.to_allocate(job, real=True)) == ["j-1"]
        _, job, batches = open_job(ask(gates=("later",)))
        assert batches.to_allocate(job, real=True) == []
        assert not has_pending(job)

    def test_simulated_victims_are_placed_again_in_simulations_only(self):
        world, job, batches = open_job(ask(on="n"), ask(on="n"), min_member=2)
        with world.session.statement() as statement:
            statement.evict(world.task("j-0"), "trial")
            assert names(batches.to_allocate(job, real=False)) == ["j-0"]
            assert batches.to_allocate(job, real=True) == []

    def test_a_terminating_task_is_no_candidate(self):
        world, job, batches = open_job(ask(on="n", **GONE), ask(on="n"), min_member=2)
        assert batches.to_allocate(job, real=False) == []
        with world.session.statement() as statement:
            statement.evict(world.task("j-1"), "for good")
            statement.commit()
        assert batches.to_allocate(job, real=False) == []

    def test_the_order_of_tasks_is_the_plugins_then_age(self):
        labels = [{"kai.scheduler/task-priority": p} for p in ("1", "9", "5")]
        _, job, batches = open_job(*(ask(labels=label) for label in labels), plugins=["taskorder"])
        assert names(batches.sorted_tasks(list(job.tasks.values()))) == ["j-1", "j-2", "j-0"]
        _, job, batches = open_job(ask(created=3.0), ask(created=1.0))
        assert names(batches.sorted_tasks(list(job.tasks.values()))) == ["j-1", "j-0"]


class TestToEvict:
    def test_surplus_goes_one_by_one_from_the_end(self):
        _, job, batches = open_job(*[ask(on="n")] * 3, min_member=1)
        tasks, more = batches.to_evict(job)
        assert (names(tasks), more) == (["j-2"], True)

    def test_at_the_minimum_everything_goes_at_once(self):
        _, job, batches = open_job(*[ask(on="n")] * 3, ask(), min_member=3)
        tasks, more = batches.to_evict(job)
        assert (names(tasks), more) == (["j-2", "j-1", "j-0"], False)

    def test_below_the_minimum_everything_goes_at_once_too(self):
        _, job, batches = open_job(ask(on="n"), ask(), min_member=2)
        assert names(batches.to_evict(job)[0]) == ["j-0"]

    def test_the_pod_set_with_the_largest_surplus_is_evicted_first(self):
        pods = of("a", on="n"), of("a", on="n"), of("b", on="n"), of("b", on="n"), of("b", on="n")
        _, job, batches = open_job(*pods, sets={"a": 1, "b": 1})
        tasks, more = batches.to_evict(job)
        assert (names(tasks), more) == (["j-4"], True)

    def test_pod_sets_at_their_minimums_go_together(self):
        pods = of("a", on="n"), of("b", on="n"), of("b", on="n")
        _, job, batches = open_job(*pods, sets={"a": 1, "b": 2})
        tasks, more = batches.to_evict(job)
        assert sorted(names(tasks)) == ["j-0", "j-1", "j-2"]
        assert not more

    def test_what_is_left_of_a_job_moves_towards_its_minimum(self):
        _, job, batches = open_job(*[ask(on="n")] * 3, min_member=2)
        left = job.subset([task for task in job.tasks.values() if task.name != "j-2"])
        assert left.sub_jobs["default"].min_available == 2
        tasks, more = batches.to_evict(left)
        assert (sorted(names(tasks)), more) == (["j-0", "j-1"], False)


class TestMaxRestored:
    """How many evicted tasks one batch may bring back at most."""

    def most(self, job, *evicted):
        return TaskBatches.max_restored(job, [t for t in job.tasks.values() if t.name in evicted])

    def test_the_whole_minimum_comes_back_together(self):
        _, job, _ = open_job(*[ask(on="n")] * 3, min_member=3)
        assert self.most(job, "j-0", "j-1", "j-2") == 3

    def test_of_surplus_tasks_one_comes_back(self):
        _, job, _ = open_job(*[ask(on="n")] * 4, min_member=2)
        assert self.most(job, "j-0") == 1
        assert self.most(job, "j-0", "j-1") == 1
        assert self.most(job, "j-0", "j-1", "j-2", "j-3") == 2

    def test_it_is_the_same_when_some_are_evicted_already(self):
        world, job, batches = open_job(*[ask(on="n")] * 4, min_member=2)
        evicted = ["j-0", "j-1", "j-2"]
        with world.session.statement() as statement:
            for count, name in enumerate(evicted, 1):
                statement.evict(world.task(name), "trial")
                assert self.most(job, *evicted) == 1, count
            assert len(batches.to_allocate(job, real=False)) == 1

    def test_every_pod_set_has_its_minimum(self):
        pods = of("a", on="n"), of("a", on="n"), of("b", on="n"), of("b", on="n")
        _, job, _ = open_job(*pods, sets={"a": 2, "b": 1})
        assert self.most(job, "j-0", "j-1", "j-2") == 3
        assert self.most(job, "j-0", "j-1", "j-2", "j-3") == 3


class TestOtherFamilies:
    """Volcano jobs have sub-jobs where KAI jobs have pod sets."""

    def test_a_plain_job_is_one_pod_set(self):
        world = World().node("a", cpu=8).job("j", tasks=3, min_member=2)
        session = world.session(policy([]))
        job = session.jobs["ns/j"]
        batches = TaskBatches(session.ask)
        assert names(batches.to_allocate(job, real=True)) == ["j-t-0", "j-t-1"]

    def test_equally_named_sub_jobs_have_an_order(self):
        class NoOpinion(Plugin):
            @hookimpl
            def pod_set_order(self, left, right):
                return 0

        world = World().node("a", cpu=8).job("j", tasks=2)
        session = world.session(policy([NoOpinion]))
        job = session.jobs["ns/j"]
        (only,) = job.sub_jobs.values()
        for uid in ("z", "y"):
            job.sub_jobs[uid] = type(only)(uid, job, group_id="g", min_available=1, name="s")
        uids = [p.uid for p in TaskBatches(session.ask).sorted_pod_sets(job)]
        assert uids == ["ns/j", "y", "z"]


@pytest.mark.parametrize("seed", range(10))
def test_tasks_are_sorted_by_keys_as_they_compare(seed):
    rng = random.Random(seed)
    labels = {"kai.scheduler/task-priority": rng.choice(["1", "2", "x"])}
    pods = [
        ask(created=float(rng.choice([1, 2])), labels=rng.choice([labels, {}])) for _ in range(6)
    ]
    world, job, batches = open_job(*pods, plugins=("taskorder", "kubeflow"))
    tasks = list(job.tasks.values())
    rng.shuffle(tasks)
    by_keys = TaskBatches(world.session.ask, world.session.order)
    assert by_keys.sorted_tasks(tasks) == batches.sorted_tasks(tasks)
