"""The sorted jobs of every queue."""

import random

import pytest

from pumice.model.gang import has_pending
from pumice.solver.ranked_jobs import RankedJobs
from tests.plugins._fair import FairWorld, ask


def ranking_of(jobs):
    """Jobs of one queue that wait, their names in a random order of creation."""
    world = FairWorld()
    world.node(gpu=64)
    world.queue("q")
    for name in jobs:
        world.job(name, "q", ask())
    world.open("elastic")
    return world, RankedJobs(world.session, has_pending)


def names(entries):
    return [job.name for _, job in entries]


@pytest.mark.parametrize("last", [False, True])
def test_the_best_of_the_first_jobs_by_uid_is_known(last):
    drawn = [f"j{number}" for number in random.Random(5).sample(range(100, 200), 30)]
    world, ranking = ranking_of(drawn)
    age = {name: number for number, name in enumerate(drawn)}
    for gone in ("", drawn[7], min(drawn)):
        if gone:
            (task,) = world.job_of(gone).tasks.values()
            with world.session.statement() as statement:
                statement.allocate(task, 0)
                statement.commit()
            del age[gone]
        ranking.refresh()
        for until in sorted(drawn):
            among = [name for name in age if name <= until]
            best = ranking.best_until("q", f"ns/{until}", last=last)
            assert (best and best[1].name) == (
                (max if last else min)(among, key=age.__getitem__) if among else None
            )
    assert ranking.best_until("q", "a", last=last) is None
    assert ranking.best_until("unknown", "z", last=last) is None


def test_entries_that_were_given_stay_as_they_are():
    world, ranking = ranking_of(["c", "a", "b"])
    before = ranking.refresh()["q"]
    (task,) = world.job_of("a").tasks.values()
    with world.session.statement() as statement:
        statement.allocate(task, 0)
        statement.commit()
    assert names(ranking.refresh()["q"]) == ["c", "b"]
    assert names(before) == ["c", "a", "b"]
    assert ranking.refresh()["q"] is ranking.refresh()["q"], "nothing has changed"


def test_the_end_of_a_run_of_equal_jobs_is_known():
    world, ranking = ranking_of(["d", "c", "b", "a"])
    kinds = {"d": 1, "c": 1, "b": 2, "a": 1}

    def ends():
        entries = ranking.refresh()["q"]
        return [ranking.run_end("q", at, lambda job: kinds[job.name]) for at in range(len(entries))]

    assert ends() == [2, 2, 3, 4]
    (task,) = world.job_of("b").tasks.values()
    with world.session.statement() as statement:
        statement.allocate(task, 0)
        statement.commit()
    assert ends() == [3, 3, 3]
