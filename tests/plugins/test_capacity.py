"""Queues with capability, deserved amount and guarantee: flat and in a tree."""

import random

import pytest

from pumice import PERMIT, REJECT
from pumice.errors import PolicyError
from pumice.manifests import QUEUE_GATE
from pumice.model.resources import Resource
from pumice.verdicts import EvictionContext, EvictionKind

GPU = "example.com/gpu"


def tree(world, **facts):
    """root → a (a1, a2), b (b1)."""
    parents = {"root": "", "a": "root", "b": "root", "a1": "a", "a2": "a", "b1": "b"}
    for name, parent in parents.items():
        world.queue(name, parent=parent, **facts.get(name, {}))


def state(plugin):
    """Everything that events change, to be compared before and after."""
    return {
        name: (
            list(queue.account.allocated),
            queue.share,
            dict(queue.reserved),
            +queue.devices._users,
            +queue.devices._allocated,
        )
        for name, queue in plugin._queues.items()
    }


class TestFlat:
    def test_deserved_lies_between_guarantee_and_real_capability(self, world):
        world.node("n1", cpu=10, memory="10Gi")
        world.queue("a", deserved={"cpu": 8}, limit={"cpu": 6}, guarantee={"memory": "2Gi"})
        world.queue("b", guarantee={"cpu": 3})
        world.job("x", {"cpu": 1}, queue="a")
        account = world.open("capacity")._queues["a"].account
        assert (account.real_capability.cpu, account.real_capability.memory) == (6000, 10 << 30)
        assert (account.deserved.cpu, account.deserved.memory) == (6000, 2 << 30)

    def test_a_guarantee_elsewhere_lowers_the_real_capability(self, world):
        world.node("n1", cpu=10)
        world.queue("b", guarantee={"cpu": 7})
        world.job("x", {"cpu": 1})
        assert world.open("capacity")._queues["default"].account.real_capability.cpu == 3000

    def test_queues_without_jobs_have_no_account_and_no_opinion(self, world):
        world.queue("a")
        world.queue("b")
        world.job("x", {"cpu": 1}, queue="a")
        plugin = world.open("capacity")
        queues = world.session.queues
        assert plugin.queue_order(queues["a"], queues["b"]) == 0
        assert plugin.get_queue_deserved_resources(queues["b"]) is None
        assert not plugin.allocatable(queues["b"], world.task("x-0"))

    def test_resources_that_are_not_requested_do_not_block(self, world):
        world.node("n1", cpu=4)
        world.queue("a", limit={"memory": "1Gi"})
        world.job("r", {"cpu": 1, "memory": "4Gi", "on": "n1"}, queue="a")
        world.job("x", {"cpu": 1}, queue="a")
        plugin = world.open("capacity")
        assert plugin.allocatable(world.session.queues["a"], world.task("x-0"))

    def test_refusals_name_the_queue_and_the_missing_resources(self, world):
        world.node("n1", cpu=4)
        world.queue("a", limit={"cpu": 1})
        world.job("x", {"cpu": 2}, queue="a", phase="Pending", min_resources={"cpu": 2})
        plugin, job = world.open("capacity"), world.job_of("x")
        assert plugin.job_enqueueable(job) == REJECT
        assert job.refusals[-1].message == "queue a resource quota insufficient: insufficient cpu"

    def test_an_admitted_job_counts_for_the_next_job(self, world):
        world.node("n1", cpu=4)
        world.queue("a", limit={"cpu": 3})
        for name in ("x", "y"):
            world.job(name, {"cpu": 2}, queue="a", phase="Pending", min_resources={"cpu": 2})
        plugin = world.open("capacity")
        assert plugin.job_enqueueable(world.job_of("x")) == PERMIT
        plugin.job_enqueued(world.job_of("x"))
        assert plugin.job_enqueueable(world.job_of("y")) == REJECT

    def test_messages_are_given_copies(self, world):
        world.node("n1", cpu=4)
        world.queue("a", deserved={"cpu": 2})
        world.job("r", {"cpu": 1, "on": "n1"}, queue="a")
        plugin, queue = world.open("capacity"), world.session.queues["a"]
        plugin.get_queue_allocated_resources(queue).cpu = 0
        plugin.get_queue_deserved_resources(queue).cpu = 0
        assert plugin.get_queue_allocated_resources(queue).cpu == 1000
        assert plugin.get_queue_deserved_resources(queue).cpu == 2000

    def test_gang_preempt_leaves_all_victims_to_the_other_plugins(self, world):
        world.node("n1", cpu=4)
        world.job("r", {"cpu": 1, "on": "n1"})
        plugin = world.open("capacity")
        context = EvictionContext(EvictionKind.GANG_PREEMPT, world.job_of("r"))
        assert plugin.unified_evictable(context, world.tasks("r-0")) == world.tasks("r-0")


