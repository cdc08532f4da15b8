"""Topology spread constraints that must be satisfied."""

import pytest

from pumice.verdicts import Code
from tests.plugins._kube import HOST, REQUIRED, ZONE, Kube, node, pod

SKEWED = "node(s) didn't match pod topology spread constraints"
UNLABELLED = f"{SKEWED} (missing required label)"


def spread(skew=1, key=ZONE, app="x", **rest):
    return {
        "maxSkew": skew,
        "topologyKey": key,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": app}},
        **rest,
    }


def running(**counts):
    """So many pods of app x on each node."""
    return [
        pod(f"{name}-{i}", {"app": "x"}, on=name)
        for name, count in counts.items()
        for i in range(count)
    ]


def zones():
    return [node("a1", {ZONE: "a"}), node("a2", {ZONE: "a"}), node("b1", {ZONE: "b"})]


def test_no_domain_gets_too_far_ahead():
    kube = Kube(
        *zones(),
        node("none"),
        *running(a1=1, a2=1, b1=1),
        pod("p", {"app": "x"}, topologySpreadConstraints=[spread()]),
        pod("q", {"app": "x"}, topologySpreadConstraints=[spread(2)]),
    )
    # zone a has 2, b has 1: one more in a would be 2 ahead
    assert kube.verdicts("p") == {
        "a1": (Code.UNSCHEDULABLE, (SKEWED,)),
        "a2": (Code.UNSCHEDULABLE, (SKEWED,)),
        "b1": None,
        "none": (Code.UNRESOLVABLE, (UNLABELLED,)),
    }
    assert kube.fitting("q") == {"a1", "a2", "b1"}


def test_a_pod_that_the_selector_does_not_match_adds_nothing_itself():
    kube = Kube(
        *zones(),
        *running(a1=1),
        pod("p", {"app": "y"}, topologySpreadConstraints=[spread()]),
        pod("q", {"app": "x"}, topologySpreadConstraints=[spread()]),
    )
    assert kube.fitting("p") == {"a1", "a2", "b1"}
    assert kube.fitting("q") == {"b1"}


def test_gang_members_see_each_other_and_undo_restores():
    constraint = [spread()]
    kube = Kube(
        *zones(),
        pod("p", {"app": "x"}, topologySpreadConstraints=constraint),
        pod("q", {"app": "x"}, topologySpreadConstraints=constraint),
    )
    assert kube.fitting("q") == {"a1", "a2", "b1"}
    statement = kube.place("p", "a2")
    assert kube.fitting("q") == {"b1"}
    statement.discard()
    assert kube.fitting("q") == {"a1", "a2", "b1"}


def test_pods_that_leave_do_not_count_nor_those_of_others():
    kube = Kube(
        *zones(),
        pod("leaving", {"app": "x"}, on="a1", deleted=True),
        pod("foreign", {"app": "x"}, on="a1", namespace="other"),
        pod("p", {"app": "x"}, topologySpreadConstraints=[spread()]),
    )
    assert kube.fitting("p") == {"a1", "a2", "b1"}


def test_an_eviction_counts_only_for_tasks_prepared_afterwards():
    kube = Kube(
        *zones(), *running(a1=1), pod("p", {"app": "x"}, topologySpreadConstraints=[spread()])
    )
    task, queries = kube.task("p"), kube.session.queries
    assert queries.prepare(task) is None
    statement = kube.evict("a1-0")
    assert queries.predicate(task, kube.row("a1")) is not None
    assert kube.fitting("p") == {"a1", "a2", "b1"}
    statement.discard()
    assert kube.fitting("p") == {"b1"}


def test_too_few_domains_count_as_an_empty_one():
    kube = Kube(
        *zones(),
        *running(a1=1, b1=1),
        pod("p", {"app": "x"}, topologySpreadConstraints=[spread(minDomains=2)]),
        pod("q", {"app": "x"}, topologySpreadConstraints=[spread(minDomains=3)]),
    )
    assert kube.fitting("p") == {"a1", "a2", "b1"}
    assert kube.fitting("q") == set()


@pytest.mark.parametrize(
    "policy, fitting", [({}, {"a1", "a2"}), ({"nodeAffinityPolicy": "Ignore"}, set())]
)
def test_nodes_that_the_pod_cannot_use_are_left_out_unless_the_policy_says_otherwise(
    policy, fitting
):
    terms = [{"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["a"]}]}]
    kube = Kube(
        *zones(),
        *running(a1=1),
        pod(
            "p",
            {"app": "x"},
            affinity={"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": terms}}},
            topologySpreadConstraints=[spread(**policy)],
        ),
    )
    # without zone b the fewest are those of zone a itself
    assert kube.fitting("p") == fitting


@pytest.mark.parametrize(
    "policy, fitting", [({}, set()), ({"nodeTaintsPolicy": "Honor"}, {"a1", "a2"})]
)
def test_tainted_nodes_count_unless_the_policy_says_otherwise(policy, fitting):
    kube = Kube(
        *zones()[:2],
        node("b1", {ZONE: "b"}, taints=[{"key": "k", "effect": "NoSchedule"}]),
        *running(a1=1),
        pod("p", {"app": "x"}, topologySpreadConstraints=[spread(**policy)]),
    )
    assert kube.fitting("p") == fitting


def test_all_constraints_hold_and_only_nodes_with_all_labels_count():
    kube = Kube(
        *zones(),
        *running(a1=1),
        pod("p", {"app": "x"}, topologySpreadConstraints=[spread(2), spread(1, HOST)]),
    )
    assert kube.fitting("p") == {"a2", "b1"}


def test_same_revision_only():
    constraint = [spread(matchLabelKeys=["rev"])]
    kube = Kube(
        *zones(),
        pod("r", {"app": "x", "rev": "1"}, on="a1"),
        pod("p", {"app": "x", "rev": "1"}, topologySpreadConstraints=constraint),
        pod("q", {"app": "x", "rev": "2"}, topologySpreadConstraints=constraint),
    )
    assert kube.fitting("p") == {"b1"}
    assert kube.fitting("q") == {"a1", "a2", "b1"}


def test_schedule_anyway_does_not_filter_and_the_filter_can_be_switched_off():
    soft = [spread(whenUnsatisfiable="ScheduleAnyway")]
    objects = [*zones(), *running(a1=1), pod("p", {"app": "x"}, topologySpreadConstraints=soft)]
    assert Kube(*objects).fitting("p") == {"a1", "a2", "b1"}
    hard = pod("p", {"app": "x"}, topologySpreadConstraints=[spread()])
    off = {"predicate.PodTopologySpreadEnable": "false"}
    assert Kube(*objects[:-1], hard, options=off).fitting("p") == {"a1", "a2", "b1"}
