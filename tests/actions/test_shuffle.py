"""shuffle: the tasks that plugins name are evicted, and no others."""

from pumice import Plugin, hookimpl
from pumice_builtin_actions.shuffle import Shuffle
from tests.actions._evictions import evicted
from tests.framework._build import World, policy


class Names(Plugin):
    """Names the tasks whose names have a given ending."""

    class Options(Plugin.Options):
        ends: str = "0"

    @hookimpl
    def victim_tasks(self, tasks):
        return [task for task in tasks if task.name.endswith(self.options.ends)]


def busy_world() -> World:
    world = World().node("n", cpu=8)
    return world.job("a", 2, on=["n", "n"]).job("b", 2, on=["n", "n"])


def test_an_eviction_has_no_claimant():
    decisions = busy_world().run(policy([Names], actions=[Shuffle]))
    assert evicted(decisions) == ["a-t-0", "b-t-0"]
    assert {(e.action, e.reason, e.claimant) for e in decisions.evictions} == {
        ("shuffle", "shuffle", "")
    }


def test_only_running_tasks_are_offered():
    offered = []

    class Watches(Plugin):
        """Names no task."""

        @hookimpl
        def victim_tasks(self, tasks):
            offered.extend(task.name for task in tasks)

    world = busy_world().pod("bound", "ns/a", node="n", phase="Pending").pod("waits", "ns/a")
    world.pod("leaves", "ns/a", node="n", deleted=1.0).pod("of-no-job", node="n")
    assert evicted(world.run(policy([Watches], actions=[Shuffle]))) == []
    assert offered == ["a-t-0", "a-t-1", "b-t-0", "b-t-1"]


def test_no_task_is_evicted_if_a_plugin_fails_to_name_victims():
    class Broken(Plugin):
        """Raises."""

        @hookimpl
        def victim_tasks(self, tasks):
            raise RuntimeError("fell over")

    decisions = busy_world().run(
        policy([Broken, Names], actions=[Shuffle], on_plugin_error="isolate")
    )
    assert evicted(decisions) == []
