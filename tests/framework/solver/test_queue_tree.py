"""The queue tree: the next job to serve, and the next victim."""

import random

import pytest

from pumice import Plugin, hookimpl
from pumice.model.cluster import build_cluster
from pumice.session.session import Session
from pumice.solver.queue_tree import QueueTree
from pumice.solver.ranked_jobs import RankedJobs
from tests.framework._build import policy
from tests.plugins._fair import FairWorld, ask


def world_of(*queues, **jobs):
    """Queues by (name, parent) or name; each job with its queue, oldest first."""
    world = FairWorld()
    world.node(gpu=64)
    for queue in queues:
        name, parent = (queue, "") if isinstance(queue, str) else queue
        world.queue(name, parent=parent)
    for name, queue in jobs.items():
        world.job(name, queue, ask())
    return world


def tree(world, *plugins, **options):
    world.open(*(plugins or ["elastic"]))
    jobs = [world.job_of(uid.removeprefix("ns/")) for uid in world.session.jobs]
    return QueueTree(world.session, jobs, **options)


def drained(tree):
    names = []
    while tree:
        names.append(tree.pop().name)
    return names


def test_the_older_queue_and_in_it_the_older_job_comes_first():
    world = world_of("a", "b", b1="b", a1="a", a2="a")
    assert drained(tree(world)) == ["a1", "a2", "b1"]


def test_an_empty_tree_is_false():
    assert not tree(world_of("a"))


def test_jobs_come_down_the_tree():
    world = world_of("east", ("e1", "east"), ("e2", "east"), "west", ("w1", "west"))
    for name, queue in (("x", "w1"), ("y", "e2"), ("z", "e1")):
        world.job(name, queue, ask())
    assert drained(tree(world)) == ["z", "y", "x"]


def test_jobs_of_unknown_queues_and_of_inner_ones_are_left_out():
    world = world_of("top", ("leaf", "top"), inner="top", good="leaf")
    jobs = tree(world)
    lost = world.job_of("good").subset([])
    lost.queue = "nowhere"
    jobs.push(lost)
    assert drained(jobs) == ["good"]


def test_a_queue_whose_parent_is_missing_is_left_out():
    world = world_of("a", orphan="a", good="a")
    world.queue("b")
    world.job("x", "b", ask())
    jobs = tree(world)
    world.session.queues["a"].parent = "nowhere"
    assert drained(QueueTree(world.session, world.session.jobs.values())) == ["x"]
    assert jobs


def test_the_queue_with_the_smallest_share_comes_first_and_is_compared_again():
    world = world_of("a", "b")
    for name in ("a1", "a2", "a3"):
        world.job(name, "a", ask())
    for name in ("b1", "b2"):
        world.job(name, "b", ask())
    jobs = tree(world, "fairshare")
    session, order = world.session, []
    while jobs:
        job = jobs.pop()
        order.append(job.name)
        with session.statement() as statement:
            (task,) = job.tasks.values()
            assert statement.allocate(task, 0) is None
            statement.commit()
    assert order == ["a1", "b1", "a2", "b2", "a3"]


def test_depth_limits_the_jobs_of_each_leaf_queue():
    world = world_of("a", "b", a1="a", a2="a", a3="a", b1="b")
    assert drained(tree(world, depth=1)) == ["a1", "b1"]


def test_a_job_pushed_back_returns_to_its_position():
    world = world_of("a", a1="a", a2="a")
    jobs = tree(world)
    first = jobs.pop()
    jobs.push(first)
    assert drained(jobs) == ["a1", "a2"]


def test_an_emptied_queue_returns_with_a_pushed_job():
    world = world_of(("a", ""), ("leaf", "a"), only="leaf")
    jobs = tree(world)
    only = jobs.pop()
    assert not jobs
    jobs.push(only)
    assert drained(jobs) == ["only"]


def test_the_first_victim_is_the_last_job_of_the_queue_with_the_largest_share():
    world = FairWorld()
    world.node(gpu=6)
    world.queue("a")
    world.queue("b")
    for name, queue in (("a1", "a"), ("b1", "b"), ("b2", "b"), ("b3", "b"), ("b4", "b")):
        world.job(name, queue, ask(on="n"))
    assert drained(tree(world, "fairshare", victims=True)) == ["b4", "b3", "b2", "b1", "a1"]


