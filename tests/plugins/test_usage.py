"""Measured loads, and estimates of what is not measured yet."""

import pytest

from pumice.errors import PumiceError
from pumice.model.facts import Container, Pod
from pumice.model.resources import Resource
from pumice_builtin_plugins.usage.estimate import Estimator, estimate

MIB = 2**20


def used(cpu, memory, **more):
    return {"cpu": {"10m": cpu}, "memory": {"10m": memory}, **more}


class TestEstimate:
    def pod(self, cpu=1000, limit=0, memory=0):
        container = Container("c", Resource(cpu, memory), Resource(limit, 0))
        return Pod("p", "p", "ns", Resource(cpu, memory), containers=[container])

    def test_the_estimate_is_a_part_of_the_request(self):
        usage = estimate(self.pod(memory=100), Estimator(), best_effort=False, at_risk=False)
        assert usage == pytest.approx((700, 70))

    def test_the_estimate_adds_a_part_of_the_limit_above_the_request(self):
        estimator = Estimator(burst_ratio=0.5)
        pod = self.pod(limit=3000)
        assert estimate(pod, estimator, best_effort=False, at_risk=False).cpu == 1700
        # Without a limit there is nothing above the request.
        assert estimate(self.pod(), estimator, best_effort=False, at_risk=False).cpu == 700

    def test_the_estimate_is_higher_on_a_node_at_risk_but_never_above_the_limit(self):
        pod = self.pod(limit=1100)
        usage = estimate(pod, Estimator(), best_effort=False, at_risk=True)
        assert usage.cpu == pytest.approx(840)
        greedy = Estimator(request_ratio=1)
        assert estimate(pod, greedy, best_effort=False, at_risk=True).cpu == 1100

    def test_best_effort(self):
        usage = estimate(self.pod(0), Estimator(), best_effort=True, at_risk=False)
        assert usage == (250, 200 * MIB)
        estimator = Estimator(be_cpu="0.5", be_mem="1Mi", risk_factor=2)
        usage = estimate(self.pod(0), estimator, best_effort=True, at_risk=True)
        assert usage == (1000, 2 * MIB)


@pytest.fixture
def cluster(world):
    """Two nodes of 4 cpu and 8Gi, the second without a measurement."""
    world.node("n1")
    world.node("n2")
    world.inventory.node_usage = {"n1": used(20, 40)}
    world.job("j", {"cpu": 2}, {"cpu": 2})
    return world


def scores(world, plugin):
    """Scores of all nodes; the form for one node must agree with the other."""
    task, nodes = world.task("j-0"), world.session.nodes
    vector = plugin.batch_node_order(task, nodes.view()).tolist()
    assert vector == [plugin.node_order(task, nodes.handle(row)) for row in range(len(nodes))]
    return vector


