"""When pods leave busy nodes, and by which measure."""

import pytest

from pumice.errors import PolicyError
from pumice.session.session import Session
from pumice_builtin_plugins.rescheduling.low_utilization import NodeUtilization, select_victims

LOW, TARGET = {"cpu": 20, "memory": 20, "pod": 100}, {"cpu": 50, "memory": 50, "pod": 100}


def strategy(**params):
    return [{"name": "lowNodeUtilization", "params": params}]


BALANCE = strategy(thresholds={"cpu": 20, "memory": 20}, targetThresholds={"cpu": 50, "memory": 50})


@pytest.fixture
def hot(world):
    """A busy node with two pods and an idle one; gives the victims that the plugin names."""

    def victims(period="10m", now=None, memory=None, **options):
        if "n1" not in world.inventory.nodes:
            world.node("n1", cpu=4)
            world.node("n2", cpu=4)
            world.job("j", {"cpu": 1, "on": "n1"}, {"cpu": 1, "on": "n1"})
        world.inventory.node_usage = {
            "n1": {"cpu": {"10m": 70}, "memory": {"10m": 10}},
            "n2": {"cpu": {"10m": 5}, "memory": {"10m": 5}},
        }
        world.now = now if now is not None else world.now
        world.open("rescheduling", metricsPeriod=period, strategies=BALANCE, **options)
        session = Session(world.session.cluster, world.session.policy, memory=memory)
        tasks = list(session.cluster.tasks.values())
        return [task.name for task in session.ask.victim_tasks(tasks)]

    return victims


def test_the_first_round_is_one_interval_after_the_first_cycle(hot):
    memory = {}
    rounds = [hot(now=now, memory=memory) for now in (1000, 1299, 1300, 1301, 1599, 1600)]
    assert rounds == [[], [], ["j-0"], [], [], ["j-0"]]


def test_an_interval_of_its_own(hot):
    memory = {}
    assert [hot(now=n, memory=memory, interval="1m") for n in (1000, 1059, 1060)] == [
        [],
        [],
        ["j-0"],
    ]


def test_with_a_period_without_measurements_every_node_is_idle(hot):
    assert hot(period="10m", interval="0s") == ["j-0"]
    assert hot(period="5m", interval="0s") == []


def busy(name, cpu=0.0, memory=0.0, schedulable=True, tasks=(), size=4000):
    return NodeUtilization(
        name, schedulable, size, 8 << 30, {"cpu": cpu, "memory": memory, "pod": 0}, tasks
    )


@pytest.mark.parametrize(
    "nodes",
    [
        [busy("a", 90), busy("b", 30)],  # none low: 30 is not below 20
        [busy("a", 90), busy("b", 20)],  # nor is 20
        [busy("a", 10), busy("b", 10)],  # all low
        [busy("a", 50), busy("b", 10)],  # none high: 50 is not above 50
        [busy("a", 90), busy("b", 10, schedulable=False)],
        [busy("a", 90), busy("b", 10, 25)],  # low in one measure only
        [],
    ],
)
def test_without_victims(world, nodes):
    world.node("a")
    world.job("j", {"cpu": 1, "on": "a"})
    world.open("conformance")
    tasks = world.tasks("j-0")
    for node in nodes:
        if node.name == "a":
            node.tasks = tasks
    assert select_victims(nodes, LOW, TARGET, tasks) == []


def test_only_tasks_that_are_asked_about_leave_and_the_others_free_nothing(world):
    world.node("a")
    world.job("j", *[{"cpu": 1, "on": "a"} for _ in range(4)])
    world.open("conformance")
    tasks = world.tasks("j-0", "j-1", "j-2", "j-3")
    nodes = [busy("a", 90, tasks=tasks), busy("b")]
    # 90, 65, 40: two of them, of 25 % each
    assert select_victims(nodes, LOW, TARGET, tasks[1:]) == tasks[1:3]


@pytest.mark.parametrize(
    "options, message",
    [
        ({"interval": "soon"}, "a duration"),
        ({"strategies": [{"name": "lowNodeUtilisation"}]}, "lowNodeUtilization"),
        ({"strategies": strategy(threshold={"cpu": 1})}, "threshold"),
        ({"strategies": strategy(thresholds={"cpu": 101})}, "less than or equal to 100"),
        ({"strategies": strategy(thresholds={"gpu": 1})}, "gpu"),
        ({"strategies": "lowNodeUtilization"}, "list"),
    ],
)
def test_invalid_options_are_refused(world, options, message):
    with pytest.raises(PolicyError, match="problem") as caught:
        world.open("rescheduling", **options)
    assert message in str(caught.value)


def test_the_bound_of_pods_has_two_names(world):
    one = world.open("rescheduling", strategies=strategy(thresholds={"pod": 7}))
    two = world.open("rescheduling", strategies=strategy(thresholds={"pods": 7}))
    assert one.options == two.options


def test_nothing_configured_does_nothing(world):
    world.job("j", {"cpu": 1, "on": "a"})
    plugin = world.open("rescheduling", interval="0s")
    assert not plugin.victim_tasks(world.tasks("j-0"))