class TestTree:
    def test_what_is_not_set_is_inherited_and_the_root_is_unlimited(self, world):
        world.node("n1", cpu=4, example_com_gpu=8)
        tree(world, a={"limit": {"memory": "4Gi", GPU: 3}}, a1={"limit": {"cpu": 2}})
        world.job("x", {"cpu": 1, "example_com_gpu": 1}, queue="a1")
        queues = world.open("capacity", hierarchy=True)._queues
        real = queues["a1"].account.real_capability
        assert (real.cpu, real.memory, real.get(GPU)) == (2000, 4 << 30, 3000)
        assert queues["b1"].account.real_capability.get(GPU) == float("inf")

    def test_a_capability_of_the_root_leaves_what_it_does_not_name_unlimited(self, world):
        world.node("n1", cpu=4, example_com_gpu=8)
        tree(world, root={"limit": {"cpu": 3}})
        world.job("x", {"cpu": 2, "example_com_gpu": 8}, {"cpu": 4}, queue="a1")
        plugin, queue = world.open("capacity", hierarchy=True), world.session.queues["a1"]
        assert plugin.allocatable(queue, world.task("x-0"))
        assert not plugin.allocatable(queue, world.task("x-1"))

    def test_guarantees_beyond_the_parent_leave_nothing_but_themselves(self, world):
        tree(
            world,
            a={"limit": {"cpu": 6}},
            a1={"guarantee": {"cpu": 4}},
            a2={"guarantee": {"cpu": 4}},
        )
        queues = world.open("capacity", hierarchy=True)._queues
        assert queues["a1"].account.real_capability.cpu == 4000
        assert queues["root"].account.guarantee.cpu == 0

    def test_ancestors_hold_what_their_leaves_hold(self, world):
        world.node("n1", cpu=8)
        tree(world)
        world.job("x", {"cpu": 1, "on": "n1"}, queue="a1")
        world.job("y", {"cpu": 2, "on": "n1"}, queue="a2", phase="Running")
        world.job("z", {"cpu": 3}, queue="b1", min_resources={"cpu": 3})
        queues = world.open("capacity", hierarchy=True)._queues
        held = {name: queue.account.allocated_resource.cpu for name, queue in queues.items()}
        assert held == {"root": 3000, "a": 3000, "b": 0, "a1": 1000, "a2": 2000, "b1": 0}
        assert queues["root"].account.inqueue.cpu == queues["b"].account.inqueue.cpu == 3000

    @pytest.mark.parametrize(
        "queues, fault",
        [
            ({"a": ""}, "there is no queue 'root'"),
            ({"root": "", "a": "lost"}, "queue a has the unknown parent 'lost'"),
            ({"root": "", "a": "b", "b": "a"}, "queue a is below itself"),
            ({"root": "", "a": "", "c": "a"}, "job ns/x is in queue a, which has queues below it"),
        ],
    )
    def test_with_an_invalid_queue_tree_nothing_is_allowed(self, world, queues, fault):
        world.node("n1")
        for name, parent in queues.items():
            world.queue(name, parent=parent, deserved={"cpu": 4})
        world.job("x", {"cpu": 1}, queue="a", phase="Pending", min_resources={"cpu": 1})
        plugin = world.open("capacity", hierarchy=True)
        queue, task, job = world.session.queues["a"], world.task("x-0"), world.job_of("x")
        assert not plugin.allocatable(queue, task)
        assert not plugin.simulate_allocatable({}, queue, task)
        assert not plugin.preemptive(queue, [task])
        assert plugin.reclaimable(task, [task]) == []
        assert plugin.job_enqueueable(job) == REJECT
        assert {refusal.message for refusal in job.refusals} == {fault}
        context = EvictionContext(EvictionKind.GANG_RECLAIM, job)
        assert plugin.unified_evictable(context, [task]) == []
        world.allocate("x-0", node="n1").discard()

    def test_leaf_queues_come_before_inner_queues(self, world):
        tree(world)
        plugin, queues = world.open("capacity", hierarchy=True), world.session.queues
        assert plugin.queue_order(queues["a1"], queues["b"]) < 0
        assert plugin.queue_order(queues["b"], queues["a1"]) > 0

    @pytest.mark.parametrize("at_open", [False, True])
    def test_the_share_of_a_parent_follows_its_allocations_unless_upstream_is_copied(
        self, world, at_open
    ):
        world.node("n1", cpu=8)
        tree(world, **{name: {"deserved": {"cpu": 4}} for name in ("a", "a1", "b", "b1")})
        world.job("x", {"cpu": 1, "on": "n1"}, {"cpu": 1}, queue="a1")
        world.job("y", {"cpu": 1, "on": "n1"}, queue="b1")
        plugin = world.open("capacity", hierarchy=True, upstreamShares=at_open)
        queues, of_plugin = world.session.queues, plugin._queues
        assert plugin.queue_order(queues["a1"], queues["b1"]) == 0
        world.allocate("x-1", node="n1")
        assert of_plugin["a1"].share == of_plugin["a"].account.share == 0.5
        assert of_plugin["a"].share == (0.25 if at_open else 0.5)
        assert plugin.queue_order(queues["a1"], queues["b1"]) == (0 if at_open else 1)

    def test_a_negative_level_counts_as_none(self, world):
        tree(world)
        assert world.open("capacity", hierarchy=True, ancestorReclaimLevel=-3)._levels == 0

    def test_levels_mean_nothing_without_a_tree(self, world):
        assert world.open("capacity", ancestorReclaimLevel=3)._levels == 0