class TestScore:
    def test_what_is_free_counts(self, cluster):
        assert scores(cluster, cluster.open("usage")) == pytest.approx([350, 0])

    def test_weights(self, cluster):
        options = {"cpu.weight": 3, "memory.weight": 1, "usage.weight": 1}
        plugin = cluster.open("usage", **options)
        assert scores(cluster, plugin) == pytest.approx([100 * (3 * 0.8 + 0.6) / 4, 0])

    def test_negative_weights_are_the_default(self, cluster):
        options = {"cpu.weight": -3, "memory.weight": -1, "usage.weight": -1}
        assert scores(cluster, cluster.open("usage", **options)) == pytest.approx([350, 0])

    def test_without_any_weight_there_is_no_score(self, cluster):
        plugin = cluster.open("usage", **{"cpu.weight": 0, "memory.weight": 0})
        assert scores(cluster, plugin) == [0, 0]

    def test_what_is_placed_counts_and_undo_restores(self, cluster):
        plugin = cluster.open("usage")
        before = scores(cluster, plugin)
        statement = cluster.allocate("j-0", node="n1")
        # 0.7 of 2 cpu are 35 percent of 4.
        assert scores(cluster, plugin)[0] == pytest.approx(500 * (0.45 + 0.6) / 2)
        statement.discard()
        assert scores(cluster, plugin) == before

    def test_a_node_at_risk_makes_estimates_higher(self, cluster):
        cluster.inventory.node_usage["n1"] = used(20, 100)
        plugin = cluster.open("usage")
        cluster.allocate("j-0", node="n1")
        assert scores(cluster, plugin)[0] == pytest.approx(500 * (0.8 - 0.42) / 2)

    def test_a_load_is_never_more_than_all(self, cluster):
        cluster.inventory.node_usage["n1"] = used(90, 40)
        plugin = cluster.open("usage")
        cluster.allocate("j-0", node="n1")
        assert scores(cluster, plugin)[0] == pytest.approx(150)

    @pytest.mark.parametrize("ran, counts", [(29.9, True), (30, False), (None, False)])
    def test_a_young_pod_counts(self, cluster, ran, counts):
        start = None if ran is None else cluster.now - ran
        cluster.job("run", {"cpu": 2, "on": "n1", "facts": {"start_time": start}})
        plugin = cluster.open("usage")
        assert (scores(cluster, plugin)[0] < 349) == counts

    def test_how_long_a_pod_is_young(self, cluster):
        started = {"start_time": cluster.now - 60}
        cluster.job("run", {"cpu": 2, "on": "n1", "facts": started})
        plugin = cluster.open("usage", **{"metrics.interval": "2m"})
        assert scores(cluster, plugin)[0] < 349

    def test_a_bound_pod_counts(self, cluster):
        cluster.job("run", {"cpu": 2, "on": "n1", "facts": {"phase": "Pending"}})
        assert scores(cluster, cluster.open("usage"))[0] < 349

    @pytest.mark.parametrize("start", [-10, -1000])
    def test_taking_an_eviction_back_restores(self, cluster, start):
        started = {"start_time": cluster.now + start}
        cluster.job("run", {"cpu": 2, "on": "n1", "facts": started})
        plugin = cluster.open("usage")
        before = scores(cluster, plugin)
        statement = cluster.session.statement()
        statement.evict(cluster.task("run-0"), "test")
        assert scores(cluster, plugin)[0] == pytest.approx(350)
        statement.discard()
        assert scores(cluster, plugin) == before


class TestPredicate:
    def codes(self, cluster, **options):
        plugin = cluster.open("usage", **options)
        return plugin.predicate_nodes(cluster.task("j-0"), cluster.session.nodes.view())

    @pytest.mark.parametrize("load, code", [((80, 80), 0), ((80.1, 0), 3), ((0, 80.1), 3)])
    def test_above_a_threshold(self, cluster, load, code):
        cluster.inventory.node_usage["n1"] = used(*load)
        assert self.codes(cluster).codes.tolist() == [code, 0]

    def test_which_one_is_reported(self, cluster):
        error = self.codes(cluster, thresholds={"mem": "30", "cpu": 50}).error(0)
        assert str(error) == "memory usage is above 30 percent"

    @pytest.mark.parametrize("age, code", [(300, 3), (301, 0)])
    def test_old_measurements_do_not_count(self, cluster, age, code):
        facts = used(99, 99, measured=cluster.now - age)
        cluster.inventory.node_usage["n1"] = facts
        assert self.codes(cluster).codes.tolist() == [code, 0]

    @pytest.mark.parametrize(
        "facts", [{"cpu": 99}, {"cpu": {"10m": "x"}}, used(99, 99, measured="noon"), []]
    )
    def test_unreadable_measurements_do_not_count(self, cluster, facts):
        cluster.inventory.node_usage["n1"] = facts
        assert self.codes(cluster).codes.tolist() == [0, 0]


@pytest.mark.parametrize(
    "options, message",
    [
        ({"thresholds": {"cpu": 101}}, "thresholds"),
        ({"thresholds": {"memory": 1}}, "memory"),
        ({"estimator": {"be_cpu": "much"}}, "be_cpu"),
        ({"estimator": {"request_ratio": -1}}, "request_ratio"),
    ],
)
def test_a_bad_option_is_named(world, options, message):
    world.node("n1")
    with pytest.raises(PumiceError, match=message):
        world.open("usage", **options)
