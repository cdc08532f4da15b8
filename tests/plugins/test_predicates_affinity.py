"""Required pod affinity and anti-affinity: placed, evicted and simulated pods."""

import pytest

from pumice.verdicts import Code, EvictionContext, EvictionKind
from tests.plugins._kube import HOST, REQUIRED, ZONE, Kube, node, pod, thing

NOT_NEAR = "node(s) didn't match pod affinity rules"
NOT_APART = "node(s) didn't match pod anti-affinity rules"
UNWANTED = "node(s) didn't satisfy existing pods anti-affinity rules"


def term(app, key=HOST, **rest):
    return {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}, **rest}


def near(*terms):
    return {"podAffinity": {REQUIRED: list(terms)}}


def apart(*terms):
    return {"podAntiAffinity": {REQUIRED: list(terms)}}


def zones():
    return [node("a1", {ZONE: "a"}), node("a2", {ZONE: "a"}), node("b1", {ZONE: "b"}), node("c")]


class TestNear:
    def test_only_the_domains_of_matching_pods(self):
        kube = Kube(
            *zones(), pod("r", {"app": "x"}, on="a1"), pod("p", affinity=near(term("x", ZONE)))
        )
        assert kube.fitting("p") == {"a1", "a2"}
        assert kube.verdicts("p")["b1"] == (Code.UNRESOLVABLE, (NOT_NEAR,))

    def test_one_pod_must_match_all_terms(self):
        wanted = near(
            term("x", ZONE), {"topologyKey": HOST, "labelSelector": {"matchLabels": {"v": "1"}}}
        )
        kube = Kube(
            *zones(),
            pod("r", {"app": "x"}, on="a1"),
            pod("s", {"app": "x", "v": "1"}, on="b1"),
            pod("p", affinity=wanted),
        )
        assert kube.fitting("p") == {"b1"}

    def test_the_first_of_a_series_may_go_wherever_there_is_a_domain(self):
        kube = Kube(
            *zones(),
            pod("p", {"app": "x"}, affinity=near(term("x", ZONE))),
            pod("q", {"app": "y"}, affinity=near(term("x", ZONE))),
        )
        assert kube.fitting("p") == {"a1", "a2", "b1"}
        assert kube.fitting("q") == set()

    def test_the_second_of_a_gang_follows_the_first(self):
        series = near(term("x", ZONE))
        kube = Kube(
            *zones(),
            pod("p", {"app": "x"}, affinity=series),
            pod("q", {"app": "x"}, affinity=series),
        )
        statement = kube.place("p", "b1")
        assert kube.fitting("q") == {"b1"}
        statement.discard()
        assert kube.fitting("q") == {"a1", "a2", "b1"}


class TestApart:
    def test_not_into_the_domain_of_a_matching_pod(self):
        kube = Kube(
            *zones(), pod("r", {"app": "x"}, on="a1"), pod("p", affinity=apart(term("x", ZONE)))
        )
        assert kube.fitting("p") == {"b1", "c"}
        assert kube.verdicts("p")["a2"] == (Code.UNSCHEDULABLE, (NOT_APART,))

    def test_existing_pods_reject_others(self):
        kube = Kube(
            *zones(),
            pod("r", on="a1", affinity=apart(term("x", ZONE))),
            pod("p", {"app": "x"}),
            pod("q", {"app": "y"}),
        )
        assert kube.verdicts("p")["a2"] == (Code.UNSCHEDULABLE, (UNWANTED,))
        assert kube.fitting("p") == {"b1", "c"}
        assert kube.fitting("q") == {"a1", "a2", "b1", "c"}
        assert kube.plugin._scope(kube.task("p")) == "cluster"
        assert kube.plugin._scope(kube.task("q")) == "row"

    def test_pods_placed_in_this_cycle_reject_others_too(self):
        kube = Kube(
            node("a"),
            node("b"),
            pod("p", {"app": "y"}, affinity=apart(term("x"))),
            pod("q", {"app": "x"}),
        )
        kube.place("p", "a")
        assert kube.fitting("q") == {"b"}

    def test_an_eviction_counts_for_tasks_prepared_afterwards(self):
        kube = Kube(node("a"), pod("r", {"app": "x"}, on="a"), pod("p", affinity=apart(term("x"))))
        task, queries = kube.task("p"), kube.session.queries
        assert queries.prepare(task) is None
        statement = kube.evict("r")
        assert queries.predicate(task, 0) is not None  # counted before the eviction
        assert kube.fitting("p") == {"a"}
        statement.discard()
        assert kube.fitting("p") == set()

    def test_a_pod_that_was_terminating_already_still_counts(self):
        kube = Kube(
            node("a"),
            pod("r", {"app": "x"}, on="a", deleted=True),
            pod("p", affinity=apart(term("x"))),
        )
        assert kube.fitting("p") == set()

    def test_switched_off(self):
        kube = Kube(
            node("a"),
            pod("r", {"app": "x"}, on="a"),
            pod("p", affinity=apart(term("x"))),
            options={"predicate.PodAffinityEnable": False},
        )
        assert kube.fitting("p") == {"a"}