class TestUndo:
    @pytest.mark.parametrize("hierarchy", [False, True])
    @pytest.mark.parametrize("seed", range(5))
    def test_a_discard_restores_every_account(self, world, hierarchy, seed):
        rng = random.Random(seed)
        world.node("n1", cpu=100, example_com_gpu=100)
        tree(world, a={"deserved": {"cpu": 7}}, a1={"deserved": {"cpu": 3, GPU: 1}})
        note = {"annotations": {QUEUE_GATE: "true"}}
        for number in range(12):
            spec = {"cpu": rng.randint(1, 4), "example_com_gpu": rng.randint(0, 2)}
            world.job(
                f"j{number}",
                {**spec, "on": "n1"} if number % 2 else {**spec, "facts": dict(note)},
                queue=rng.choice(["a1", "a2", "b1"]),
            )
        plugin = world.open("capacity", hierarchy=hierarchy)
        for number in range(0, 12, 2):
            task = world.task(f"j{number}-0")
            plugin.allocatable(world.session.queues[task.queue], task)
        before = state(plugin)
        statement = world.session.statement()
        for number in rng.sample(range(12), 8):
            task = world.task(f"j{number}-0")
            if number % 2:
                statement.evict(task, "test")
            else:
                assert statement.pipeline(task, 0) is None
        assert state(plugin) != before
        statement.discard()
        assert state(plugin) == before

    def test_a_reservation_becomes_an_allocation_and_is_restored_by_undo(self, world):
        world.node("n1")
        world.queue("a", limit={"cpu": 2})
        world.job("x", {"cpu": 2, "facts": {"annotations": {QUEUE_GATE: "true"}}}, queue="a")
        world.job("y", {"cpu": 1}, queue="a")
        plugin, queue = world.open("capacity"), world.session.queues["a"]
        x, y = world.tasks("x-0", "y-0")
        assert plugin.allocatable(queue, y)
        assert plugin.allocatable(queue, x)
        assert not plugin.allocatable(queue, y)
        assert plugin.allocatable(queue, x), "a reservation is not held against its own task"
        statement = world.allocate("x-0", node="n1")
        assert not plugin.allocatable(queue, y)
        assert not plugin._queues["a"].reserved
        statement.discard()
        assert not plugin.allocatable(queue, y)