def test_the_queue_order_is_given_the_next_job_and_the_victims():
    heard = []

    class Ears(Plugin):
        @hookimpl
        def queue_order(self, left, right, left_job, right_job, left_victims, right_victims):
            gone = ["+".join(job.name for job in jobs) for jobs in (left_victims, right_victims)]
            heard.append((left_job and left_job.name, right_job and right_job.name, *gone))
            return 0

    world = world_of("a", "b", a1="a", b1="b", b2="b")
    session = Session(build_cluster(world.inventory, now=world.now), policy([Ears]))
    drained(QueueTree(session, session.jobs.values()))
    assert {line[2:] for line in heard} == {("", "")}
    assert {frozenset(line[:2]) for line in heard} >= {frozenset({"a1", "b1"})}
    heard.clear()
    assert drained(QueueTree(session, session.jobs.values(), victims=True)) == ["b2", "b1", "a1"]
    assert {line[:2] for line in heard} == {(None, None)}
    assert {line[2:] for line in heard} & {("a1", "b2+b1"), ("b2+b1", "a1")}


@pytest.mark.parametrize("victims", [False, True])
@pytest.mark.parametrize("seed", range(8))
def test_a_ranked_tree_equals_one_whose_jobs_are_pushed_by_uid(seed, victims):
    rng = random.Random(seed)
    world = FairWorld()
    world.node(gpu=64)
    for number in range(3):
        world.queue(f"top{number}", rng.randrange(8))
    for number in range(9):
        world.queue(f"q{number}", rng.randrange(5), parent=f"top{number % 3}")
    for name in rng.sample(range(100, 200), 40):
        on = "n" if victims else ""
        world.job(f"j{name}", f"q{rng.randrange(9)}", ask(gpu=rng.randrange(1, 4), on=on))
    world.open("elastic")
    session = world.session
    jobs = sorted(session.jobs.values(), key=lambda job: job.uid)
    apart = {job.uid for job in jobs[::5]}
    ranked = QueueTree.ranked(
        session,
        RankedJobs(session, lambda job: True),
        lambda job: job.uid not in apart,
        more=[(session.order.job_key(job), job) for job in jobs[::5]],
        victims=victims,
    )
    assert drained(ranked) == drained(QueueTree(session, jobs, victims=victims))


class ByShare(Plugin):
    """The queue with fewer allocated tasks goes first, then the one with the smaller name."""

    def __init__(self, *args):
        super().__init__(*args)
        self.keys = []
        self.compared = []

    def held(self, queue):
        names = {queue.name, *queue.children}
        return sum(j.allocated_count for j in self.session.jobs.values() if j.queue in names)

    @hookimpl
    def queue_order(self, left, right):
        self.compared.append((left.name, right.name))
        difference = self.held(left) - self.held(right)
        return difference or (-1 if left.name < right.name else 1)

    @hookimpl
    def queue_order_key(self, queue, job):
        self.keys.append((queue.name, job.name))
        return self.held(queue)


def place_all(placing):
    world = world_of("b", "a", "c", **{f"j{n}": "abc"[n % 3] for n in range(12)})
    cluster = build_cluster(world.inventory, now=world.now)
    session = Session(cluster, policy([ByShare], actions=[]))
    jobs = QueueTree(session, session.jobs.values(), placing=placing)
    order = []
    while jobs:
        job = jobs.pop()
        order.append(job.name)
        if len(order) % 4:
            with session.statement() as statement:
                (one,) = job.tasks.values()
                statement.allocate(one, 0)
                statement.keep()
    return order, session.plugins["byshare"]


def test_queues_are_compared_by_keys_that_are_renewed_when_their_jobs_change():
    with_keys, keyed = place_all(placing=True)
    without, plain = place_all(placing=False)
    assert with_keys == without
    assert not plain.keys
    assert len(keyed.compared) == len(set(keyed.compared)), "ties are compared once"
    assert len(keyed.compared) < len(plain.compared)


def drained_while_others_lose_tasks(evicting):
    """Jobs of the departments a and b wait; what runs in a's other queue is evicted meanwhile."""
    world = world_of("a", ("a1", "a"), ("a2", "a"), "b", ("b1", "b"))
    for number in range(3):
        world.job(f"run{number}", "a2", {**ask(), "on": "n"})
        world.job(f"a{number}", "a1", ask())
        world.job(f"b{number}", "b1", ask())
    cluster = build_cluster(world.inventory, now=world.now)
    session = Session(cluster, policy([ByShare], actions=[]))
    running = [job for job in session.jobs.values() if job.queue == "a2"]
    assert all(job.allocated_count for job in running)
    waiting = [job for job in session.jobs.values() if job.queue != "a2"]
    jobs = QueueTree(session, waiting, evicting=evicting)
    order = []
    while jobs:
        job = jobs.pop()
        order.append(job.name)
        with session.statement() as statement:
            (claimant,) = job.tasks.values()
            statement.allocate(claimant, 0)
            if running:
                (victim,) = running.pop().tasks.values()
                statement.evict(victim, "test")
            statement.keep()
    return order


