"""Jobs of one task that are placed without a statement."""

import pytest

from pumice import Ledger, Plugin, SingleTasks, TaskStatus, hookimpl
from pumice.errors import PluginError
from tests.framework._build import World, policy, task


class Fullest(Plugin):
    """The node with the most in use is the best; ``events`` are what it was notified of."""

    def __init__(self, *args):
        super().__init__(*args)
        self.events = []

    @hookimpl(scope="row")
    def node_order(self, task, node):
        return float(node.used.cpu)

    @hookimpl
    def on_allocate(self, task):
        self.events.append(task.name)

    @hookimpl
    def on_deallocate(self, task):
        self.events.append(f"not {task.name}")


class Objecting(Fullest):
    @hookimpl
    def on_allocate(self, task):
        return "not here"


class Raising(Fullest):
    @hookimpl
    def on_allocate(self, task):
        raise ValueError("no")


class Refusing(Fullest):
    @hookimpl
    def pre_bind(self, bind_context):
        return "not today"


def opened(plugin, *, jobs=4, nodes=3, plain=(), **others):
    world = World()
    for number in range(nodes):
        world.node(f"n{number}", cpu=2)
    world.queue("q")
    for number in range(jobs):
        world.job(f"j{number}", queue="q", tasks=1, cpu=1)
    session = world.session(policy([plugin], actions=[]).without(plain), **others)
    return session, session.plugins[plugin.__name__.lower()]


def is_untouched(session, one):
    return (
        one.status is TaskStatus.PENDING
        and not one.node
        and not session.nodes.used.any()
        and not session.decisions.binds
    )


@pytest.mark.parametrize("among_future", [False, True])
def test_tasks_are_bound_to_the_best_node_one_after_another(among_future):
    session, plugin = opened(Fullest)
    singles = SingleTasks(session, among_future=among_future)
    tasks = [task(session, f"j{number}-t-0") for number in range(4)]
    assert all(singles.place(one) for one in tasks)
    assert [one.node for one in tasks] == ["n0", "n0", "n1", "n1"]
    assert {one.status for one in tasks} == {TaskStatus.BINDING}
    assert [bind.task for bind in session.decisions.binds] == [one.key for one in tasks]
    assert plugin.events == [one.name for one in tasks]


def test_that_no_node_takes_a_task_is_recorded_with_the_reasons():
    session, _ = opened(Fullest, jobs=8)
    singles = SingleTasks(session, among_future=True)
    *placed, one = [task(session, f"j{number}-t-0") for number in range(7)]
    assert all(singles.place(other) for other in placed)
    assert not singles.nowhere
    assert not singles.place(one)
    assert singles.nowhere
    assert one.job.fit_errors[one.uid].histogram() == {"Insufficient cpu": 3}
    session.unplace(placed[0])
    assert singles.place(one)
    assert not singles.nowhere


def test_a_task_that_fits_nowhere_is_left_alone():
    session, _ = opened(Fullest, nodes=0)
    one = task(session, "j0-t-0")
    assert not SingleTasks(session).place(one)
    assert is_untouched(session, one)


def test_an_objection_changes_nothing():
    session, plugin = opened(Objecting)
    one = task(session, "j0-t-0")
    assert not SingleTasks(session).place(one)
    assert is_untouched(session, one)
    assert plugin.events == ["not j0-t-0"]


def test_a_plugin_that_raises_leaves_nothing_behind():
    session, plugin = opened(Raising)
    one = task(session, "j0-t-0")
    with pytest.raises(PluginError):
        SingleTasks(session).place(one)
    assert is_untouched(session, one)
    assert plugin.events == ["not j0-t-0"]


def test_a_job_that_is_not_ready_is_not_bound():
    session, plugin = opened(Fullest)
    one = task(session, "j0-t-0")
    assert not SingleTasks(session, is_ready=lambda job: job is not one.job).place(one)
    assert is_untouched(session, one)
    assert plugin.events == ["j0-t-0", "not j0-t-0"]


def test_what_is_raised_after_the_placement_undoes_it():
    def no(job):
        raise ValueError("no")

    session, _ = opened(Fullest)
    one = task(session, "j0-t-0")
    with pytest.raises(ValueError, match="no"):
        SingleTasks(session, is_ready=no).place(one)
    assert is_untouched(session, one)
    assert one.last_transaction.node == "n0", "as in a statement that is discarded"


def test_a_refused_bind_is_undone_and_counts_as_the_jobs_turn():
    session, _ = opened(Refusing)
    one = task(session, "j0-t-0")
    assert SingleTasks(session).place(one)
    assert is_untouched(session, one)
    assert session.refused_binds[one.uid] == "refusing: not today"


def test_only_a_plain_task_is_placed_here():
    session, _ = opened(Fullest)
    one = task(session, "j0-t-0")
    assert SingleTasks(session).task_of(one.job) is one
    one.nominated_node = "n2"
    assert SingleTasks(session).task_of(one.job) is None


@pytest.mark.parametrize("others", [{"plain": ["single_tasks"]}, {"jobs": 1}, {"ledger": Ledger()}])
def test_it_is_inactive_without_the_shortcut_with_a_ledger_and_for_a_single_job(others):
    session, _ = opened(Fullest, **others)
    assert SingleTasks(session).task_of(task(session, "j0-t-0").job) is None
