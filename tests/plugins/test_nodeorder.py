"""The scores, one by one, with numbers worked out by hand."""

import pytest

from tests.plugins._kube import HOST, PREFERRED, REQUIRED, ZONE, Kube, node, pod

OFF = dict.fromkeys(
    [
        "leastrequested.weight",
        "mostrequested.weight",
        "balancedresource.weight",
        "nodeaffinity.weight",
        "podaffinity.weight",
        "tainttoleration.weight",
        "imagelocality.weight",
        "podtopologyspread.weight",
    ],
    0,
)


def scored(part, *objects, weight=1, name="p", nodes=(), **rest):
    """The scores of the nodes by one part alone."""
    kube = Kube(*objects, plugin="nodeorder", options={**OFF, f"{part}.weight": weight}, **rest)
    return kube.scores(name, *nodes)


def amounts(cpu=1, memory="2Gi", **rest):
    return {"requests": {"cpu": cpu, "memory": memory, **rest}}


class TestLeastAndMost:
    def test_the_part_that_stays_free_and_the_part_that_is_taken(self):
        objects = [
            node("a"),  # 4 cpu, 8Gi
            node("b", cpu=8, memory="16Gi"),
            pod("r", on="b", **amounts(6, "4Gi")),
            pod("p", **amounts()),
        ]
        # a: 75 and 75; b: 1 of 8 cpu is 12, 10 of 16Gi is 62: 37
        assert scored("leastrequested", *objects) == {"a": 75, "b": 37}
        # a: 25 and 25; b: 87 and 37: 62
        assert scored("mostrequested", *objects, weight=2) == {"a": 50, "b": 124}

    def test_containers_that_ask_for_nothing_count_with_defaults(self):
        objects = [node("a"), node("b"), pod("r", on="b"), pod("p")]
        # 3900 of 4000m is 97, 7992 of 8192Mi is 97; with r 3800 (95) and 7792 (95)
        assert scored("leastrequested", *objects) == {"a": 97, "b": 95}

    def test_each_container_has_its_default(self):
        both = [{"name": "c", "resources": amounts(1)}, {"name": "d"}]
        init = [
            {"name": "i", "resources": {"requests": {"cpu": "3", "memory": "1Gi"}}},
            {"name": "s", "restartPolicy": "Always"},
        ]
        objects = [
            node("a"),
            pod("p", containers=both),
            pod("q", containers=both, initContainers=init),
        ]
        # cpu 1100m: 72; memory 2Gi + 200Mi = 2248Mi: 72
        assert scored("leastrequested", *objects) == {"a": 72}
        # cpu: the init container's 3000m: 25; memory 2248 + 200Mi for the sidecar: 70
        assert scored("leastrequested", *objects, name="q") == {"a": 47}

    def test_overhead_counts_besides_the_defaults(self):
        objects = [node("a"), pod("p", overhead={"cpu": "900m", "memory": "824Mi"})]
        # 1000m: 75; 1024Mi: 87
        assert scored("leastrequested", *objects) == {"a": 81}

    def test_more_than_full(self):
        objects = [node("a", cpu="50m"), pod("p", **amounts(0, "2Gi"))]
        # cpu: 100m of 50m; memory 75 free
        assert scored("leastrequested", *objects) == {"a": 37}
        assert scored("mostrequested", *objects) == {"a": 62}

    def test_a_resource_that_a_node_lacks_is_left_out(self):
        objects = [node("a", cpu=0), node("b", cpu=0, memory=0), pod("p", **amounts(0, "2Gi"))]
        assert scored("leastrequested", *objects) == {"a": 75, "b": 0}
        assert scored("mostrequested", *objects) == {"a": 25, "b": 0}

    def test_pipelined_pods_count_and_evicted_pods_do_not(self):
        kube = Kube(
            node("a"),
            pod("r", on="a", **amounts()),
            pod("q", **amounts()),
            pod("p", **amounts()),
            plugin="nodeorder",
            options={**OFF, "leastrequested.weight": 1},
        )
        assert kube.scores("p") == {"a": 50}
        pipelined = kube.place("q", "a", pipeline=True)
        assert kube.scores("p") == {"a": 25}
        evicted = kube.evict("r")
        assert kube.scores("p") == {"a": 50}
        evicted.discard()
        pipelined.discard()
        assert kube.scores("p") == {"a": 50}


