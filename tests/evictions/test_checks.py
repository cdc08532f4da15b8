"""The checks notice what they are for, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from pumice.decisions import Bind, Decisions, Eviction, PipelinedTask
from tests.evictions.cluster import Cluster
from tests.evictions.cycle import Cycle
from tests.evictions.evicting import check_evicting
from tests.evictions.generator import draw
from tests.evictions.kinds import Rules
from tests.evictions.objects import CPU, GPU, MEMORY, PODS, Queue
from tests.evictions.placing import check_placing
from tests.evictions.reduce import reduce
from tests.evictions.shares import fair_shares, proportion

NOW = 1_800_000_000.0


def node(name: str = "n", cpu: str = "4", **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {"kubernetes.io/hostname": name, "nvidia.com/gpu.memory": "16000"},
        },
        "spec": spec,
        "status": {"allocatable": {"cpu": cpu, "memory": "64Gi", "pods": "9", GPU: "2"}},
    }


def queue(name: str, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {"name": name},
        "spec": spec,
    }


def gang(
    name: str, count: int, queue: str = "q", least: int = 1, on: str = "", **pod: Any
) -> list[dict[str, Any]]:
    """A gang of pods that ask for a CPU each; ``on`` is the node where they run."""
    group = {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": pod.get("namespace", "a")},
        "spec": {"queue": queue, "minMember": least},
    }
    requests = {"cpu": pod.get("cpu", "1")}
    pods = [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": f"{name}-{number}",
                "namespace": pod.get("namespace", "a"),
                "labels": pod.get("labels", {}),
                "annotations": {
                    "scheduling.k8s.io/group-name": name,
                    **pod.get("annotations", {}),
                },
            },
            "spec": {
                "containers": [{"resources": {"requests": requests}, **pod.get("container", {})}],
                **pod.get("spec", {}),
                **({"nodeName": on} if on else {}),
            },
        }
        for number in range(count)
    ]
    return [group, *pods]


def check(items: list[Any], **decided: Any) -> list[str]:
    """The kinds of violations of one cycle."""
    cycle = Cycle(Cluster(items), Decisions(**decided), 1, NOW, Rules())
    check_placing(cycle)
    check_evicting(cycle)
    return [violation.kind for violation in cycle.violations]


def bind(pod: str, node: str = "n", *groups: str) -> Bind:
    return Bind(f"a/{pod}", "", node, gpu_groups=groups)


def evict(pod: str, claimant: str, namespace: str = "a") -> Eviction:
    return Eviction(f"{namespace}/{pod}", "", "n", "reclaim", f"a/{claimant}", "")


def promise(pod: str, node: str = "n") -> PipelinedTask:
    return PipelinedTask(f"a/{pod}", "", node, True)


PORT = {"container": {"ports": [{"hostPort": 80}]}}
REPELS = {
    "spec": {
        "affinity": {
            "podAntiAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": [
                    {
                        "labelSelector": {"matchLabels": {"app": "x"}},
                        "topologyKey": "kubernetes.io/hostname",
                    }
                ]
            }
        }
    }
}


class TestBinds:
    def test_what_fits_is_fine(self):
        items = [node(), queue("q"), *gang("j", 4, least=4)]
        assert not check(items, binds=[bind(f"j-{n}") for n in range(4)])

    def test_node_over_capacity(self):
        items = [node(), queue("q"), *gang("j", 5)]
        assert check(items, binds=[bind(f"j-{n}") for n in range(5)]) == ["node-capacity"]

    @pytest.mark.parametrize("decided", [{"binds": [bind("j-0")]}, {"pipelined": [promise("j-0")]}])
    def test_of_a_closed_queue(self, decided):
        closed = queue("q") | {"status": {"state": "Closed"}}
        assert check([node(), closed, *gang("j", 1)], **decided) == ["closed-queue"]

    def test_a_shared_gpu_over_capacity(self):
        half = {"annotations": {"gpu-fraction": "0.6"}}
        items = [node(), queue("q"), *gang("j", 2, **half)]
        assert not check(items, binds=[bind("j-0", "n", "g1"), bind("j-1", "n", "g2")])
        both = [bind("j-0", "n", "g1"), bind("j-1", "n", "g1")]
        assert check(items, binds=both) == ["node-capacity"]

    @pytest.mark.parametrize("spec", [{"unschedulable": True}, {"taints": [{"key": "k"}]}])
    def test_static_filters(self, spec):
        for taint in spec.get("taints", ()):
            taint["effect"] = "NoSchedule"
        items = [node(**spec), queue("q"), *gang("j", 1)]
        assert check(items, binds=[bind("j-0")]) == ["filter"]

    def test_host_ports(self):
        items = [node(), queue("q"), *gang("j", 1, **PORT), *gang("k", 1, on="n", **PORT)]
        assert check(items, binds=[bind("j-0")]) == ["filter"]

    def test_anti_affinity_counts_in_both_directions(self):
        repelled = [node(), queue("q"), *gang("j", 1, **REPELS)]
        assert not check(repelled, binds=[bind("j-0")])
        other = gang("k", 1, on="n", labels={"app": "x"})
        assert check([*repelled, *other], binds=[bind("j-0")]) == ["filter"]
        items = [node(), queue("q"), *gang("j", 1, on="n", **REPELS)]
        newcomer = gang("k", 1, labels={"app": "x"})
        assert check([*items, *newcomer], binds=[bind("k-0")]) == ["filter"]

    def test_gang_below_its_minimum(self):
        items = [node(), queue("q"), *gang("j", 3, least=3)]
        assert check(items, binds=[bind("j-0"), bind("j-1")]) == ["gang-bound"]

    def test_queue_over_its_limit(self):
        items = [node(), queue("q", capability={"cpu": "1"}), *gang("j", 2)]
        assert check(items, binds=[bind("j-0"), bind("j-1")]) == ["queue-limit"]

    def test_limit_of_a_parent(self):
        queues = [queue("p", capability={"cpu": "1"}), queue("q", parent="p")]
        items = [node(), *queues, *gang("j", 2)]
        assert check(items, binds=[bind("j-0"), bind("j-1")]) == ["queue-limit"]


def two_queues(victims: int = 4, **victim: Any) -> list[dict[str, Any]]:
    """A node that the gang ``v`` of queue r fills, and a waiting gang ``j`` of queue q."""
    least = victim.pop("least", 1)
    return [
        node(),
        queue("q"),
        queue("r"),
        *gang("v", victims, "r", least, on="n", **victim),
        *gang("j", 2, "q"),
    ]


class TestEvictions:
    def test_a_reclaim_as_it_should_be(self):
        decided = {"evictions": [evict("v-0", "j")], "pipelined": [promise("j-0")]}
        assert not check(two_queues(), **decided)

    @pytest.mark.parametrize(
        "pod",
        [
            {"namespace": "kube-system"},
            {"spec": {"priorityClassName": "system-node-critical"}},
            {"annotations": {"volcano.sh/preemptable": "false"}},
        ],
    )
    def test_protected(self, pod):
        gone = evict("v-0", "j", pod.get("namespace", "a"))
        decided = {"evictions": [gone], "pipelined": [promise("j-0")]}
        assert check(two_queues(**pod), **decided) == ["protected"]

    def test_disruption_budget(self):
        budget = {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": "b", "namespace": "a"},
            "spec": {"selector": {"matchLabels": {"app": "x"}}},
            "status": {"disruptionsAllowed": 1},
        }
        items = [*two_queues(labels={"app": "x"}), budget]
        one = {"evictions": [evict("v-0", "j")], "pipelined": [promise("j-0")]}
        assert not check(items, **one)
        two = {
            "evictions": [evict("v-0", "j"), evict("v-1", "j")],
            "pipelined": [promise("j-0"), promise("j-1")],
        }
        assert check(items, **two) == ["budget"]

    def test_gang_left_below_its_minimum(self):
        decided = {"evictions": [evict("v-0", "j")], "pipelined": [promise("j-0")]}
        assert "gang-broken" in check(two_queues(least=4), **decided)
        assert "gang-broken" not in check(two_queues(least=3), **decided)

    def test_a_claimant_that_is_not_placed(self):
        assert "no-plan" in check(two_queues(), evictions=[evict("v-0", "j")])

    def test_a_victim_that_could_be_spared(self):
        decided = {
            "evictions": [evict("v-0", "j"), evict("v-1", "j")],
            "pipelined": [promise("j-0")],
        }
        assert check(two_queues(), **decided) == ["spareable", "spareable"]

    def test_a_whole_gang_that_could_stay_in_part(self):
        decided = {
            "evictions": [evict(f"v-{n}", "j") for n in range(4)],
            "pipelined": [promise("j-0")],
        }
        assert check(two_queues(least=2), **decided).count("spareable") == 1
        assert "spareable" not in check(two_queues(least=4), **decided)

    def test_an_eviction_beside_idle_room(self):
        items = [*two_queues(), node("m")]
        decided = {"evictions": [evict("v-0", "j")], "pipelined": [promise("j-0")]}
        assert "needless" in check(items, **decided)

    def test_reclaim_within_the_share(self):
        items = two_queues(victims=2)
        decided = {"evictions": [evict("v-0", "j")], "pipelined": [promise("j-0")]}
        assert "within-share" in check([*items, *gang("w", 2, on="n")], **decided)

    def test_the_last_victim_may_cut_into_the_share(self):
        decided = {
            "evictions": [evict(f"v-{n}", "j") for n in (0, 1)],
            "pipelined": [promise("j-0"), promise("j-1")],
        }
        assert not check(two_queues(), **decided)
        decided["evictions"].append(evict("v-2", "j"))
        assert "within-share" in check(two_queues(), **decided)

    def test_promise_that_cannot_come_true(self):
        items = [node(), queue("q"), *gang("j", 1, **PORT), *gang("k", 1, on="n", **PORT)]
        assert check(items, pipelined=[promise("j-0")]) == ["promise"]
        decided = {"evictions": [evict("k-0", "j")], "pipelined": [promise("j-0")]}
        assert not check(items, **decided)

    def test_promise_beyond_the_limit(self):
        items = [node(), queue("q", capability={"cpu": "1"}), *gang("j", 2)]
        decided = {"pipelined": [promise("j-0"), promise("j-1")]}
        assert check(items, **decided) == ["promise-limit"]

    def test_bound_and_evicted(self):
        items = [node(), queue("q"), *gang("j", 1), *gang("k", 1)]
        decided = {"binds": [bind("j-0")], "evictions": [evict("j-0", "k")]}
        assert "bound-and-evicted" in check(items, **decided)


class TestShares:
    def test_volcano_fills_by_weight_within_request_and_limit(self):
        queues = [
            Queue("a", "volcano", weight=1),
            Queue("b", "volcano", weight=1, limit={CPU: 2000}),
            Queue("c", "volcano", weight=2),
        ]
        asked = {name: {CPU: value} for name, value in {"a": 9000, "b": 9000, "c": 3000}.items()}
        total = {CPU: 10_000, MEMORY: 0, PODS: 9}
        found = proportion(queues, total, asked, queues)
        assert {name: round(value[CPU]) for name, value in found.items()} == {
            "a": 5000,
            "b": 2000,
            "c": 3000,
        }

    def test_kai_gives_quotas_then_weights(self):
        def kai(name: str, quota: float, weight: float, **more: Any) -> Queue:
            found = Queue(name, "kai", quota={GPU: quota}, over_quota_weight={GPU: weight}, **more)
            found.limit = {}
            return found

        queues = [kai("a", 1, 1), kai("b", 2, 3), kai("c", 0, 0)]
        asked = {name: {GPU: 9.0} for name in "abc"}
        assert fair_shares(GPU, 11, queues, asked) == {"a": 3, "b": 8, "c": 0}
        asked["b"] = {GPU: 4.0}
        assert fair_shares(GPU, 11, queues, asked) == {"a": 7, "b": 4, "c": 0}
        first = [kai("a", 0, 1, priority=2), kai("b", 0, 9, priority=1)]
        assert fair_shares(GPU, 3, first, {n: {GPU: 9.0} for n in "ab"}) == {"a": 3, "b": 0}


class TestGenerator:
    @pytest.mark.parametrize("family", ["volcano", "kai"])
    def test_the_same_seed_gives_the_same_cluster(self, family):
        assert draw(7, family) == draw(7, family) != draw(8, family)

    @pytest.mark.parametrize("family", ["volcano", "kai"])
    def test_what_runs_at_the_start_breaks_nothing(self, family):
        for seed in range(20):
            items = draw(seed, family)
            cluster = Cluster(items)
            binds = [
                Bind(pod.key, "", pod.node, gpu_groups=pod.gpu_groups)
                for pod in cluster.pods.values()
                if pod.node
            ]
            for pod in list(cluster.pods.values()):
                cluster.take(pod)
            cycle = Cycle(cluster, Decisions(binds=binds), 1, NOW, Rules())
            check_placing(cycle)
            # A queue is closed after its pods have started.
            wrong = [one for one in cycle.violations if one.kind != "closed-queue"]
            assert not wrong, seed


def test_a_reduced_cluster_has_only_what_the_violation_needs():
    items = [*two_queues(), node("m"), queue("s", weight=3), *gang("k", 2, "s")]

    def violates(smaller: list[Any]) -> bool:
        decided = {"evictions": [evict("v-0", "j")], "pipelined": [promise("j-0")]}
        return "needless" in check(smaller, **decided)

    kinds = [item["kind"] for item in reduce(items, violates)]
    assert sorted(kinds) == ["Node", "Pod", "Pod", "PodGroup", "PodGroup"]
