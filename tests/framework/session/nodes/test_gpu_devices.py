"""Which devices of a node a task takes; plugins only score them."""

from pumice.session.nodes.gpu_devices import (
    choose_groups,
    groups_fit_idle,
)
from tests.framework.solver._placement import cluster
from tests.plugins._fair import ask


class TestChooseGroups:
    """The devices that a task takes on a node; plugins only score them."""

    def world(self, pod):
        world = cluster(2)
        world.job("old", "q", ask(fraction=0.5, on="n0", labels={"runai-gpu-group": "g"}))
        world.job("j", "q", pod)
        world.open("gpupack")
        return world

    def test_a_shared_device_first_then_a_new_group_on_a_whole_one(self):
        world = self.world(ask(fraction=0.5, annotations={"gpu-fraction-num-devices": "2"}))
        task = world.task("j-0")
        groups = choose_groups(world.session, task, 0)
        assert groups == ("g", "n0/shared-1")
        assert groups_fit_idle(world.session, task, 0, groups)

    def test_none_where_there_are_too_few_devices(self):
        world = self.world(ask(fraction=0.5, annotations={"gpu-fraction-num-devices": "3"}))
        assert choose_groups(world.session, world.task("j-0"), 0) is None

    def test_a_share_that_is_being_released_is_waited_for(self):
        world = cluster(1)
        for name in ("old", "going"):
            world.job(name, "q", ask(fraction=0.5, on="n0", labels={"runai-gpu-group": "g"}))
        world.job("j", "q", ask(fraction=0.5))
        world.open("gpupack")
        task = world.task("j-0")
        assert choose_groups(world.session, task, 0) is None
        with world.session.statement() as statement:
            statement.evict(world.task("going-0"), "test")
            assert choose_groups(world.session, task, 0) == ("g",)
            assert not groups_fit_idle(world.session, task, 0, ("g",))
