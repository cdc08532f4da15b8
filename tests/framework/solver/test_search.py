"""The solver as a third-party action uses it: plans, validators, budgets, no trace."""

import gc

import numpy as np
import pytest

from pumice import Action
from pumice._gc import gc_paused
from pumice.backends.memory import MemoryBackend
from pumice.config import policy_from_dict
from pumice.model.facts import SubGroup
from pumice.model.task import TaskStatus
from pumice.scheduler import Scheduler
from pumice.solver import Solver
from pumice.solver.gang_placement import GangPlacer
from pumice.solver.queue_tree import QueueTree
from pumice.solver.search import sorted_rows
from pumice.solver.steps import Steps
from pumice_builtin_plugins.priority import Priority
from tests.framework._build import World, pipelined, policy
from tests.framework.solver._search import FAIR, GOING, MOVED, Search, crowded
from tests.plugins._fair import FairWorld, ask


class TestPlans:
    def test_no_more_victims_than_needed_are_evicted(self):
        world = crowded(4)
        world.job("x", "a", ask(gpu=2))
        search = Search(world)
        statement = search.solve("x")
        assert search.evictions(statement) == ["v3-0", "v2-0"]
        assert search.status("x-0") is TaskStatus.PIPELINED
        assert search.status("v0-0") is TaskStatus.RUNNING

    def test_a_search_leaves_nothing_to_the_garbage_collector(self):
        world = crowded(2)
        world.job("x", "a", ask(gpu=4))
        search = Search(world, bystanders=True)
        gc.collect()
        with gc_paused():
            assert search.solve("x") is None
            left = [made for made in gc.get_objects() if isinstance(made, (Steps, QueueTree))]
        assert search.solver.considered
        assert not left

    def test_nothing_is_decided_before_the_commit(self):
        world = crowded()
        world.job("x", "a", ask())
        search = Search(world)
        before = search.trace()
        statement = search.solve("x")
        assert search.session.decisions.evictions == []
        statement.discard()
        assert search.trace() == before

    def test_a_gang_gets_all_or_nothing(self):
        world = crowded(3)
        world.job("x", "a", *[ask()] * 3)
        world.job("y", "a", *[ask()] * 4)
        search = Search(world)
        before = search.trace()
        assert search.solve("y") is None
        assert search.trace() == before
        assert len(search.evictions(search.solve("x"))) == 3

    def test_tasks_on_a_deleted_node_are_in_no_plan(self):
        world = crowded(2)
        world.job("split", "b", ask(on="gone"), ask(on="n"))
        world.job("x", "a", ask(gpu=2))
        del world.inventory.pods["v1-0"]
        search = Search(world)
        before = search.trace()
        assert search.solve("x") is None
        assert search.trace() == before

    def test_a_satisfied_job_gets_one_task_more(self):
        world = crowded(3)
        world.inventory.pods["v2-0"].group = ""
        world.job("x", "a", ask(on="n"), ask(), ask(), min_member=1)
        del world.inventory.pods["v2-0"]
        search = Search(world)
        assert len(search.evictions(search.solve("x"))) == 1
        assert [search.status(f"x-{i}").label for i in (1, 2)] == ["Pipelined", "Pending"]

    def test_elastic_victims_lose_their_surplus_and_gangs_all_tasks(self):
        world = FairWorld()
        world.node(gpu=4)
        world.queue("a", 4)
        world.queue("b", 0)
        world.job("elastic", "b", ask(on="n"), ask(on="n"), min_member=1)
        world.job("gang", "b", ask(on="n"), ask(on="n"))
        world.job("x", "a", ask())
        search = Search(world, *FAIR, "elastic")
        assert search.evictions(search.solve("x")) == ["elastic-1"]
        world.job("y", "a", ask(gpu=2))
        search = Search(world, *FAIR)
        assert sorted(search.evictions(search.solve("y"))) == ["gang-0", "gang-1"]

    def test_a_victim_that_fits_elsewhere_moves(self):
        world = crowded(2)
        world.node("m", gpu=1)
        world.job("x", "a", ask(gpu=2))
        search = Search(world, *FAIR, "nodeavailability")
        statement = search.solve("x")
        assert search.evictions(statement) == ["v1-0", "v0-0"]
        moved = [name for name in ("v0-0", "v1-0") if search.status(name) is MOVED]
        assert [world.task(name).node for name in moved] == ["m"]

    def test_a_victim_placed_back_on_its_node_is_not_evicted(self):
        # Both jobs of node n are considered for x, which fits once the first is gone.
        world = FairWorld()
        world.queue("a", 4)
        world.queue("b", 0)
        world.node("n", gpu=3)
        world.job("large", "b", ask(gpu=2, on="n"))
        world.job("small", "b", ask(on="n"))
        world.job("x", "a", ask(gpu=2))
        search = Search(world)
        assert search.evictions(search.solve("x")) == ["large-0"]
        assert search.status("small-0") is TaskStatus.RUNNING
        (plan,) = search.seen
        assert set(plan.victims) == {"ns/large", "ns/small"}

    def test_there_is_no_plan_without_a_victim(self):
        world = FairWorld()
        world.node(gpu=4)
        world.queue("a", 4)
        world.job("x", "a", ask())
        search = Search(world)
        assert search.solve("x") is None
        assert search.solver.simulations == 0

    def test_only_feasible_nodes_and_those_of_victims_are_used(self):
        world = crowded(1)
        world.node("free", gpu=1)
        world.job("x", "a", ask())
        search = Search(world)
        row = search.session.nodes.row_of["n"]
        statement = search.solve("x", [row])
        assert world.task("x-0").node == "n"
        statement.discard()

    @pytest.mark.parametrize("bystanders", [True, False])
    def test_victims_that_rank_before_the_claimant_are_placed_first_by_kai(self, bystanders):
        """Resources that the job order gives back to the victim do not help the claimant."""
        world = FairWorld()
        world.node(gpu=1)
        world.queue("a", 0, weight=0)
        world.queue("b", 1)
        world.job("v", "b", ask(on="n"))
        world.job("x", "a", ask())
        search = Search(world, bystanders=bystanders)
        before = search.trace()
        statement = search.solve("x")
        assert (statement is None) is bystanders
        assert search.solver.simulations == 1
        if statement is not None:
            assert search.status("x-0") is TaskStatus.PIPELINED
            statement.discard()
        assert search.trace() == before

    def test_a_failed_search_restores_shared_gpus(self):
        world = FairWorld()
        world.node(gpu=2, gpu_memory=1000)
        world.queue("a", 1)
        world.queue("b", 0)
        for number, device in enumerate("gghh"):
            world.job(
                f"v{number}", "b", ask(fraction=0.5, on="n", labels={"runai-gpu-group": device})
            )
        world.job("x", "a", ask(gpu=1))
        world.job("y", "a", ask(gpu=3))
        search = Search(world, *FAIR, "gpupack")
        before = search.trace()
        assert search.solve("y") is None
        search.solve("x").discard()
        assert search.trace() == before
        refusing = Search(world, *FAIR, "gpupack", validate=lambda plan: False)
        assert refusing.solve("x") is None
        assert refusing.trace() == before