class TestBalanced:
    def test_the_change_of_balance_decides(self):
        objects = [
            node("even", cpu=2, memory="2Gi"),
            node("skewed", cpu=4, memory="2Gi"),
            node("healed", cpu=4, memory="4Gi"),
            pod("r", on="healed", **amounts("500m", "1Gi")),
            pod("p", **amounts(1, "1Gi")),
            pod("q", **amounts(1, "512Mi")),
        ]
        # even: 100 before and after; skewed: 1/4 and 1/2 deviate by 1/8: 87 after 100;
        # healed: 1/8 and 1/4 deviate by 1/16: 93 before; 3/8 and 1/2 the same after
        scores = {"even": 75, "skewed": 68, "healed": 75}
        assert scored("balancedresource", *objects) == scores
        # even: 1/2 and 1/4: 87; skewed: 1/4 and 1/4; healed: 3/8 and 3/8: 100 after 93
        scores = {"even": 68, "skewed": 75, "healed": 78}
        assert scored("balancedresource", *objects, name="q") == scores

    def test_gpus_count_for_tasks_that_request_them(self):
        objects = [
            node("a", gpu=4),
            node("b", gpu=8),
            node("c"),
            pod("p", **amounts(**{"nvidia.com/gpu": 1})),
            pod("q", **amounts(1, "4Gi")),
        ]
        # b: 1/4, 1/4, 1/8 deviate by 0.0589: 94
        assert scored("balancedresource", *objects) == {"a": 75, "b": 72, "c": 75}
        # 1/4 and 1/2 deviate by 1/8: 87
        assert set(scored("balancedresource", *objects, name="q").values()) == {68}

    def test_pods_that_ask_for_nothing_are_not_scored(self):
        assert scored("balancedresource", node("a"), pod("p")) == {"a": 0}

    def test_what_nodes_lack_is_left_out(self):
        objects = [node("a", cpu=0), node("b", cpu=0, gpu=4), pod("p", **amounts(1, "2Gi"))]
        assert scored("balancedresource", *objects) == {"a": 75, "b": 75}
        gpus = pod("p", **amounts(1, "4Gi", **{"nvidia.com/gpu": 1}))
        # b: memory 1/2, gpu 1/4: 87
        assert scored("balancedresource", *objects[:2], gpus) == {"a": 75, "b": 68}


class TestNodeAffinity:
    def prefer(self, **weights):
        preferred = [
            {
                "weight": weight,
                "preference": {"matchExpressions": [{"key": key, "operator": "Exists"}]},
            }
            for key, weight in weights.items()
        ]
        return {"nodeAffinity": {PREFERRED: preferred}}

    def test_the_best_of_the_nodes_asked_about_has_100(self):
        objects = [
            node("a", {"x": "", "y": ""}),
            node("b", {"x": ""}),
            node("c"),
            pod("p", affinity=self.prefer(x=20, y=40)),
        ]
        assert scored("nodeaffinity", *objects) == {"a": 100, "b": 33, "c": 0}
        assert scored("nodeaffinity", *objects, nodes="bc", weight=2) == {"b": 200, "c": 0}

    @pytest.mark.parametrize("key, score", [(HOST, 200), ("none", 0)])
    def test_a_preference_that_all_nodes_satisfy_alike_is_no_relative_score(self, key, score):
        kube = Kube(
            node("a"),
            node("b"),
            pod("p", affinity=self.prefer(**{key: 5})),
            plugin="nodeorder",
            options={**OFF, "nodeaffinity.weight": 2},
        )
        assert kube.scores("p") == {"a": score, "b": score}
        assert kube.plugin._scope(kube.task("p")) == "row"


