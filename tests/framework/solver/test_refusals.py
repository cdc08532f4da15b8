"""Plans that a validator will refuse are known before their simulation ends."""

import pytest

from pumice.solver import Plan, TaskBatches, VictimGroup
from pumice.solver.refusals import Refusals
from pumice.solver.steps import Rules
from tests.plugins._fair import FairWorld, ask


class TestLosses:
    def losses(self, *, refuses=None, only_moves=False, exact=True, recorded=(), shared=False):
        """A plan that takes two of three tasks of an elastic job, and one task of another."""
        world = self.world = FairWorld()
        world.node(gpu=4)
        world.queue("q")
        world.job("v", "q", *[ask(on="n")] * 3, min_member=1)
        world.job("w", "q", ask(on="n"))
        world.job("x", "q", ask())
        world.open("elastic")
        rules = Rules(lambda job: None, lambda plan: True, True, only_moves, exact, 0, refuses)
        groups = [[world.task("w-0")], [world.task("v-2")], [world.task("v-1")]]
        groups = [VictimGroup(tasks[0].job, tasks) for tasks in groups]
        first = [group for group in groups if group.job.name in recorded]
        plan = Plan(world.job_of("x"), first, allow_consolidating=True)
        for group in groups:
            if group not in first:
                plan.add(group)
        batches = TaskBatches(world.session.ask, world.session.order)
        refusals = Refusals(world.session, rules, batches)
        return refusals.losses(plan, plan.jobs_on("n"), shared=shared)

    def test_a_batch_restores_one_surplus_task_only(self):
        assert self.losses(only_moves=True).refused

    @pytest.mark.parametrize("recorded", [(), ("v",), ("v", "w")])
    def test_the_validator_is_asked_about_what_is_lost_at_least(self, recorded):
        asked = []
        losses = self.losses(refuses=lambda *args: asked.append(args), recorded=recorded)
        assert not losses.refused
        v = self.world.job_of("v")
        tasks = [self.world.task("v-2"), self.world.task("v-1")]
        assert asked == [(self.world.job_of("x"), [(v, tasks, 1)])]

    def test_a_job_that_is_not_placed_again_is_lost_as_a_whole(self):
        losses = self.losses(refuses=lambda job, lost: [one.at_least for one in lost] == [1, 2])
        assert not losses.refused
        assert not losses.add(self.world.job_of("v"))
        assert losses.add(self.world.job_of("w"))
        assert losses.refused

    @pytest.mark.parametrize("spared, refused", [((), True), (("w",), False), (("v",), False)])
    def test_each_victim_alone_may_be_too_much_to_lose(self, spared, refused):
        asked = []

        def refuses(job, lost):
            asked.append([(one.job.name, one.at_least) for one in lost])
            return len(lost) == 1 and lost[0].job.name not in spared

        losses = self.losses(refuses=refuses)
        del asked[:]
        losses._lost.clear()
        assert losses.any_is_refused() is refused
        count = len(asked)
        assert losses.any_is_refused() is refused
        assert len(asked) == count, "the answer is known"
        assert [("w", 1)] in asked or [("v", 1)] in asked

    def test_without_an_answer_nothing_is_known(self):
        assert self.losses() is None

    def test_an_inexact_undo_of_shared_gpus_needs_every_simulation(self):
        assert self.losses(only_moves=True, exact=False, shared=True) is None
        assert self.losses(only_moves=True, exact=False).refused
        assert self.losses(only_moves=True, shared=True).refused
