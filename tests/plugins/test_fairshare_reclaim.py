"""From which queues a queue may reclaim, and how much."""

from fractions import Fraction

import pytest

from pumice import LostVictims
from pumice.model.facts import Queue
from pumice_builtin_plugins.fairshare.quantities import TaskQuantities
from pumice_builtin_plugins.fairshare.queues import below_common_ancestor, build_tree
from pumice_builtin_plugins.fairshare.reclaim import (
    EvictionUnit,
    QueueAllocation,
    Reclaimer,
    ReclaimValidator,
    eviction_unit,
)
from pumice_builtin_plugins.fairshare.usage import NO_USAGE
from tests.plugins._fair import INF, FairWorld, ask, bound

GPU_ONLY = frozenset({2})


@pytest.fixture
def world():
    return FairWorld()


def gpus(amount):
    return 0, 0, int(amount * 1000)


class Rivals:
    """Queues with a quota, a fair share and what they hold, in GPUs."""

    def __init__(self, multiplier="1", **queues):
        facts = []
        for index, (name, given) in enumerate(queues.items()):
            facts.append(
                Queue(
                    name,
                    family="kai",
                    parent=given.get("parent", ""),
                    deserved=bound(given["quota"]),
                    limit=bound(given.get("limit", INF)),
                    created=index,
                )
            )
        self.tree = build_tree(facts, {}, NO_USAGE)
        self.before = {}
        self.multiplier = Fraction(multiplier)
        for name, given in queues.items():
            self.tree[name].set_fair_share(gpus(given["fair"]), gpus(100))
            firm = gpus(given.get("firm", 0))
            self.before[name] = QueueAllocation(gpus(given["held"]), firm)

    def may(self, queue, required, preemptible=True, **taken):
        """Whether the queue may take these units, a list of GPUs from each queue."""
        units = {
            name: [EvictionUnit(gpus(amount), GPU_ONLY) for amount in amounts]
            for name, amounts in taken.items()
        }
        reclaimer = Reclaimer(self.tree[queue], EvictionUnit(gpus(required), GPU_ONLY), preemptible)
        return ReclaimValidator(self.tree, self.before, self.multiplier).allows(reclaimer, units)


def leaves(*p1, p2, **more):
    """Two leaf queues of one department: (quota, fair share, held) each."""
    names = ("quota", "fair", "held")
    return Rivals(
        d={"quota": 5, "fair": 5, "held": p1[2] + p2[2]},
        p1={"parent": "d", **dict(zip(names, p1, strict=True))},
        p2={"parent": "d", **dict(zip(names, p2, strict=True))},
        **more,
    )


class TestStrategies:
    def test_a_queue_above_its_share_may_be_reclaimed_from(self):
        assert leaves(3, 3, 2, p2=(2, 2, 3)).may("p1", 1, p2=[1])

    def test_a_queue_at_its_share_may_not_be_reclaimed_from(self):
        assert not leaves(3, 3, 2, p2=(2, 2, 2)).may("p1", 1, p2=[1])

    def test_a_quota_is_worth_more_than_another_queues_over_quota_share(self):
        assert leaves(3, 3, 2, p2=(2, 3, 3)).may("p1", 1, p2=[1])

    def test_beyond_its_own_quota_that_does_not_hold(self):
        assert not leaves(2, 3, 2, p2=(2, 3, 3)).may("p1", 1, p2=[1])

    def test_the_reclaimer_does_not_exceed_the_ratio_of_its_victim(self):
        assert not leaves(3, 3, 3, p2=(2, 2, 3)).may("p1", 1, p2=[1])

    def test_the_last_unit_may_push_a_queue_below_its_share(self):
        assert leaves(3, 3, 0, p2=(2, 2, 4)).may("p1", 3, p2=[1, 3])

    def test_a_queue_at_its_share_gives_no_more(self):
        assert not leaves(3, 3, 0, p2=(2, 2, 4)).may("p1", 3, p2=[2, 1])

    def test_a_limit_below_the_share_counts_as_the_share(self):
        queues = leaves(3, 3, 1, p2=(4, 4, 3))
        assert not queues.may("p1", 1, p2=[1])
        queues.tree["p2"].quota = queues.tree["p2"].quota._replace(limit=(INF, INF, 2000))
        queues.tree["p2"].set_fair_share(gpus(4), gpus(100))
        assert queues.may("p1", 1, p2=[1])


