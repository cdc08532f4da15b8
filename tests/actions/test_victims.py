"""Evictable tasks per node: their order, their sums, and the nodes that these make reachable."""

import random

import numpy as np
import pytest

from pumice import RequestFit
from pumice.model.task import PREEMPTABLE_STATUSES, TaskStatus
from pumice_builtin_actions.greedy.eviction import fits_without
from pumice_builtin_actions.greedy.reachable_nodes import ReachableNodes
from pumice_builtin_actions.greedy.victims import EvictableByQueue
from pumice_builtin_plugins.drf.plugin import Drf
from pumice_builtin_plugins.gang import Gang
from pumice_builtin_plugins.priority import Priority
from pumice_builtin_plugins.proportion.plugin import Proportion
from tests.actions._evictions import crowded_world
from tests.framework._build import World, policy


def test_the_lowest_priority_goes_first_then_the_youngest_job_then_the_last_task():
    world = World().node("n", cpu=9)
    world.job("old", 2, on=["n", "n"], created=1.0).job("young", on=["n"], created=2.0)
    world.job("high", on=["n"], created=3.0, priority=5)
    session = world.session(policy([Priority], actions=[]))
    (tasks,) = EvictableByQueue(session, [TaskStatus.RUNNING]).of("q").tasks
    assert [task.uid for task in tasks] == ["young-t-0", "old-t-1", "old-t-0", "high-t-0"]


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize(
    "tier", [[Priority, Gang], [Priority, Drf, Proportion], []], ids=["keys", "live", "no plugin"]
)
def test_sorted_victims_are_in_the_order_of_the_heap(seed, tier):
    session = crowded_world(seed).session(policy(tier, actions=[]))
    tasks = [t for job in session.jobs.values() for t in job.tasks.values()]
    random.Random(seed).shuffle(tasks)
    claimant = tasks[0]
    heap = session.order.victim_heap(tasks, claimant, session.queues)
    assert [heap.pop() for _ in tasks] == session.order.sorted_victims(
        tasks, claimant, session.queues
    )


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize(
    "tier", [[Priority, Gang], [Priority, Drf, Proportion], []], ids=["keys", "live", "no plugin"]
)
def test_victims_are_evicted_in_the_order_of_the_heap(seed, tier):
    session = crowded_world(seed).session(policy(tier, actions=[]))
    running = [t for job in session.jobs.values() for t in job.having(*PREEMPTABLE_STATUSES)]
    random.Random(seed).shuffle(running)
    claimant = next(t for job in session.jobs.values() for t in job.pending)
    seen = []
    for victims in (running, running[:2], running[:3]):
        for live in (True, False):
            order = session.order
            turns = order.evicted_in_order(victims, claimant, session.queues)
            if live:
                heap = order.victim_heap(victims, claimant, session.queues)
                turns = (heap.pop() for _ in victims)
            with session.statement() as statement:
                gone = []
                for victim in turns:
                    statement.evict(victim, "test")
                    gone.append(victim.uid)
                seen.append(gone)
        assert seen[-1] == seen[-2]
        assert sorted(seen[-1]) == sorted(victim.uid for victim in victims)


@pytest.mark.parametrize("seed", range(20))
def test_reachable_nodes_follow_evictions_and_their_undoing(seed):
    session = crowded_world(seed).session(policy([Priority], actions=[]))
    evictable, rng = EvictableByQueue(session, PREEMPTABLE_STATUSES), random.Random(seed)
    all_evictable, own = ReachableNodes(session), ReachableNodes(session)
    requests = [t.vector for job in session.jobs.values() for t in job.pending]

    def compare_masks():
        for request in requests:
            every, spared = evictable.reclaimable(), evictable.of("a")
            room = session.nodes.future_idle + every.total
            assert (all_evictable.mask(request, every) == RequestFit(request).mask(room)).all()
            left = room - spared.total
            assert (own.mask(request, every, spared) == RequestFit(request).mask(left)).all()

    running = [t for job in session.jobs.values() for t in job.having(*PREEMPTABLE_STATUSES)]
    with session.statement() as statement:
        compare_masks()
        for task in rng.sample(running, len(running) // 2):
            statement.evict(task, "test")
            compare_masks()
    compare_masks()


@pytest.mark.parametrize(
    "cpu, victims, fits", [(1, 0, True), (2, 0, False), (2, 1, True), (4, 2, False)]
)
def test_a_request_may_fit_once_the_victims_are_gone(cpu, victims, fits):
    world = World().node("n", cpu=3).job("v", 2, on=["n", "n"]).job("w", cpu=cpu)
    session = world.session(policy([Priority], actions=[]))
    running = session.jobs["ns/v"].having(TaskStatus.RUNNING)
    (task,) = session.jobs["ns/w"].pending
    fit = RequestFit(task.vector)
    assert fits_without(session.nodes, 0, fit, list(running)[:victims]) is fits


@pytest.mark.parametrize("seed", range(20))
def test_sums_follow_evictions_and_their_undoing(seed):
    session = crowded_world(seed).session(policy([Priority], actions=[]))
    evictable = EvictableByQueue(session, PREEMPTABLE_STATUSES)
    rng = random.Random(seed)
    running = [t for job in session.jobs.values() for t in job.having(*PREEMPTABLE_STATUSES)]
    with session.statement() as statement:
        compare(session, evictable)
        for task in rng.sample(running, len(running) // 2):
            statement.evict(task, "test")
            compare(session, evictable)
    compare(session, evictable)


def compare(session, evictable):
    for queue in session.queues.values():
        check(session, evictable.of(queue.name), lambda job, queue=queue: job.queue == queue.name)
    check(session, evictable.reclaimable(), lambda job: session.queues[job.queue].reclaimable)


def check(session, totals, concerns):
    for row, held in enumerate(session.nodes.held):
        expected = [
            h.task
            for h in held.values()
            if h.task.job is not None
            and concerns(h.task.job)
            and h.status in PREEMPTABLE_STATUSES
            and h.task.preemptable
        ]
        assert {t.uid for t in totals.tasks[row]} == {t.uid for t in expected}
        assert totals.count[row] == len(expected)
        total = sum((t.vector for t in expected), np.zeros_like(totals.total[row]))
        assert totals.total[row].tolist() == total.tolist()
