"""Filters that look at one node: room for pods, labels, taints, host ports."""

import pytest

from pumice.model.nodes import NodeHandle
from pumice.verdicts import Code
from tests.plugins._kube import REQUIRED, Kube, node, pod

FULL = "node(s) pod number exceeded"
CLOSED = "node(s) were unschedulable"
MISMATCH = "node(s) didn't match Pod's node affinity/selector"
OCCUPIED = "node(s) didn't have free ports for the requested pod ports"
UNRESOLVABLE, UNSCHEDULABLE = Code.UNRESOLVABLE, Code.UNSCHEDULABLE


def ports(*listed, ip=""):
    return {
        "ports": [
            {"containerPort": p, "hostPort": p, **({"hostIP": ip} if ip else {})} for p in listed
        ]
    }


def required(*terms):
    return {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": list(terms)}}}


def expressions(*listed):
    keys = ("key", "operator", "values")
    return {"matchExpressions": [dict(zip(keys, each, strict=False)) for each in listed]}


class TestPodCount:
    def test_a_full_node_takes_no_more(self):
        kube = Kube(
            node("a", pods=1), node("b", pods=2), pod("r1", on="a"), pod("r2", on="b"), pod("p")
        )
        assert kube.verdicts("p") == {"a": (UNSCHEDULABLE, (FULL,)), "b": None}

    def test_a_terminating_pod_counts_and_an_evicted_one_does_not(self):
        kube = Kube(node("a", pods=1), pod("r", on="a", deleted=True), pod("p"))
        assert kube.fitting("p") == set()
        kube = Kube(node("a", pods=1), pod("r", on="a"), pod("p"))
        statement = kube.evict("r")
        assert kube.fitting("p") == {"a"}
        statement.discard()
        assert kube.fitting("p") == set()

    @pytest.mark.parametrize("pipeline", [False, True])
    def test_a_placed_or_pipelined_pod_counts(self, pipeline):
        kube = Kube(node("a", pods=1), pod("p"), pod("q"))
        statement = kube.place("q", "a", pipeline=pipeline)
        assert kube.fitting("p") == set()
        statement.discard()
        assert kube.fitting("p") == {"a"}


class TestNodeAffinity:
    @pytest.mark.parametrize(
        "expression, fitting",
        [
            (("disk", "In", ["ssd", "nvme"]), "ab"),
            (("disk", "NotIn", ["ssd"]), "bd"),
            (("disk", "Exists"), "abc"),
            (("disk", "DoesNotExist"), "d"),
            (("size", "Gt", ["10"]), "b"),
            (("size", "Lt", ["11"]), "a"),
            (("disk", "Near", ["ssd"]), ""),
        ],
    )
    def test_expressions(self, expression, fitting):
        kube = Kube(
            node("a", {"disk": "ssd", "size": "10"}),
            node("b", {"disk": "nvme", "size": "11"}),
            node("c", {"disk": "ssd" if expression[1] == "NotIn" else "tape", "size": "big"}),
            node("d"),
            pod("p", affinity=required(expressions(expression))),
        )
        assert kube.fitting("p") == set(fitting)
        assert all(v in (None, (UNRESOLVABLE, (MISMATCH,))) for v in kube.verdicts("p").values())

    def test_terms_are_alternatives_and_expressions_all_hold(self):
        both = expressions(("x", "Exists"), ("y", "Exists"))
        kube = Kube(
            node("a", {"x": "", "y": ""}),
            node("b", {"x": ""}),
            node("c", {"z": ""}),
            pod("p", affinity=required(both, expressions(("z", "Exists")))),
            pod("nothing", affinity=required()),
            pod("empty", affinity=required({})),
        )
        assert kube.fitting("p") == {"a", "c"}
        assert kube.fitting("nothing") == set()
        assert kube.fitting("empty") == set()

    def test_the_name_is_a_field(self):
        def named(operator):
            return {
                "matchFields": [{"key": "metadata.name", "operator": operator, "values": ["a"]}]
            }

        kube = Kube(
            node("a"),
            node("b"),
            pod("p", affinity=required(named("In"))),
            pod("q", affinity=required(named("NotIn"))),
        )
        assert kube.fitting("p") == {"a"}
        assert kube.fitting("q") == {"b"}

    def test_selector_and_affinity_must_both_match(self):
        kube = Kube(
            node("a", {"x": "1"}),
            node("b", {"x": "1", "y": "1"}),
            pod("p", nodeSelector={"x": "1"}, affinity=required(expressions(("y", "Exists")))),
        )
        assert kube.fitting("p") == {"b"}


class TestTaints:
    @pytest.mark.parametrize(
        "toleration, tolerated",
        [
            ({"key": "k", "value": "v"}, True),
            ({"key": "k", "value": "w"}, False),
            ({"key": "k", "operator": "Exists"}, True),
            ({"operator": "Exists"}, True),
            ({"key": "other", "operator": "Exists"}, False),
            ({"key": "k", "value": "v", "effect": "NoExecute"}, False),
            ({"key": "k", "value": "v", "effect": "NoSchedule"}, True),
        ],
    )
    def test_tolerations(self, toleration, tolerated):
        taint = {"key": "k", "value": "v", "effect": "NoSchedule"}
        kube = Kube(node("a", taints=[taint]), pod("p", tolerations=[toleration]))
        reason = (UNRESOLVABLE, ("node(s) had untolerated taint {k: v}",))
        assert kube.verdicts("p")["a"] == (None if tolerated else reason)

    def test_the_first_untolerated_taint_is_reported_and_prefer_no_schedule_is_none(self):
        taints = [
            {"key": "soft", "effect": "PreferNoSchedule"},
            {"key": "k", "effect": "NoExecute"},
            {"key": "l", "effect": "NoSchedule"},
        ]
        kube = Kube(node("a", taints=taints), node("b", taints=taints[:1]), pod("p"))
        assert kube.reason("p", "a") == "node(s) had untolerated taint {k: }"
        assert kube.verdicts("p")["b"] is None

    def test_closed_nodes(self):
        key = "node.kubernetes.io/unschedulable"
        kube = Kube(
            node("a", unschedulable=True),
            pod("p"),
            pod("q", tolerations=[{"key": key, "operator": "Exists", "effect": "NoSchedule"}]),
        )
        assert kube.verdicts("p")["a"] == (UNRESOLVABLE, (CLOSED,))
        assert kube.fitting("q") == {"a"}


class TestHostPorts:
    def test_a_port_in_use(self):
        kube = Kube(
            node("a"),
            node("b"),
            pod("r", on="a", container=ports(80)),
            pod("p", container=ports(80)),
            pod("q", container=ports(81)),
        )
        assert kube.verdicts("p") == {"a": (UNSCHEDULABLE, (OCCUPIED,)), "b": None}
        assert kube.fitting("q") == {"a", "b"}

    @pytest.mark.parametrize(
        "mine, theirs, fits",
        [
            ("10.0.0.1", "10.0.0.2", True),
            ("10.0.0.1", "10.0.0.1", False),
            ("", "10.0.0.1", False),
            ("10.0.0.1", "", False),
        ],
    )
    def test_addresses(self, mine, theirs, fits):
        kube = Kube(
            node("a"),
            pod("r", on="a", container=ports(80, ip=theirs)),
            pod("p", container=ports(80, ip=mine)),
        )
        assert bool(kube.fitting("p")) is fits

    def test_an_eviction_frees_the_port_and_undoing_it_takes_it_back(self):
        kube = Kube(node("a"), pod("r", on="a", container=ports(80)), pod("p", container=ports(80)))
        statement = kube.evict("r")
        assert kube.fitting("p") == {"a"}
        placed = kube.place("p", "a", pipeline=True)
        assert kube.fitting("p") == set()
        placed.discard()
        statement.discard()
        assert kube.fitting("p") == set()


def test_resolvable_reasons_are_collected_and_an_unresolvable_one_ends_the_filters():
    kube = Kube(
        node("a", pods=1),
        node("b", pods=1, unschedulable=True),
        pod("ra", on="a", container=ports(80)),
        pod("rb", on="b", container=ports(80)),
        pod("p", container=ports(80)),
    )
    assert kube.verdicts("p") == {
        "a": (UNSCHEDULABLE, (FULL, OCCUPIED)),
        "b": (UNRESOLVABLE, (FULL, CLOSED)),
    }


@pytest.mark.parametrize(
    "option",
    [
        "predicate.NodeAffinityEnable",
        "predicate.TaintTolerationEnable",
        "predicate.NodePortsEnable",
    ],
)
def test_a_filter_can_be_switched_off(option):
    kube = Kube(
        node("label"),
        node("taint", {"x": "1"}, taints=[{"key": "k", "effect": "NoSchedule"}]),
        node("port", {"x": "1"}),
        pod("r", on="port", container=ports(80)),
        pod("p", nodeSelector={"x": "1"}, container=ports(80)),
        options={option: "false"},
    )
    switched_off = {"NodeAffinity": "label", "TaintToleration": "taint", "NodePorts": "port"}
    name = option.removeprefix("predicate.").removesuffix("Enable")
    assert kube.fitting("p") == {switched_off[name]}


def test_the_form_for_one_node_says_the_same():
    kube = Kube(
        node("a", pods=1),
        node("b", unschedulable=True),
        node("c"),
        pod("r", on="a", container=ports(80)),
        pod("p", container=ports(80)),
    )
    task, table = kube.task("p"), kube.session.nodes
    kube.verdicts("p")
    for name, expected in kube.verdicts("p").items():
        error = kube.plugin.predicate(task, NodeHandle(table, kube.row(name)), task.job)
        assert (None if error is None else (error.code, error.reasons)) == expected


def test_plain_tasks_are_asked_of_changed_nodes_only():
    kube = Kube(node("a"), pod("p"), pod("q", container=ports(80)))
    assert kube.plugin._scope(kube.task("p")) == "row"
    assert kube.plugin._scope(kube.task("q")) == "row"