QUEUES = {
    "d1": {"quota": 4, "fair": 4, "held": 3},
    "d2": {"quota": 4, "fair": 4, "held": 5},
    "a": {"parent": "d1", "quota": 1, "fair": 1, "held": 1},
    "b": {"parent": "d1", "quota": 3, "fair": 3, "held": 2},
    "c": {"parent": "d2", "quota": 4, "fair": 5, "held": 4},
    "e": {"parent": "d2", "quota": 0, "fair": 0, "held": 1},
}


class TestLevels:
    def test_queues_of_different_departments_are_compared_by_department(self):
        # c itself is within its share, but d2 is above
        assert Rivals(**QUEUES).may("b", 1, c=[1])

    def test_a_queue_above_its_share_is_safe_while_its_department_is_not_above(self):
        queues = {**QUEUES, "d2": {"quota": 5, "fair": 5, "held": 5}}
        assert not Rivals(**queues).may("b", 1, e=[1])

    def test_queues_of_one_department_are_compared_directly(self):
        queues = {**QUEUES, "a": {"parent": "d1", "quota": 0, "fair": 0, "held": 1}}
        assert Rivals(**queues).may("b", 1, a=[1])

    def test_what_a_sibling_gave_makes_room_in_the_department(self):
        # d1 holds 4 of 4; without its queue a it would be 4 again, and no ratio is exceeded
        queues = {
            **QUEUES,
            "d1": {"quota": 4, "fair": 4, "held": 4},
            "a": {"parent": "d1", "quota": 0, "fair": 0, "held": 2},
        }
        assert Rivals(**queues).may("b", 1, a=[1])

    def test_the_compared_queues_are_the_children_of_the_common_ancestor(self):
        tree = Rivals(**QUEUES).tree
        assert [q.name for q in below_common_ancestor(tree["a"], tree["c"])] == ["d1", "d2"]
        assert [q.name for q in below_common_ancestor(tree["a"], tree["b"])] == ["a", "b"]
        assert [q.name for q in below_common_ancestor(tree["a"], tree["d1"])] == ["d1", "d1"]


class TestSaturation:
    def test_within_its_share_no_ratio_is_compared(self):
        assert leaves(0, 3, 2, p2=(0, 2, 3)).may("p1", 1, p2=[1])

    def test_a_multiplier_spares_queues_that_are_hardly_more_saturated(self):
        given = {"p1": (0, 2, 2), "p2": (0, 2, 5)}
        # 3 of 2 against 4 of 2
        assert leaves(*given["p1"], p2=given["p2"]).may("p1", 1, p2=[1])
        assert not leaves(*given["p1"], p2=given["p2"], multiplier="2").may("p1", 1, p2=[1])

    def test_a_sibling_without_a_share_is_not_protected(self):
        assert leaves(0, 1, 1, p2=(0, 0, 2)).may("p1", 1, p2=[2])

    def test_a_queue_without_a_share_is_saturated_beyond_measure(self):
        assert not leaves(0, 0, 0, p2=(0, 2, 9)).may("p1", 1, p2=[1])


class TestNonPreemptibleJobs:
    def test_they_must_stay_within_the_quota_at_every_level(self):
        queues = {
            "d": {"quota": 2, "fair": 5, "held": 4, "firm": 2},
            "p1": {"parent": "d", "quota": 3, "fair": 3, "held": 1, "firm": 0},
            "p2": {"parent": "d", "quota": 0, "fair": 2, "held": 3, "firm": 2},
        }
        assert Rivals(**queues).may("p1", 1, p2=[1])
        assert not Rivals(**queues).may("p1", 1, p2=[1], preemptible=False)
        queues["d"]["quota"] = 3
        assert Rivals(**queues).may("p1", 1, p2=[1], preemptible=False)


