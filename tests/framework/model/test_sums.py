"""Sums by group, and what is counted with them when a cluster is built."""

import random

import numpy as np
import pytest

from pumice.model.cluster import build_cluster
from pumice.model.sums import group_sums, stacked
from tests.framework._build import World


def test_each_group_has_the_sum_of_its_vectors():
    vectors = [np.array([1, 10]), np.array([2, 20]), np.array([4, 40])]
    assert group_sums([2, 0, 2], vectors, 3).tolist() == [[2, 20], [0, 0], [5, 50]]


def test_large_integers_stay_exact():
    large = 2**53 + 1
    assert group_sums([0, 0], [np.array([large]), np.array([2])], 1).tolist() == [[large + 2]]


def test_no_vectors_have_no_sum():
    assert group_sums([], [], 3) is None


@pytest.mark.parametrize("seed", range(5))
def test_a_cluster_counts_as_if_its_tasks_came_one_by_one(seed):
    rng = random.Random(seed)
    world = World().node("a", cpu=50).node("b", cpu=50)
    for number in range(6):
        on = [rng.choice(["a", "b", None]) for _ in range(rng.randint(1, 4))]
        world.job(f"j{number}", len(on), on=on)
    cluster = build_cluster(world.inventory, now=0.0)
    alone = build_cluster(world.inventory, now=0.0).nodes
    for row, held in enumerate(cluster.nodes.held):
        alone.refill(row, [entry.task for entry in held.values()])
    for name in ("idle", "used", "releasing", "pipelined", "future_idle", "pod_count"):
        assert np.array_equal(getattr(cluster.nodes, name), getattr(alone, name)), name
    for job in cluster.jobs.values():
        total = sum(task.vector for task in job.tasks.values())
        assert job.total_request.tolist() == total.tolist()


def test_vectors_that_are_shared_are_one_row_each_time():
    one, other = np.array([1, 10]), np.array([2, 20])
    assert stacked([one, other, one, np.array([1, 10])]).tolist() == [
        [1, 10],
        [2, 20],
        [1, 10],
        [1, 10],
    ]