class TestTaints:
    def test_the_fewer_the_better(self):
        soft = [{"key": k, "effect": "PreferNoSchedule"} for k in "xyz"]
        hard = {"key": "h", "effect": "NoSchedule"}
        objects = [
            node("a", taints=[*soft[:2], hard]),
            node("b", taints=soft[:1]),
            node("c", taints=[hard]),
            pod("p"),
            pod("q", tolerations=[{"key": "x", "operator": "Exists"}]),
            pod("r", tolerations=[{"operator": "Exists"}]),
        ]
        assert scored("tainttoleration", *objects) == {"a": 0, "b": 50, "c": 100}
        assert scored("tainttoleration", *objects, name="q") == {"a": 0, "b": 100, "c": 100}
        assert scored("tainttoleration", *objects, name="r", weight=3) == dict.fromkeys("abc", 300)
        assert scored("tainttoleration", *objects, nodes="ab") == {"a": 0, "b": 50}

    def test_taints_that_all_nodes_have(self):
        taints = [{"key": "x", "effect": "PreferNoSchedule"}]
        assert scored("tainttoleration", node("a", taints=taints), pod("p")) == {"a": 0}


class TestPodAffinity:
    def preferred(self, part, weight, app="x", key=HOST):
        selector = {"matchLabels": {"app": app}}
        term = {"topologyKey": key, "labelSelector": selector}
        return {part: {PREFERRED: [{"weight": weight, "podAffinityTerm": term}]}}

    def nodes(self):
        return [
            node("a", {ZONE: "z1"}),
            node("b", {ZONE: "z1"}),
            node("c", {ZONE: "z2"}),
            node("d"),
        ]

    def test_own_preferences(self):
        objects = [
            *self.nodes(),
            pod("r", {"app": "x"}, on="a"),
            pod("s", {"app": "x"}, on="b"),
            pod("t", {"app": "x"}, on="c"),
            pod("near", affinity=self.preferred("podAffinity", 10, key=ZONE)),
            pod("apart", affinity=self.preferred("podAntiAffinity", 10, key=ZONE)),
        ]
        # z1 has two, z2 one, d is in no zone
        near = {"a": 100, "b": 100, "c": 50, "d": 0}
        assert scored("podaffinity", *objects, name="near") == near
        apart = {"a": 0, "b": 0, "c": 50, "d": 100}
        assert scored("podaffinity", *objects, name="apart") == apart
        assert scored("podaffinity", *objects, name="near", nodes="cd") == {"c": 100, "d": 0}

    def test_preferences_of_existing_pods(self):
        objects = [
            *self.nodes(),
            pod("r", on="a", affinity=self.preferred("podAffinity", 30)),
            pod("s", on="c", affinity=self.preferred("podAntiAffinity", 10)),
            pod("p", {"app": "x"}),
            pod("q", {"app": "y"}),
        ]
        # 30, 0, -10, 0 over a span of 40
        assert scored("podaffinity", *objects) == {"a": 100, "b": 25, "c": 0, "d": 25}
        assert scored("podaffinity", *objects, name="q") == dict.fromkeys("abcd", 0)

    def test_required_affinity_of_others_does_not_score(self):
        term = {"topologyKey": HOST, "labelSelector": {"matchLabels": {"app": "x"}}}
        other = pod("r", on="a", affinity={"podAffinity": {REQUIRED: [term]}})
        assert set(
            scored("podaffinity", *self.nodes(), other, pod("p", {"app": "x"})).values()
        ) == {0}

    def test_members_of_a_gang_attract_each_other(self):
        affinity = self.preferred("podAffinity", 1)
        kube = Kube(
            *self.nodes(),
            pod("p", {"app": "x"}, affinity=affinity),
            pod("q", {"app": "x"}, affinity=affinity),
            plugin="nodeorder",
            options={**OFF, "podaffinity.weight": 2},
        )
        assert kube.scores("q") == dict.fromkeys("abcd", 0)
        statement = kube.place("p", "c")
        assert kube.scores("q") == {"a": 0, "b": 0, "c": 200, "d": 0}
        statement.discard()
        assert kube.scores("q") == dict.fromkeys("abcd", 0)