class TestEvictionUnits:
    def unit(self, world, *pods, pending=False):
        world.node()
        world.queue("q")
        world.job("j", "q", *pods)
        world.open("fairshare")
        tasks = world.job_of("j").tasks.values()
        return eviction_unit(tasks, TaskQuantities(world.session), pending=pending)

    def test_the_resources_of_which_there_is_something_are_involved(self, world):
        unit = self.unit(world, ask(1, cpu=100, memory=0), ask(2, cpu=200, memory=0))
        assert unit == ((300, 0, 3000), {0, 2})

    def test_mig_instances_weigh_but_involve_no_gpus(self, world):
        mig = {"nvidia.com/mig-2g.10gb": 1000}
        unit = self.unit(world, ask(0, scalars=mig, on="n"))
        assert unit == ((100, 1000, 2000), {0, 1})

    def test_a_waiting_request_of_gpu_memory_involves_gpus(self, world):
        unit = self.unit(world, ask(gpu_memory=50), pending=True)
        assert unit == ((100, 1000, 1000), {0, 1, 2}), "no node states how much its GPUs have"

    def test_each_resource_is_charged_to_the_queue_that_loses_it(self):
        queues = leaves(3, 3, 2, p2=(2, 2, 3))
        unit = EvictionUnit((10, 20, 1000), GPU_ONLY)
        queues.before["p2"] = QueueAllocation((100, 100, 3000), (0, 0, 0))
        validator = ReclaimValidator(queues.tree, queues.before, Fraction(1))
        assert validator.allows(Reclaimer(queues.tree["p1"], unit, True), {"p2": [unit]})
        assert validator.remaining["p2"] == (90, 80, 2000)
        assert validator.remaining["d"] == (-10, -20, 4000)


class TestCanReclaim:
    def can(self, world, job):
        return world.session.ask.can_reclaim_resources(world.job_of(job))

    def test_all_that_the_job_asks_must_fit_the_fair_share(self, world):
        world.node(gpu=4)
        world.queue("a")
        world.queue("b")
        world.job("b1", "b", *[ask(on="n")] * 4)
        world.job("two", "a", ask(2))
        world.job("three", "a", ask(3))
        world.open("fairshare")
        assert self.can(world, "two")
        assert not self.can(world, "three")

    def test_a_resource_that_is_not_short_must_fit_too(self, world):
        world.node(gpu=4)
        world.queue("a", bound(4, cpu=0), limit=bound(INF, cpu=0))
        world.job("j", "a", ask(1))
        world.open("fairshare")
        assert not self.can(world, "j")

    def test_a_non_preemptible_job_must_fit_the_quota(self, world):
        world.node(gpu=4)
        world.queue("a", 1)
        world.job("firm", "a", ask(2), preemptibility="non-preemptible")
        world.job("soft", "a", ask(2))
        world.open("fairshare")
        assert not self.can(world, "firm")
        assert self.can(world, "soft")

    def test_gpu_memory_weighs_by_the_smallest_gpu(self, world):
        world.node(gpu=4, gpu_memory=16_000)
        world.queue("a", 0.5, limit=0.5)
        world.job("small", "a", ask(gpu_memory=8000))
        world.job("large", "a", ask(gpu_memory=9000))
        world.open("fairshare")
        assert self.can(world, "small")
        assert not self.can(world, "large")