class TestNamespaces:
    @pytest.mark.parametrize(
        "rest, fitting",
        [
            ({}, {"b"}),
            ({"namespaces": ["other"]}, {"a"}),
            ({"namespaces": ["ns", "other"]}, set()),
            ({"namespaceSelector": {}}, set()),
            ({"namespaceSelector": {"matchLabels": {"team": "t"}}}, {"a"}),
            ({"namespaceSelector": {"matchLabels": {"team": "t"}}, "namespaces": ["ns"]}, set()),
            (
                {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "other"}}},
                {"a"},
            ),
        ],
    )
    def test_namespaces_of_a_term(self, rest, fitting):
        kube = Kube(
            node("a"),
            node("b"),
            thing("Namespace", "other", metadata={"labels": {"team": "t"}}),
            pod("r", {"app": "x"}, on="a"),
            pod("s", {"app": "x"}, on="b", namespace="other"),
            pod("p", affinity=apart(term("x", **rest))),
        )
        assert kube.fitting("p") == fitting

    def test_labels_that_the_pod_shares(self):
        wanted = apart(term("x", matchLabelKeys=["rev"]))
        kube = Kube(
            node("a"),
            node("b"),
            pod("r", {"app": "x", "rev": "1"}, on="a"),
            pod("s", {"app": "x", "rev": "2"}, on="b"),
            pod("p", {"rev": "1"}, affinity=wanted),
            pod("q", {"rev": "2"}, affinity=wanted),
        )
        assert kube.fitting("p") == {"b"}
        assert kube.fitting("q") == {"a"}