class TestValidator:
    def test_it_is_given_the_batch_and_all_considered_victims(self):
        seen = []

        def validate(plan):
            statuses = {
                task.name: task.status for victim in plan.victims.values() for task in victim.tasks
            }
            seen.append((len(plan.preemptor.tasks), statuses))
            return True

        world = crowded(2)
        world.job("x", "a", ask(), ask())
        search = Search(world, validate=validate)
        search.solve("x").discard()
        assert seen == [(1, {"v1-0": GOING}), (2, {"v1-0": GOING, "v0-0": GOING})]

    def test_a_rejected_plan_is_dropped_and_the_next_victim_is_tried(self):
        world = crowded(2)
        world.job("x", "a", ask())
        search = Search(world, validate=lambda plan: "ns/v0" in plan.victims)
        assert search.evictions(search.solve("x")) == ["v1-0"]
        assert [set(plan.victims) for plan in search.seen] == [{"ns/v1", "ns/v0"}] * 2

    def test_rejecting_all_plans_leaves_no_trace(self):
        world = crowded(3, nodes=("n", "m"))
        world.job("x", "a", ask(gpu=2), ask())
        search = Search(world, validate=lambda plan: False)
        before = search.trace()
        assert search.solve("x") is None
        assert search.trace() == before
        assert search.session.decisions.evictions == []
        assert not search.solver.exhausted

    def test_a_plan_says_whether_moved_victims_count(self):
        world = crowded()
        world.job("x", "a", ask())
        for allowed in (True, False):
            search = Search(world, allow_consolidating=allowed)
            search.solve("x").discard()
            assert [plan.allow_consolidating for plan in search.seen] == [allowed]