class TestImages:
    def test_size_and_how_common_it_is(self):
        def image(name, mebibytes):
            return {"names": [name], "sizeBytes": mebibytes * 2**20}

        objects = [
            node("a", images=[image("app:latest", 500), image("side:1", 2000)]),
            node("b", images=[image("app:latest", 500)]),
            node("c", images=[image("tiny:1", 20)]),
            node("d"),
            pod("p", container={"image": "app"}),
            pod("q", containers=[{"name": "c", "image": "app"}, {"name": "d", "image": "side:1"}]),
            pod("r", container={"image": "tiny:1"}),
            pod("s", container={"image": "host:5000/app"}),
        ]
        # half of the nodes have app: (250 - 23) of (1000 - 23)
        assert scored("imagelocality", *objects) == {"a": 23, "b": 23, "c": 0, "d": 0}
        # a: 250 + 500 of two containers' 2000: (750 - 23) of 1977
        scores = {"a": 36, "b": 11, "c": 0, "d": 0}
        assert scored("imagelocality", *objects, name="q") == scores
        assert set(scored("imagelocality", *objects, name="r").values()) == {0}
        assert set(scored("imagelocality", *objects, name="s").values()) == {0}


class TestSpread:
    def constraint(self, key=ZONE, skew=1):
        return {
            "maxSkew": skew,
            "topologyKey": key,
            "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": {"matchLabels": {"app": "x"}},
        }

    def cluster(self):
        return [
            node("a", {ZONE: "z1"}),
            node("b", {ZONE: "z2"}),
            node("c", {ZONE: "z3"}),
            node("d"),
            pod("r", {"app": "x"}, on="a"),
            pod("s", {"app": "x"}, on="a"),
            pod("t", {"app": "x"}, on="b"),
            pod("u", {"app": "x"}, on="c", deleted=True),
        ]

    def test_domains_with_fewer_pods(self):
        task = pod("p", {"app": "x"}, topologySpreadConstraints=[self.constraint()])
        # log(3 + 2) times 2, 1 and 0 pods: 3, 2, 0; d has no zone
        scores = {"a": 0, "b": 33, "c": 100, "d": 0}
        assert scored("podtopologyspread", *self.cluster(), task) == scores
        # log(2 + 2) times 2 and 1: 3, 1: 100 * (3 + 1 - 1) / 3 is the most
        scores = {"a": 33, "b": 100}
        assert scored("podtopologyspread", *self.cluster(), task, nodes="ab") == scores

    def test_hosts(self):
        task = pod("p", {"app": "x"}, topologySpreadConstraints=[self.constraint(HOST, 3)])
        # log(4 + 2) times 2, 1, 0, 0 and 2 for the skew: 6, 4, 2, 2
        scores = {"a": 33, "b": 66, "c": 100, "d": 100}
        assert scored("podtopologyspread", *self.cluster(), task) == scores

    def test_without_constraints_there_is_nothing_to_score(self):
        assert set(
            scored("podtopologyspread", *self.cluster(), pod("p", {"app": "x"})).values()
        ) == {0}

    def test_pods_of_a_service_are_spread_over_hosts_and_zones(self):
        service = {"metadata": {"namespace": "ns"}, "spec": {"selector": {"app": "x"}}}
        others = {"Service": {"ns/s": service}}
        objects = [*self.cluster(), pod("p", {"app": "x"}), pod("q", {"app": "y"})]
        # hosts: log(6) times 2, 1, 0, 0 and 2; zones: log(5) times 2, 1, 0 and 4, none for d
        # a: 3.58 + 2 + 3.22 + 4 = 12.8; b: 9.4; c: 6; d: 2
        scores = {"a": 15, "b": 46, "c": 69, "d": 100}
        assert scored("podtopologyspread", *objects, others=others) == scores
        plain = scored("podtopologyspread", *objects, others=others, name="q")
        assert set(plain.values()) == {0}


def test_the_default_weights_add_up():
    kube = Kube(node("a"), pod("p", **amounts()), plugin="nodeorder")
    # least 75, balanced 75, taints 3 * 100
    assert kube.scores("p") == {"a": 450}


def test_an_option_may_be_written_as_text():
    kube = Kube(
        node("a"),
        pod("p", **amounts()),
        plugin="nodeorder",
        options={**OFF, "leastrequested.weight": "5"},
    )
    assert kube.scores("p") == {"a": 375}
