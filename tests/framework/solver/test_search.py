"""The solver as a third-party action uses it: plans, validators, budgets, no trace."""

from types import SimpleNamespace

import pytest

from pumice import Action
from pumice.backends.memory import MemoryBackend
from pumice.config import policy_from_dict
from pumice.model.dimensions import Dimensions
from pumice.model.facts import Node, SubGroup
from pumice.model.gang import active_count
from pumice.model.gpu.request import GPU, GpuRequest
from pumice.model.invariants import check
from pumice.model.nodes import NodeTable
from pumice.model.resources import Resource
from pumice.model.task import TaskStatus
from pumice.scheduler import Scheduler
from pumice.solver import FailedJobs, Plan, Solver, VictimGroup
from pumice.solver.gang_placement import GangPlacer
from pumice.solver.gpu_counts import fits_empty_cluster
from pumice.solver.plan_filters import packs
from pumice.solver.queue_tree import QueueTree
from pumice.testing.session_state import accounts
from pumice_builtin_plugins.priority import Priority
from tests.framework._build import World, pipelined, policy
from tests.plugins._fair import FairWorld, ask

FAIR = ("fairshare", {"name": "priority", "enable": ["job_order"]})
GOING, MOVED = TaskStatus.RELEASING, TaskStatus.PIPELINED


def crowded(gpu=2, *, nodes=("n",), **jobs):
    """Nodes full of jobs ``v0``, ``v1`` … of one GPU in queue ``b``; queue ``a`` is empty."""
    world = FairWorld()
    world.queue("a", gpu)
    world.queue("b", 0)
    number = 0
    for name in nodes:
        world.node(name, gpu=gpu)
        for _ in range(gpu):
            world.job(f"v{number}", "b", ask(on=name))
            number += 1
    return world


class Search:
    """A solver for which every running job of another queue is a victim."""

    def __init__(self, world, *plugins, validate=lambda plan: True, **options):
        world.open(*(plugins or FAIR))
        self.world, self.session = world, world.session
        self.seen = []

        def validator(plan):
            self.seen.append(plan)
            return validate(plan)

        self.solver = Solver(
            self.session,
            GangPlacer(self.session),
            victims=self.victims,
            validator=validator,
            **options,
        )

    def victims(self, claimant):
        others = [
            job
            for job in self.session.jobs.values()
            if job.queue != claimant.queue and active_count(job)
        ]
        return QueueTree(self.session, others, victims=True)

    def solve(self, name, rows=None):
        rows = range(len(self.session.nodes)) if rows is None else rows
        return self.solver.solve(self.world.job_of(name), rows)

    def evictions(self, statement):
        statement.commit()
        check(self.session)
        return [eviction.uid for eviction in self.session.decisions.evictions]

    def status(self, name):
        return self.world.task(name).status

    def trace(self):
        """Everything that a search must restore."""
        nodes, ask = self.session.nodes, self.session.ask
        shares = [
            (s.used, s.allocated, s.releasing, s.marked)
            for s in (nodes.shares(row) for row in range(len(nodes)))
        ]
        held = [ask.get_queue_allocated_resources(q) for q in self.session.queues.values()]
        state = {**accounts(self.session), "shares": repr(shares), "queues": repr(held)}
        return {**state, "held": [sorted(row) for row in state["held"]]}


class TestPlans:
    def test_no_more_victims_than_needed_are_evicted(self):
        world = crowded(4)
        world.job("x", "a", ask(gpu=2))
        search = Search(world)
        statement = search.solve("x")
        assert search.evictions(statement) == ["v3-0", "v2-0"]
        assert search.status("x-0") is TaskStatus.PIPELINED
        assert search.status("v0-0") is TaskStatus.RUNNING

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

    def test_victims_that_rank_before_the_claimant_are_placed_first(self):
        """Resources that the job order gives back to the victim do not help the claimant."""
        world = FairWorld()
        world.node(gpu=1)
        world.queue("a", 0, weight=0)
        world.queue("b", 1)
        world.job("v", "b", ask(on="n"))
        world.job("x", "a", ask())
        search = Search(world)
        before = search.trace()
        assert search.solve("x") is None
        assert search.solver.simulations == 1
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
        assert ("solve_reclaim gave up after its budget of simulations" in reason) is reported
        assert decisions.evictions == []


class TestFilters:
    @pytest.mark.parametrize(
        "needs, room, fits",
        [
            ([2, 1], [2, 1], True),
            ([2, 1], [3], True),
            ([2, 2], [3, 1], False),
            ([1, 1, 1], [2], False),
            ([0], [], True),
            ([1], [], False),
        ],
    )
    def test_packing(self, needs, room, fits):
        assert packs(needs, room) is fits

    def test_plans_that_free_too_few_gpus_are_not_simulated(self):
        world = crowded(4)
        world.job("x", "a", ask(gpu=4))
        search = Search(world)
        search.solve("x").discard()
        assert (search.solver.simulations, search.solver.refused) == (1, 4)

    def test_a_selector_that_no_victim_can_meet_is_not_simulated(self):
        world = crowded(2)
        world.job("x", "a", ask(node_selector={"zone": "z"}))
        search = Search(world)
        assert search.solve("x", []) is None
        assert (search.solver.simulations, search.solver.refused) == (0, 3)

    def test_a_domain_that_cannot_hold_the_job_is_not_simulated(self):
        world = crowded(1, nodes=("n", "m"))
        for name, rack in (("n", "r1"), ("m", "r2")):
            world.inventory.nodes[name].labels["rack"] = rack
        constraint = {"topology": "dc", "requiredTopologyLevel": "rack"}
        world.job("x", "a", ask(), ask(), topology_constraint=constraint)
        levels = {"spec": {"levels": [{"nodeLabel": "rack"}]}}
        world.inventory.others["Topology"] = {"dc": levels}
        search = Search(world, *FAIR, "topology")
        assert search.solve("x") is None
        # One simulation places the first pod; both together fit into no rack.
        assert search.solver.simulations == 1


