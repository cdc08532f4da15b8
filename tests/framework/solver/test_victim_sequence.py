"""The sequence in which victims are considered."""

import pytest

from pumice.solver.task_batches import TaskBatches
from pumice.solver.victim_sequence import VictimSequence
from tests.framework.solver._search import Search
from tests.plugins._fair import FairWorld, ask


class TestVictimSequence:
    def sequence(self, recorded=(), **jobs):
        """Over jobs of one queue: how many tasks each has, and how many it needs."""
        world = FairWorld()
        world.queue("a", 4)
        world.queue("b")
        world.node(gpu=8)
        for name, (count, least) in jobs.items():
            world.job(name, "b", *[ask(on="n")] * count, min_member=least)
        world.job("x", "a", ask())
        search = Search(world)
        victims = search.victims(world.job_of("x"))
        return VictimSequence(victims, TaskBatches(search.session.ask), recorded)

    def names(self, sequence):
        groups = [sequence.group(position) for position in range(len(sequence))]
        return [[task.name for task in group.tasks] if group else None for group in groups]

    def test_surplus_tasks_come_one_by_one_and_the_minimum_as_one_group(self):
        sequence = self.sequence(j=(3, 2), k=(1, 1))
        assert not sequence.look_ahead(0)
        assert sequence.look_ahead(99)
        assert sorted(map(len, self.names(sequence))) == [1, 1, 2]
        assert not sequence.look_ahead(1)

    def test_looking_ahead_visits_no_more_than_requested(self):
        sequence = self.sequence(j=(1, 1), k=(1, 1), m=(1, 1))
        sequence.look_ahead(1)
        assert len(sequence) == 1
        sequence.look_ahead(2)
        assert len(sequence) == 3

    @pytest.mark.parametrize(
        "recorded, same",
        [
            ([], True),
            (["k-0"], True),
            (["k-0", "m-1", "m-0"], True),
            (["j-2"], True),
            (["m-0"], False),
            (["j-2", "j-1"], False),
        ],
    )
    def test_a_sequence_is_reused_where_a_fresh_one_would_be_equal(self, recorded, same):
        jobs = {"j": (3, 1), "k": (1, 1), "m": (2, 2)}
        sequence, fresh = self.sequence(**jobs), self.sequence(recorded, **jobs)
        for each in (sequence, fresh):
            each.look_ahead(99)
        assert sequence.serves(set(recorded)) is same
        left = [names for names in self.names(sequence) if names and names[0] not in recorded]
        if same:
            assert [names for names in self.names(fresh) if names] == left
        assert fresh.serves(set(recorded))
        assert not recorded or not fresh.serves(set())