class TestScenarios:
    def full(self, world, *victims, min_member=None):
        """Queue b holds the cluster; a wants one GPU that its quota gives it."""
        world.node(gpu=4)
        world.queue("a", 1)
        world.queue("b", 3)
        world.job("victim", "b", *victims, min_member=min_member)
        world.job("claim", "a", ask())
        world.open("fairshare")
        world.session.ask.on_job_solution_start()

    def validate(self, world, *victims, **options):
        scenario = world.scenario("claim", *victims, **options)
        return world.session.ask.reclaim_scenario_validator(scenario)

    def test_victims_of_a_queue_above_its_share_may_go(self, world):
        self.full(world, *[ask(on="n")] * 4, min_member=1)
        with world.session.statement() as statement:
            statement.evict(world.task("victim-3"), "test")
            assert self.validate(world, "victim-3")

    def test_shares_are_those_from_before_the_search(self, world):
        self.full(world, *[ask(on="n")] * 4, min_member=1)
        with world.session.statement() as statement:
            # The queue has lost a GPU by now; the validation uses the state before.
            statement.evict(world.task("victim-3"), "test")
            statement.pipeline(world.task("claim-0"), 0)
            assert self.validate(world, "victim-3")

    def test_each_surplus_pod_is_checked_alone(self, world):
        self.full(world, *[ask(on="n")] * 4, min_member=1)
        with world.session.statement() as statement:
            for name in ("victim-3", "victim-2"):
                statement.evict(world.task(name), "test")
            # the first pod listed is the core, the second a spare one; both may not go
            assert not self.validate(world, "victim-3", "victim-2")

    @pytest.mark.parametrize(
        "lost, refused",
        [([], False), ([("victim", 4)], False), ([("victim", 2), ("other", 1)], False),
         ([("victim", 3), ("other", 1)], True), ([("other", 1), ("victim", 3)], False),
         ([("tiny", 5), ("victim", 2), ("other", 1)], False)],
    )  # fmt: skip
    def test_losses_that_leave_a_queue_within_its_share_are_refused(self, world, lost, refused):
        """Queue b may lose while it holds more than three GPUs, whatever else a plan evicts."""
        for name in ("n", "m"):
            world.node(name, gpu=4)
        world.queue("a", 5)
        world.queue("b", 3)
        world.job("victim", "b", *[ask(on="n")] * 4, min_member=1)
        world.job("other", "b", ask(on="m"))
        world.job("tiny", "b", *[ask(gpu=0, on="m")] * 4, ask(on="m"), min_member=1)
        world.job("claim", "a", *[ask()] * 5)
        world.open("fairshare")
        ask_all = world.session.ask
        ask_all.on_job_solution_start()
        jobs = {name: world.job_of(name) for name in ("victim", "other", "tiny")}
        victims = [LostVictims(jobs[n], list(jobs[n].tasks.values()), count) for n, count in lost]
        assert ask_all.refuses_reclaim(world.job_of("claim"), victims) is refused

    @pytest.mark.parametrize("victims, refused", [(1, False), (2, True), (4, True)])
    def test_too_many_victims_are_refused_with_more_of_them(self, world, victims, refused):
        """Queue b holds one GPU more than it deserves; nothing has been simulated yet."""
        world.node(gpu=4)
        world.queue("a", 1)
        world.queue("b", 3)
        for number in range(4):
            world.job(f"victim{number}", "b", ask(on="n"))
        world.job("claim", "a", ask())
        world.open("fairshare")
        world.session.ask.on_job_solution_start()
        names = [f"victim{number}-0" for number in range(victims)]
        refuses = world.session.ask.refuses_larger_plans
        assert refuses(world.scenario("claim", *names, allow_consolidating=False)) is refused
        assert not refuses(world.scenario("claim", *names))

    def test_the_minimum_of_a_job_goes_as_one(self, world):
        self.full(world, *[ask(on="n")] * 4)
        with world.session.statement() as statement:
            names = [f"victim-{i}" for i in range(4)]
            for name in names:
                statement.evict(world.task(name), "test")
            assert self.validate(world, *names)

    def test_a_moved_victim_is_not_charged(self, world):
        world.node("m", gpu=1)
        world.node("n", gpu=2)
        world.queue("a", 1)
        world.queue("b", 2)
        world.job("victim", "b", ask(on="n"))
        world.job("other", "b", ask(on="n"))
        world.job("claim", "a", ask())
        world.open("fairshare")
        world.session.ask.on_job_solution_start()
        row = world.session.nodes.row_of
        with world.session.statement() as statement:
            statement.evict(world.task("victim-0"), "test")
            assert not self.validate(world, "victim-0")
            statement.pipeline(world.task("victim-0"), row["m"])
            assert self.validate(world, "victim-0")
            assert not self.validate(world, "victim-0", allow_consolidating=False)

    def test_volcano_queues_may_be_closed_to_reclaim(self, world):
        world.node(gpu=4)
        world.queue("a", 4)
        world.inventory.queues["b"] = Queue("b", reclaimable=False)
        world.inventory.queues["c"] = Queue("c")
        for name in "bc":
            world.job(f"j{name}", name, ask(on="n"))
        world.job("claim", "a", ask())
        world.open("fairshare")
        spared = world.session.ask.reclaim_victim_filter
        claim = world.job_of("claim")
        assert not spared(claim, world.job_of("jb"))
        assert spared(claim, world.job_of("jc"))
