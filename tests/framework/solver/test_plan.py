"""Plans: the victims by job and by node."""

from pumice.solver import Plan, VictimGroup
from tests.plugins._fair import FairWorld, ask


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
