"""Orders of queues, jobs, tasks and victims: plugins, then the tie-breaks of the families."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pumice import Plugin, hookimpl
from pumice.model.facts import Queue
from pumice.model.task import TaskStatus
from pumice.session.heap import KeyHeap, LiveHeap
from pumice.session.order import default_task_before, task_index
from pumice_builtin_plugins.drf.plugin import Drf
from pumice_builtin_plugins.gang import Gang
from pumice_builtin_plugins.priority import Priority
from tests.framework._build import World, policy, task


@pytest.mark.parametrize(
    "name, index",
    [
        ("job-worker-3", 3),
        ("a-b-c-12", 12),
        ("job-3", None),
        ("job-worker-x", None),
        ("plain", None),
        ("job-worker-", None),
        ("job-worker-007", 7),
    ],
)
def test_the_index_of_a_task_is_the_last_part_of_a_name_of_three_parts(name, index):
    assert task_index(name) == index


def tasks(*named):
    world = World().job("j", tasks=0)
    for name, created in named:
        world.pod(name, "ns/j", created=float(created))
    session = world.session(policy([]))
    return session, [task(session, name) for name, _ in named]


@pytest.mark.parametrize(
    "left, right",
    [
        pytest.param(("j-t-2", 9), ("j-t-10", 0), id="the smaller index"),
        pytest.param(("a-t-1", 0), ("b-t-1", 5), id="equal index: the older"),
        pytest.param(("a-t-1", 0), ("b-t-1", 0), id="equal age: the smaller uid"),
        pytest.param(("zz", 0), ("j-t-1", 5), id="one without index: the older"),
        pytest.param(("a", 1), ("b", 1), id="no index at all"),
    ],
)
def test_tasks_without_an_order_plugin(left, right):
    session, (first, second) = tasks(left, right)
    assert default_task_before(first, second)
    assert not default_task_before(second, first)
    assert session.order.sorted_tasks([second, first]) == [first, second]


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["a", "j-t-1", "j-t-2", "k-t-1", "k-t-x", "b-3", "c"]),
            st.integers(0, 2),
        ),
        unique_by=lambda named: named[0],
    )
)
def test_sorting_by_keys_equals_sorting_by_comparisons(named):
    session, pending = tasks(*named)
    compared, _ = tasks(*named)
    compared.order._task_keys = None
    if len({task_index(t.name) is None for t in pending}) == 1:
        assert session.order.sorted_tasks(pending) == compared.order.sorted_tasks(pending)
    assert sorted(t.uid for t in session.order.sorted_tasks(pending)) == sorted(
        t.uid for t in pending
    )


def test_queues_without_an_order_plugin_go_by_age_then_name():
    session = World().session(policy([]))
    queues = [Queue("b", created=1.0), Queue("c", created=0.0), Queue("a", created=1.0)]
    heap = session.order.queue_heap(queues)
    assert [heap.pop().name for _ in queues] == ["c", "a", "b"]


def test_jobs_without_an_order_plugin_go_by_age_then_uid():
    world = World().job("b", created=1.0).job("c", created=0.0).job("a", created=1.0)
    session = world.session(policy([]))
    heap = session.order.job_heap(session.jobs.values())
    assert [heap.pop().name for _ in range(3)] == ["c", "a", "b"]


def ranked(world, *tiers):
    session = world.session(policy(*tiers))
    heap = session.order.job_heap(session.jobs.values())
    return [heap.pop().name for _ in session.jobs], type(heap)


def test_keys_are_used_where_every_plugin_has_one():
    world = World().node("n").job("low", created=0.0).job("high", priority=9, created=2.0)
    world.job("ready", priority=9, created=1.0, on=["n"])
    assert ranked(world, [Priority, Gang]) == (["high", "ready", "low"], KeyHeap)
    assert ranked(world, [Gang, Priority]) == (["high", "low", "ready"], KeyHeap)


@given(steps=st.lists(st.tuples(st.sampled_from(["pop", "evict"]), st.integers(0, 11))))
def test_jobs_that_lose_tasks_inside_are_served_as_if_compared(steps):
    world = World().node("n", cpu=64)
    for number in range(6):
        world.job(f"j{number}", number % 4, on=["n"] * 3, created=float(number % 2))
    session = world.session(policy([Gang, Drf]))
    jobs = list(session.jobs.values())
    keyed = session.order.job_heap(jobs, evicting=True)
    compared = LiveHeap(session.order.job_before, jobs)
    statement = session.statement()
    for step, number in steps:
        running = jobs[number % len(jobs)].having(TaskStatus.RUNNING)
        if step == "evict" and running:
            statement.evict(running[0], "test")
        elif step == "pop" and len(keyed):
            assert keyed.pop() is compared.pop()
    assert [keyed.pop() for _ in range(len(keyed))] == [
        compared.pop() for _ in range(len(compared))
    ]


def test_one_plugin_that_only_compares_makes_all_compare():
    class Compares(Plugin):
        @hookimpl
        def job_order(self, left, right):
            return (left.name > right.name) - (left.name < right.name)

    world = World().job("b", priority=9).job("a", priority=9).job("c", priority=99)
    assert ranked(world, [Priority, Compares]) == (["c", "a", "b"], LiveHeap)


def test_a_key_without_a_comparison_is_not_asked():
    class OnlyKey(Plugin):
        @hookimpl
        def job_order_key(self, job):
            raise AssertionError

    assert ranked(World().job("b").job("a"), [OnlyKey])[0] == ["a", "b"]


def evicted(world, claimant, *victims, tiers=([Priority],)):
    session = world.session(policy(*tiers))
    heap = session.order.victim_heap(
        [task(session, name) for name in victims], task(session, claimant), session.queues
    )
    return [heap.pop().uid for _ in victims]


def test_of_one_job_the_task_served_last_is_evicted_first():
    world = World().node("n").job("j", tasks=3, on=["n"] * 3).job("claim")
    assert evicted(world, "claim-t-0", "j-t-0", "j-t-1", "j-t-2") == ["j-t-2", "j-t-1", "j-t-0"]


def test_of_two_jobs_the_one_served_last_is_evicted_first():
    world = World().node("n").job("low", priority=1, on=["n"]).job("high", priority=5, on=["n"])
    world.job("claim")
    assert evicted(world, "claim-t-0", "high-t-0", "low-t-0") == ["low-t-0", "high-t-0"]


def test_jobs_of_equal_rank_are_ordered_by_their_tasks_not_by_age():
    world = World().node("n").job("claim")
    world.job("old", tasks=0, created=0.0).job("new", tasks=0, created=5.0)
    world.pod("old-t-0", "ns/old", node="n", priority=1)
    world.pod("new-t-0", "ns/new", node="n", priority=100)
    assert evicted(world, "claim-t-0", "new-t-0", "old-t-0") == ["old-t-0", "new-t-0"]


def test_a_pod_of_no_job_goes_first():
    world = World().node("n").job("low", on=["n"]).pod("lone", node="n").job("claim")
    assert evicted(world, "claim-t-0", "low-t-0", "lone") == ["lone", "low-t-0"]


def test_of_two_queues_the_one_served_last_is_evicted_first():
    world = World().node("n").queue("a", created=0.0).queue("b", created=1.0)
    world.job("in-a", queue="a", on=["n"]).job("in-b", queue="b", on=["n"]).job("claim")
    assert evicted(world, "claim-t-0", "in-a-t-0", "in-b-t-0") == ["in-b-t-0", "in-a-t-0"]


def test_a_plugin_may_order_the_queues_of_victims():
    class Gives(Plugin):
        @hookimpl
        def victim_queue_order(self, left, right, preemptor_queue):
            assert preemptor_queue.name == "q"
            return -1 if left.name == "a" else 1

    world = World().node("n").queue("a").queue("b")
    world.job("in-a", queue="a", on=["n"]).job("in-b", queue="b", on=["n"]).job("claim")
    assert evicted(world, "claim-t-0", "in-b-t-0", "in-a-t-0", tiers=([Gives],)) == [
        "in-a-t-0",
        "in-b-t-0",
    ]