class TestSimulation:
    def test_a_simulation_has_its_own_accounts(self, world):
        world.node("n1", cpu=8)
        tree(world, a={"limit": {"cpu": 2}})
        world.job("v", {"cpu": 2, "on": "n1"}, queue="a1")
        world.job("x", {"cpu": 1}, {"cpu": 2}, queue="a2")
        plugin, queue = world.open("capacity", hierarchy=True), world.session.queues["a2"]
        before, cycle_state, node = state(plugin), {}, world.session.nodes.handle(0)
        victim, small, large = world.tasks("v-0", "x-0", "x-1")
        assert not plugin.simulate_allocatable(cycle_state, queue, small)
        world.session.ask.simulate_remove_task(cycle_state, small, victim, node)
        assert plugin.simulate_allocatable(cycle_state, queue, large)
        world.session.ask.simulate_add_task(cycle_state, small, victim, node)
        assert not plugin.simulate_allocatable(cycle_state, queue, small)
        assert state(plugin) == before
        assert not plugin.simulate_allocatable({}, queue, small)


class TestOracle:
    """The integer comparisons agree with the resource type's."""

    @pytest.mark.parametrize("seed", range(30))
    def test_agreement(self, world, seed):
        rng = random.Random(seed)

        def some(most, *, scalars=True):
            listed = {"cpu": rng.randint(0, most), "memory": rng.randint(0, most)}
            if scalars and rng.random() < 0.6:
                listed[GPU] = rng.randint(0, most)
            return listed

        world.node("n1", cpu=100, memory=100, example_com_gpu=100, pods=500)
        for name in "ab":
            world.queue(name, deserved=some(6), limit=some(8), guarantee=some(2))
            for number in range(4):
                request = {k.replace(GPU, "example_com_gpu"): v for k, v in some(3).items()}
                place = {"on": "n1"} if number < 3 else {}
                world.job(f"{name}{number}", {**request, **place}, queue=name)
        plugin = world.open("capacity")
        for name in "ab":
            account, task = plugin._queues[name].account, world.task(f"{name}3-0")
            future = account.allocated_resource.plus(task.request)
            fits = future.less_equal_in(account.real_capability, task.request)[0]
            assert plugin.allocatable(account.queue, task) == fits
            due = future.less_equal_partly_in_nonzero(account.deserved, task.request)[0]
            assert plugin.preemptive(account.queue, [task]) == (fits and due)
        reclaimer = world.task("a3-0")
        candidates = world.tasks("b0-0", "b1-0", "b2-0")
        order = world.session.order.sorted_victims(candidates, reclaimer, world.session.queues)
        expected = self.slow(plugin._queues["b"].account, reclaimer, order)
        assert plugin.reclaimable(reclaimer, candidates) == expected

    @staticmethod
    def slow(account, reclaimer, candidates):
        left, victims = account.allocated_resource.clone(), []
        for task in candidates:
            wanted = set(task.request.names()) & set(reclaimer.request.names()) - {"pods"}
            if not wanted or not account.guarantee.less_equal(left.minus(task.request)):
                continue
            immediate = not set(task.request.names()) & set(account.deserved.names())
            if immediate or left.greater_partly_relevant(account.deserved, task.request):
                left.sub(task.request)
                victims.append(task)
        return victims


def test_unknown_options_are_refused(world):
    with pytest.raises(PolicyError, match="ancestorReclaimLevel"):
        world.open("capacity", ancestorReclaimLevels=1)


def test_resources_of_queues_only_need_no_node(world):
    """A queue may deserve what no node has."""
    world.queue("a", deserved={"example.com/tpu": 1})
    world.job("x", {"cpu": 1}, queue="a")
    plugin = world.open("capacity")
    assert plugin.get_queue_deserved_resources(world.session.queues["a"]) == Resource(
        0, 0, {"example.com/tpu": 1000}
    )
