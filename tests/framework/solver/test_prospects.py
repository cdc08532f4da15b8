"""Which of the jobs that wait in an action may still succeed."""

import pytest

from pumice import Plugin, hookimpl
from pumice.solver.kinds import kind_of
from pumice.solver.prospects import Prospects
from pumice.solver.queue_tree import QueueTree
from pumice_builtin_plugins.fairshare.plugin import FairShare
from tests.framework._build import World, policy
from tests.plugins._fair import FairWorld, ask

MANY = 30


def crowd():
    """A queue with a row of equal jobs, a large one among them, and one that comes after it."""
    world = FairWorld()
    world.node(gpu=64)
    for name in ("a", "b"):
        world.queue(name)
    for number in range(MANY):
        world.job(f"a{number:02}", "a", ask(27 if number == 12 else 1))
    for number in range(2):
        world.job(f"b{number}", "b", ask())
    world.open("fairshare")
    return world


def prospects_of(world, *, placing=True):
    tree = QueueTree(world.session, world.session.jobs.values(), placing=placing)
    return Prospects(world.session, tree)


def in_order(world):
    tree = QueueTree(world.session, world.session.jobs.values(), placing=True)
    return [tree.pop().name for _ in world.session.jobs]


@pytest.mark.parametrize("placing", [True, False])
def test_as_long_as_no_job_fails_they_come_in_the_order_of_the_tree(placing):
    world = crowd()
    assert [job.name for job in prospects_of(world, placing=placing)] == in_order(world)


@pytest.mark.parametrize("for_now", [True, False])
def test_jobs_like_one_that_failed_come_all_the_same(for_now):
    world = crowd()
    prospects, names = prospects_of(world), []
    for job in prospects:
        names.append(job.name)
        if job.name == "a00":
            prospects.lose(job, for_now=for_now)
    assert names == in_order(world)


@pytest.mark.parametrize("placing", [True, False])
def test_jobs_like_one_that_failed_need_not_be_given(placing):
    world = crowd()
    tree = QueueTree(world.session, world.session.jobs.values(), placing=placing)
    prospects, names = Prospects(world.session, tree, gives_lost=False), []
    for job in prospects:
        names.append(job.name)
        if job.name == "a00":
            prospects.lose(job)
    gang = ["a00", "a12"] if placing else [name for name in in_order(world) if name[0] == "a"]
    assert [name for name in names if name[0] == "a"] == gang
    assert {"b0", "b1"} <= set(names)


def test_when_all_are_bound_to_fail_nothing_is_taken_from_the_tree_one_by_one(monkeypatch):
    world = crowd()
    every = in_order(world)
    prospects, popped = prospects_of(world), []
    pop = QueueTree.pop
    monkeypatch.setattr(QueueTree, "pop", lambda tree: popped.append(pop(tree)) or popped[-1])
    names = []
    for job in prospects:
        names.append(job.name)
        prospects.lose(job)
    assert sorted(names) == every
    assert [job.name for job in popped] == ["a00", "a12", "b0"]


def test_what_failed_for_now_may_succeed_after_a_change():
    world = crowd()
    prospects, names = prospects_of(world), []
    for job in prospects:
        names.append(job.name)
        prospects.lose(job, for_now=True)
        if job.name == "a12":  # it is placed: its queue holds more than the other
            with world.session.statement() as statement:
                (task,) = job.tasks.values()
                assert statement.allocate(task, 0) is None
                statement.commit()
    place = names.index("a12")
    assert names[place + 1] == "b0", "queue b is compared again"
    assert sorted(names) == sorted(in_order(world))


def test_a_job_that_is_put_back_comes_again():
    world = crowd()
    prospects, names = prospects_of(world), []
    for job in prospects:
        names.append(job.name)
        prospects.lose(job)
        if names == ["a00"]:
            prospects.put_back(job)
    assert names[:2] == ["a00", "a00"]
    assert len(names) == MANY + 3


def job_with(*pods, **facts):
    world = FairWorld()
    world.node(gpu=8)
    world.queue("a")
    world.job("x", "a", *pods, **facts)
    world.job("y", "a", ask())
    world.open("fairshare")
    return world.session, world.job_of("x"), world.job_of("y")


def test_jobs_that_ask_for_the_same_are_of_one_kind():
    session, left, right = job_with(ask())
    assert kind_of(session, left) == kind_of(session, right) is not None


@pytest.mark.parametrize(
    "pods, facts",
    [
        ([ask(2)], {}),
        ([ask(), ask()], {}),
        ([ask(), ask(2)], {}),
        ([ask(on="n")], {}),
        ([ask()], {"preemptibility": "non-preemptible"}),
    ],
)
def test_jobs_that_differ_are_of_several_kinds(pods, facts):
    session, left, right = job_with(*pods, **facts)
    assert kind_of(session, left) != kind_of(session, right)


class Odd(Plugin):
    def class_key(self, task):
        raise ValueError("no key")

    @hookimpl(scope="row")
    def node_order(self, task, node):
        return 0.0


def test_a_job_whose_class_cannot_be_told_is_like_no_other_and_says_so():
    world = World()
    world.node("n", cpu=2)
    world.queue("q")
    for number in range(3):
        world.job(f"j{number}", queue="q", tasks=1, cpu=1)
    session = world.session(policy([Odd, FairShare], actions=[], on_plugin_error="isolate"))
    tree = QueueTree(session, session.jobs.values(), placing=True)
    prospects, names = Prospects(session, tree), []
    for job in prospects:
        names.append(job.name)
        prospects.lose(job)
    assert names == ["j0", "j1", "j2"]
    assert all("no key" in job.plugin_errors[0] for job in session.jobs.values())