class TestSimulation:
    def simulate(self, kube, removed=(), added=()):
        """What the filter says of node a for task p after some pods went and came back."""
        state, task = {}, kube.task("p")
        handle = kube.session.nodes.handle(kube.row("a"))
        ask = kube.session.ask
        for name in removed:
            assert ask.simulate_remove_task(state, task, kube.task(name), handle) is None
        for name in added:
            assert ask.simulate_add_task(state, task, kube.task(name), handle) is None
        error = ask.simulate_predicate(state, task, handle)
        return None if error is None else error.reasons[0]

    @pytest.mark.parametrize("prepared", [False, True])
    def test_removing_the_conflicting_pod_makes_the_node_fit(self, prepared):
        kube = Kube(
            node("a"),
            pod("r", {"app": "x"}, on="a"),
            pod("s", on="a"),
            pod("p", affinity=apart(term("x"))),
        )
        if prepared:
            assert kube.session.queries.prepare(kube.task("p")) is None
        assert self.simulate(kube) == NOT_APART
        assert self.simulate(kube, ["s"]) == NOT_APART
        assert self.simulate(kube, ["r"]) is None
        assert self.simulate(kube, ["r", "s"], ["r"]) == NOT_APART
        assert kube.verdicts("p")["a"] == (Code.UNSCHEDULABLE, (NOT_APART,))

    def test_removing_a_pod_with_anti_affinity_to_the_task_makes_the_node_fit(self):
        kube = Kube(node("a"), pod("r", on="a", affinity=apart(term("x"))), pod("p", {"app": "x"}))
        assert self.simulate(kube) == UNWANTED
        assert self.simulate(kube, ["r"]) is None

    def test_evicted_pods_do_not_count(self):
        kube = Kube(
            node("a", {ZONE: "z"}),
            node("b", {ZONE: "z"}),
            pod("r", {"app": "x"}, on="a"),
            pod("p", affinity=near(term("x", ZONE))),
        )
        assert self.simulate(kube) is None
        assert self.simulate(kube, ["r"]) == NOT_NEAR

    def test_the_table_shows_the_change_while_the_counts_are_first_made(self):
        kube = Kube(node("a"), pod("r", {"app": "x"}, on="a"), pod("p", affinity=apart(term("x"))))
        nodes, victim = kube.session.nodes, kube.task("r")
        status = nodes.remove(0, victim)
        assert self.simulate(kube, ["r"]) is None
        nodes.add(0, victim, status)
        assert kube.fitting("p") == set()

    def test_plain_tasks_have_nothing_to_simulate(self):
        kube = Kube(node("a", unschedulable=True), pod("r", on="a"), pod("p"))
        assert self.simulate(kube, ["r"]) is None


class TestPromised:
    """What a pipelined pod has to run beside is protected."""

    def kube(self, *pods, **labels):
        return Kube(*zones(), *pods, pod("p", labels, affinity=near(term("x", ZONE))))

    def reason(self, kube, name, *victims):
        context = EvictionContext(EvictionKind.TASK_PREEMPT, None, victims=tuple(victims))
        return kube.session.ask.protected(kube.task(name), context)

    def test_the_only_one_is(self):
        kube = self.kube(
            pod("r", {"app": "x"}, on="a1"),
            pod("s", {"app": "y"}, on="a1"),
            pod("t", {"app": "x"}, on="b1"),
        )
        assert self.reason(kube, "r") is None
        kube.place("p", "a2", pipeline=True)
        assert self.reason(kube, "r").endswith(
            "p, which was promised node a2, has to run beside it"
        )
        assert self.reason(kube, "s") is None
        assert self.reason(kube, "t") is None

    def test_a_bound_pod_needs_it_no_more(self):
        kube = self.kube(pod("r", {"app": "x"}, on="a1"))
        kube.place("p", "a2")
        assert self.reason(kube, "r") is None

    def test_of_two_one_may_go(self):
        kube = self.kube(pod("r", {"app": "x"}, on="a1"), pod("s", {"app": "x"}, on="a2"))
        kube.place("p", "a2", pipeline=True)
        assert self.reason(kube, "r") is None
        kube.evict("r")
        assert self.reason(kube, "r", kube.task("r")) is None
        kube.evict("s")
        assert self.reason(kube, "s", kube.task("r"), kube.task("s"))

    def test_the_first_of_a_series_needs_none(self):
        kube = self.kube(pod("r", {"app": "x"}, on="b1"), app="x")
        kube.evict("r")
        kube.place("p", "a2", pipeline=True)
        assert self.reason(kube, "r", kube.task("r")) is None


def test_classes_differ_only_by_labels_that_matter():
    kube = Kube(
        node("a"),
        pod("r", on="a", affinity=apart(term("x"))),
        pod("p", {"app": "x", "index": "0"}),
        pod("q", {"app": "x", "index": "1"}),
        pod("other", {"app": "y"}),
    )
    ids = {name: kube.session.queries.class_id(kube.task(name)) for name in ("p", "q", "other")}
    assert ids["p"] == ids["q"] != ids["other"]
