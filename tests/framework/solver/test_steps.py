"""The steps of a search: evictions are shared between plans, hopeless plans skipped."""

import pytest

from pumice.model.task import TaskStatus
from pumice.session.statement import Statement
from tests.framework.solver._search import Search, crowded
from tests.plugins._fair import FairWorld, ask

GOING, MOVED = TaskStatus.RELEASING, TaskStatus.PIPELINED


class TestSteps:
    def test_evictions_shared_by_two_plans_are_not_repeated(self, monkeypatch):
        done, evict = [], Statement.evict

        def noted(statement, task, *args, **options):
            done.append(task.name)
            evict(statement, task, *args, **options)

        monkeypatch.setattr(Statement, "evict", noted)
        world = crowded(4)
        world.job("x", "a", *[ask()] * 3)
        search = Search(world)
        assert search.evictions(search.solve("x")) == ["v3-0", "v2-0", "v1-0"]
        assert done == ["v3-0", "v2-0", "v1-0"]

    def test_plans_without_enough_room_on_one_node_are_not_simulated(self):
        # There are enough GPUs in sum, but each node has only one; the filter counts all victims.
        world = crowded(1, nodes=("n", "m", "o"))
        world.job("x", "a", ask(gpu=1, cpu=32_000), ask(gpu=1, cpu=32_000))
        world.job("idle", "b", ask(gpu=0, cpu=1, on="o"))
        search = Search(world)
        search.solve("x").discard()
        assert search.solver.simulations == 2
        assert search.solver.refused == 3

    def test_nodes_freed_by_a_rejected_plan_stay_in_the_step(self):
        world = FairWorld()
        world.queue("a", 4)
        world.queue("b", 0)
        for name in ("n", "m"):
            world.node(name, gpu=1)
        world.job("large", "b", ask(gpu=0, cpu=10_000, on="m"))
        world.job("second", "b", ask(on="m"))
        world.job("first", "b", ask(on="n"))
        world.job("x", "a", ask(cpu=30_000))
        search = Search(world, validate=lambda plan: len(plan.victims) > 1)
        assert search.evictions(search.solve("x", [])) == ["second-0", "large-0"]
        assert world.task("x-0").node == "m"
        assert (search.status("large-0"), world.task("large-0").node) == (MOVED, "n")
        assert search.status("first-0") is TaskStatus.RUNNING

    def elastic_first(self):
        """First a plan is tried that takes both tasks of an elastic job, of which one is lost."""
        world = FairWorld()
        world.queue("a", 4)
        world.queue("b", 0)
        for name in ("n", "m"):
            world.node(name, gpu=2)
        world.job("large", "b", ask(gpu=0, cpu=10_000, on="m"))
        world.job("second", "b", ask(gpu=2, on="m"))
        world.job("first", "b", ask(on="n"), ask(on="n"), min_member=1)
        world.job("x", "a", ask(gpu=2, cpu=30_000))

        def refuses(job, lost):
            return any(one.job.name == "first" for one in lost)

        def validate(plan):
            return not any(t.status is GOING for t in plan.victims["ns/first"].tasks)

        return Search(world, validate=validate, refuses=refuses)

    def test_a_plan_known_to_be_refused_is_simulated_when_its_nodes_matter(self):
        search = self.elastic_first()
        assert search.evictions(search.solve("x", [])) == ["second-0", "large-0"]
        assert search.world.task("large-0").node == "n"
        assert search.status("large-0") is MOVED
        assert len(search.seen) == 1

    def test_a_plan_known_to_be_refused_is_not_simulated_for_nothing(self):
        search = self.elastic_first()
        del search.session.jobs["ns/second"]
        assert search.solve("x", []) is None
        assert search.solver.simulations == 0

    @pytest.mark.parametrize("most, considered", [(3, 4), (8, 12), (20, 20)])
    def test_no_victims_are_added_where_there_are_too_many(self, most, considered):
        """It is asked of 4, 8, 12 and 18 victims whether all larger plans are refused."""
        world = crowded(20)
        world.job("x", "a", ask())
        search = Search(
            world,
            validate=lambda plan: False,
            refuses_larger=lambda plan: len(plan.victims) > most,
        )
        assert search.solve("x", []) is None
        assert search.solver.considered == considered

    def test_the_same_trial_is_made_once_in_a_step(self):
        """The claimant is over the limit of its queue; both jobs have a task on each node."""
        world = FairWorld()
        world.queue("a", 4, limit=0)
        world.queue("b", 0)
        for name in ("n", "m"):
            world.node(name, gpu=2)
        world.job("other", "b", ask(on="n"), ask(on="m"), min_member=1)
        world.job("first", "b", ask(on="n"), ask(on="m"), min_member=1)
        world.job("x", "a", ask())
        search = Search(world)
        assert search.solve("x") is None
        # With one task of a job, then with both, for each job: all else has been tried before.
        assert search.solver.simulations == 4

    @pytest.mark.parametrize("moves, simulations", [(False, 2), (True, 0)])
    def test_a_consolidating_plan_needs_room_for_all_victims(self, moves, simulations):
        world = crowded(2)
        world.job("x", "a", ask())
        search = Search(
            world,
            validate=lambda s: all(v.tasks[0].status is not GOING for v in s.victims.values()),
            only_moves=moves,
        )
        assert search.solve("x") is None
        assert search.solver.simulations == simulations
