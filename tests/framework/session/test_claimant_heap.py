"""A heap of claimants gives what a live heap would give, whatever happens to the jobs inside."""

import random
from dataclasses import dataclass

import pytest

from pumice.session.claimant_heap import ClaimantHeap
from pumice.session.heap import LiveHeap


@dataclass
class FakeJob:
    uid: str


class FakeRanks:
    def __init__(self):
        self.ranks = {}

    def of(self, job):
        return self.ranks[job.uid], job.uid

    def before(self, left, right):
        return self.of(left) < self.of(right)


@pytest.mark.parametrize("seed", range(40))
def test_it_gives_what_a_live_heap_gives(seed):
    chance, ranks, journal = random.Random(seed), FakeRanks(), []
    heap, live = ClaimantHeap(ranks, journal), LiveHeap(ranks.before)
    jobs = [FakeJob(f"j{number}") for number in range(30)]
    for job in jobs:
        ranks.ranks[job.uid] = chance.randrange(8)

    def change():
        job = chance.choice(jobs)
        # Some changes are taken back before the heap is asked again, some are none.
        for _ in range(chance.choice([1, 2])):
            ranks.ranks[job.uid] = chance.randrange(8)
            journal.append(job)

    waiting, given = list(jobs), []
    for _ in range(200):
        if waiting and (not given or chance.random() < 0.7):
            job = waiting.pop()
            heap.push(job)
            live.push(job)
        elif len(live):
            assert heap.peek() is live.peek()
            assert heap.top is live.top
            given.append(heap.pop())
            assert given[-1] is live.pop()
            if chance.random() < 0.2:
                waiting.append(given[-1])
        if chance.random() < seed / 200:
            change()
        assert (len(heap), bool(heap)) == (len(live), bool(live))
        assert {job.uid for job in heap} == {job.uid for job in live}


def test_jobs_that_do_not_change_are_sorted_once(monkeypatch):
    ranks = FakeRanks()
    jobs = [FakeJob(f"j{number}") for number in range(50)]
    for job in jobs:
        ranks.ranks[job.uid] = hash(job.uid) % 7
    monkeypatch.setattr(LiveHeap, "push", None)
    heap = ClaimantHeap(ranks, [], jobs)
    assert [heap.pop() for _ in jobs] == sorted(jobs, key=ranks.of)
    assert heap.peek() is None
    with pytest.raises(IndexError, match="the heap is empty"):
        _ = heap.top