class TestBudget:
    def test_a_search_ends_when_it_is_spent(self):
        world = crowded(4)
        world.job("x", "a", ask())
        search = Search(world, validate=lambda plan: False, budget=2)
        before = search.trace()
        assert search.solve("x") is None
        assert (search.solver.simulations, search.solver.exhausted) == (2, True)
        assert search.trace() == before

    def test_every_job_has_its_own_budget(self):
        world = crowded(2)
        for name in ("x", "y"):
            world.job(name, "a", ask())
        search = Search(world, validate=lambda s: s.preemptor.name == "y", budget=1)
        assert search.solve("x") is None
        assert search.solver.exhausted
        assert search.solve("y") is not None
        assert not search.solver.exhausted

    def test_a_search_that_ran_out_of_victims_first_is_not_exhausted(self):
        world = crowded(2)
        world.job("x", "a", ask())
        search = Search(world, validate=lambda plan: False, budget=2)
        assert search.solve("x") is None
        assert (search.solver.simulations, search.solver.exhausted) == (2, False)

    @pytest.mark.parametrize("budget, reported", [(1, True), (0, False)])
    def test_an_exhausted_budget_is_in_the_reason_of_the_job(self, budget, reported):
        world = crowded(3)
        world.queue("c", 3, weight=0)
        world.job("x", "c", ask(gpu=2), min_member=1)
        made = policy_from_dict(
            {
                "actions": ["solve_reclaim"],
                "tiers": [{"plugins": [*FAIR, "nodeplacement", "kai_predicates"]}],
                "action": {"solve_reclaim": {"maxSimulations": budget}},
                # Else the plans are dropped without a simulation.
                "scheduler": {"plain": ["solver_search"]},
            }
        )
        # No node accepts any task: every victim frees resources, and none helps.
        taint = {"key": "broken", "value": "", "effect": "NoSchedule"}
        for name in ("o", "p"):
            world.node(name, gpu=1)
            world.inventory.nodes[name].taints = (taint,)
        del world.inventory.nodes["n"]
        world.inventory.pods["v0-0"].node_name = "o"
        world.inventory.pods["v1-0"].node_name = "p"
        del world.inventory.pods["v2-0"]
        world.inventory.pods["x-0"].request.scalars["nvidia.com/gpu"] = 1000
        backend = MemoryBackend(world.inventory, now=world.now)
        decisions = Scheduler(backend, made, verify=True).run_once()
        reason = next(state.reason for state in decisions.jobs if state.job == "ns/x")
        assert ("solve_reclaim: gave up after its budget of simulations" in reason) is reported
        assert decisions.evictions == []


class TestThirdPartyAction:
    """What an action outside the built-ins needs from the solver."""

    def test_it_may_choose_claimants_victims_and_validator(self):
        class TakeFromTheOld(Action):
            evicts = True

            def execute(self, session):
                def victims(claimant):
                    old = [job for job in session.jobs.values() if job.created < claimant.created]
                    return QueueTree(session, old, victims=True)

                solver = Solver(
                    session, GangPlacer(session), victims=victims, validator=lambda plan: True
                )
                for job in list(session.jobs.values()):
                    if job.pending:
                        statement = solver.solve(job, range(len(session.nodes)))
                        if statement is not None:
                            statement.commit()

        world = World().node("a", cpu=4)
        world.job("old", tasks=4, on=["a"] * 4, phase="Running", created=1.0)
        world.job("new", tasks=2, created=2.0, priority=5)
        decisions = world.run(policy([Priority], actions=[TakeFromTheOld]))
        assert {eviction.uid for eviction in decisions.evictions} == {
            f"old-t-{i}" for i in range(4)
        }
        assert pipelined(decisions) == {"new-t-0": "a", "new-t-1": "a"}

    def test_sub_groups_of_the_claimant_are_respected(self):
        world = crowded(3)
        world.job("x", "a", ask(sub_group="l"), ask(sub_group="w"))
        world.inventory.groups["ns/x"].sub_groups = [SubGroup("l", 1), SubGroup("w", 1)]
        search = Search(world)
        statement = search.solve("x")
        assert len(search.evictions(statement)) == 2
        minimums = [
            {uid: p.min_available for uid, p in s.preemptor.sub_jobs.items()} for s in search.seen
        ]
        assert minimums == [{"l": 1, "w": 1}] * 2


def test_a_job_of_a_queue_with_children_is_not_solved() -> None:
    world = crowded()
    world.job("x", "a", ask())
    assert Search(world).solve("x") is not None
    world = crowded()
    world.queue("below", 1, parent="a")
    world.job("x", "a", ask())
    assert Search(world).solve("x") is None


@pytest.mark.parametrize(
    "rows", [[2, 0, 2, 1], np.array([2, 0, 2, 1]), np.array([0, 1, 2]), range(3)]
)
def test_rows_are_searched_in_order_and_once(rows):
    assert sorted_rows(rows).tolist() == [0, 1, 2]