class TestFailedJobs:
    def jobs(self, *requests, **facts):
        """Jobs of one queue: each is a list of the GPUs that its pods ask for."""
        world = FairWorld()
        world.node()
        world.queue("q")
        for number, gpus in enumerate(requests):
            world.job(f"j{number}", "q", *[ask(gpu=gpu, **facts) for gpu in gpus])
        world.open("elastic")
        return [world.job_of(f"j{number}") for number in range(len(requests))]

    def test_a_job_like_a_failed_one_is_skipped(self):
        first, same, smaller, larger = self.jobs([2], [2], [1], [3])
        table = FailedJobs()
        assert table.worth_trying(first)
        table.failed(first)
        assert not table.worth_trying(same)
        assert table.worth_trying(smaller)
        assert not table.worth_trying(larger)

    def test_jobs_of_another_size_are_not_skipped(self):
        two, one, three = self.jobs([1, 1], [1], [1, 1, 1])
        table = FailedJobs()
        table.failed(two)
        assert table.worth_trying(one)
        assert table.worth_trying(three)

    def test_only_pending_tasks_count(self):
        world = FairWorld()
        world.node()
        world.queue("q")
        world.job("half", "q", ask(on="n"), ask(gpu=2))
        world.job("new", "q", ask(gpu=2))
        world.open("elastic")
        table = FailedJobs()
        table.failed(world.job_of("half"))
        assert not table.worth_trying(world.job_of("new"))

    def test_the_smallest_failed_job_counts(self):
        large, small, middle = self.jobs([3], [1], [2])
        table = FailedJobs()
        table.failed(large)
        assert table.worth_trying(middle)
        table.failed(small)
        assert not table.worth_trying(middle)
        table.failed(large)
        assert not table.worth_trying(middle)

    def test_jobs_with_another_node_selector_are_not_skipped(self):
        (plain,) = self.jobs([2])
        (choosy,) = self.jobs([2], node_selector={"zone": "z"})
        table = FailedJobs()
        table.failed(plain)
        assert table.worth_trying(choosy)

    def test_it_can_be_switched_off(self):
        first, same = self.jobs([2], [2])
        table = FailedJobs(enabled=False)
        table.failed(first)
        assert table.worth_trying(same)


class TestPlan:
    def job(self):
        world = FairWorld()
        for name in ("n", "m"):
            world.node(name)
        world.queue("q")
        world.job("v", "q", ask(on="n"), ask(on="m"), ask(on="n"))
        world.job("w", "q", ask(on="m"))
        world.job("x", "q", ask())
        world.open("elastic")
        return world

    def test_a_node_lists_all_groups_of_the_jobs_on_it(self):
        world = self.job()
        plan = Plan(world.job_of("x"), [], allow_consolidating=True)
        assert plan.latest is None
        first = VictimGroup(world.job_of("v"), [world.task("v-0")])
        second = VictimGroup(world.job_of("v"), [world.task("v-1")])
        third = VictimGroup(world.job_of("w"), [world.task("w-0")])
        for group in (first, second, third):
            plan.add(group)
        assert plan.latest is world.job_of("w")
        assert plan.groups_on("n") == [first, second]
        assert plan.groups_on("m") == [first, second, third]
        assert plan.groups_on("elsewhere") == []

    def test_every_victim_is_listed_once(self):
        world = self.job()
        recorded = VictimGroup(world.job_of("v"), [world.task("v-0")])
        plan = Plan(world.job_of("x"), [recorded], allow_consolidating=True)
        plan.add(VictimGroup(world.job_of("v"), [world.task("v-0"), world.task("v-1")]))
        assert [task.name for task in plan.victims["ns/v"].tasks] == ["v-0", "v-1"]
        assert plan.recorded_tasks == recorded.tasks


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


class TestFitsEmptyCluster:
    """A job is refused early only where no placement exists at all."""

    @staticmethod
    def fits(rooms: list[int], needs: list[float]) -> bool:
        sizes = [Resource(scalars={GPU: room * 1000}) for room in rooms]
        nodes = NodeTable(
            [Node(f"n{i}", size, size) for i, size in enumerate(sizes)], Dimensions([GPU])
        )
        requests = [
            GpuRequest("regular", int(n), 1.0) if n >= 1 else GpuRequest("fraction", 1, n)
            for n in needs
        ]
        return fits_empty_cluster(nodes, [SimpleNamespace(gpu=gpu) for gpu in requests])

    def test_a_job_that_fits_only_by_optimal_packing_is_not_refused(self) -> None:
        # First fit decreasing fails here; 3+3+3 and 5+4 fit.
        assert self.fits([9, 9], [5, 4, 3, 3, 3])

    def test_one_more_than_there_are_nodes_is_refused(self) -> None:
        assert not self.fits([8] * 10, [8.0] * 11)
        assert self.fits([8] * 10, [8.0] * 10)

    def test_fractions_are_counted_exactly(self) -> None:
        assert self.fits([1], [0.1] * 10)
        assert not self.fits([1], [0.1] * 11)

    def test_a_job_without_gpus_fits_anywhere(self) -> None:
        assert self.fits([], [])


def test_a_job_of_a_queue_with_children_is_not_solved() -> None:
    world = crowded()
    world.job("x", "a", ask())
    assert Search(world).solve("x") is not None
    world = crowded()
    world.queue("below", 1, parent="a")
    world.job("x", "a", ask())
    assert Search(world).solve("x") is None