def test_a_department_is_compared_again_when_a_queue_without_waiting_jobs_has_changed():
    order = drained_while_others_lose_tasks(evicting=True)
    assert order == drained_while_others_lose_tasks(evicting=False)
    assert order[:3] == ["b0", "b1", "a0"], "department a goes first as soon as it holds less"


def queues_a_and_b(*gpus):
    """Jobs a0, a1, ... of queue a that ask for so many GPUs; those of b ask for half its share."""
    world = world_of("a", "b")
    for number, gpu in enumerate(gpus):
        world.job(f"a{number}", "a", ask(gpu))
    for name in ("b0", "b1"):
        world.job(name, "b", ask(5))
    return world, tree(world, "fairshare", placing=True)


def request(job):
    return job.total_request.tobytes()


def test_a_run_ends_with_the_first_job_that_does_not_belong_to_it():
    _world, jobs = queues_a_and_b(1, 1, 1, 1)
    run = jobs.pop_run("a", lambda job: job.name != "a2", request)
    assert [job.name for job in run] == ["a0", "a1"]
    assert drained(jobs) == ["a2", "a3", "b0", "b1"]


def test_a_run_may_empty_its_queue():
    _world, jobs = queues_a_and_b(1, 1)
    run = jobs.pop_run("a", lambda job: True, request)
    assert [job.name for job in run] == ["a0", "a1"]
    assert jobs.pop_run("a", lambda job: True, request) == []
    assert drained(jobs) == ["b0", "b1"]


def test_a_run_ends_where_another_queue_goes_before_its_next_job():
    _world, jobs = queues_a_and_b(1, 9, 1)
    run = jobs.pop_run("a", lambda job: True, request)
    assert [job.name for job in run] == ["a0"]
    assert drained(jobs) == ["b0", "b1", "a1", "a2"]


def test_there_is_no_run_of_a_queue_that_is_not_the_next():
    _world, jobs = queues_a_and_b(1, 1)
    assert jobs.pop_run("b", lambda job: True, request) == []
    assert drained(jobs) == ["a0", "a1", "b0", "b1"]


def test_without_keys_there_is_no_run():
    world = world_of("a", a0="a", a1="a")
    jobs = tree(world, "fairshare")
    assert not jobs.by_keys
    assert jobs.pop_run("a", lambda job: True, request) == []
    assert drained(jobs) == ["a0", "a1"]


def test_the_jobs_that_are_left_can_be_listed_and_removed():
    world, jobs = queues_a_and_b(1, 1)
    jobs.pop()
    assert {job.name for job in jobs} == {"a1", "b0", "b1"}
    jobs.clear()
    assert not jobs
    jobs.push(world.job_of("a1"))
    assert drained(jobs) == ["a1"]


def ranked(world, *added):
    """A ranked tree of all jobs, of which these were added."""
    session = world.session
    apart = {f"ns/{name}" for name in added}
    return QueueTree.ranked(
        session,
        RankedJobs(session, lambda job: True),
        lambda job: job.uid not in apart,
        more=[(session.order.job_rank(job), job) for job in map(world.job_of, added)],
    )


def test_sorted_jobs_are_passed_over_up_to_one_that_was_added():
    world, _ = queues_a_and_b(1, 1, 1, 1)
    jobs = ranked(world, "a2")
    assert jobs.skip_ranked(request)
    assert not jobs.skip_ranked(request), "the next one was added"
    assert drained(jobs) == ["a2", "a3", "b0", "b1"]


def test_sorted_jobs_are_passed_over_until_another_queue_is_the_next():
    world, _ = queues_a_and_b(1, 9, 1, 1)
    jobs = ranked(world, "a3")
    assert jobs.skip_ranked(request)
    assert drained(jobs) == ["b0", "b1", "a1", "a2", "a3"]


def test_a_queue_without_added_jobs_may_be_passed_over_as_a_whole():
    world, _ = queues_a_and_b(1, 1)
    jobs = ranked(world, "b1")
    assert jobs.skip_ranked(request)
    assert drained(jobs) == ["b0", "b1"]
