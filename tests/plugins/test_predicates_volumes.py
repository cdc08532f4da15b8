"""Volumes: where they are, what can be bound or made, and how many a node attaches."""

import pytest

from pumice.verdicts import BindContext, Code
from tests.plugins._kube import ZONE, Kube, node, pod, thing

STORAGE = "storage.k8s.io/v1"
NOTHING = "node(s) didn't find available persistent volumes to bind"
REACH = "node(s) didn't match PersistentVolume's node affinity"
GONE = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
FULL = "node(s) did not have enough free storage"
WRONG_ZONE = "node(s) had no available volume zone"
TOO_MANY = "node(s) exceed max volume count"


def storage_class(name="late", provisioner="kubernetes.io/no-provisioner", **rest):
    mode = {"volumeBindingMode": "WaitForFirstConsumer"}
    return thing("StorageClass", name, group=STORAGE, provisioner=provisioner, **{**mode, **rest})


def volume(name, size="2Gi", *, nodes=(), phase="Available", labels=None, **spec):
    content = {"capacity": {"storage": size}, "storageClassName": "late", **spec}
    if nodes:
        expression = {"key": "kubernetes.io/hostname", "operator": "In", "values": list(nodes)}
        terms = [{"matchExpressions": [expression]}]
        content["nodeAffinity"] = {"required": {"nodeSelectorTerms": terms}}
    return thing(
        "PersistentVolume",
        name,
        metadata={"labels": labels or {}},
        spec=content,
        status={"phase": phase},
    )


def claim(name, size="1Gi", *, bound="", annotations=None, phase="Pending", **spec):
    content = {"resources": {"requests": {"storage": size}}, "storageClassName": "late", **spec}
    marks = dict(annotations or {})
    if bound:
        content["volumeName"] = bound
        marks["pv.kubernetes.io/bind-completed"] = "yes"
    return thing(
        "PersistentVolumeClaim",
        name,
        "ns",
        metadata={"annotations": marks},
        spec=content,
        status={"phase": "Bound" if bound else phase},
    )


def using(name, *claims, on=""):
    listed = [{"name": c, "persistentVolumeClaim": {"claimName": c}} for c in claims]
    return pod(name, on=on, volumes=listed)


class TestBeforeAnyNode:
    @pytest.mark.parametrize(
        "objects, text",
        [
            ([], 'persistentvolumeclaim "c" not found'),
            (
                [claim("c", storageClassName="")],
                "pod has unbound immediate PersistentVolumeClaims",
            ),
            (
                [claim("c", storageClassName="gone")],
                'storageclass.storage.k8s.io "gone" not found',
            ),
            (
                [claim("c"), storage_class(volumeBindingMode="Immediate")],
                "pod has unbound immediate PersistentVolumeClaims",
            ),
        ],
    )
    def test_what_no_node_can_serve_is_reported_at_once(self, objects, text):
        kube = Kube(node("a"), *objects, using("p", "c"))
        reason = f"plugin VolumeBinding pre-predicates failed {text}"
        assert kube.verdicts("p") == {"*": (Code.ERROR, (reason,))}

    def test_a_lost_claim_and_one_being_deleted(self):
        lost = claim("c", volumeName="v", phase="Lost")
        kube = Kube(node("a"), storage_class(), lost, using("p", "c"))
        assert "bound to non-existent persistentvolume" in kube.verdicts("p")["*"][1][0]
        leaving = claim("c")
        leaving["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        kube = Kube(node("a"), storage_class(), leaving, using("p", "c"))
        assert "is being deleted" in kube.verdicts("p")["*"][1][0]

    def test_volumes_without_claims_are_ignored(self):
        kube = Kube(node("a"), pod("p", volumes=[{"name": "x", "emptyDir": {}}]))
        assert kube.fitting("p") == {"a"}
        assert kube.plugin._scope(kube.task("p")) == "row"

    def test_switched_off(self):
        off = {"predicate.VolumeBindingEnable": False}
        assert Kube(node("a"), using("p", "c"), options=off).fitting("p") == {"a"}


class TestBinding:
    def test_a_bound_volume_is_reached_from_some_nodes_only(self):
        kube = Kube(
            node("a"),
            node("b"),
            volume("v", nodes=["a"], phase="Bound"),
            claim("c", bound="v"),
            using("p", "c"),
        )
        assert kube.verdicts("p") == {"a": None, "b": (Code.UNRESOLVABLE, (REACH,))}

    def test_a_volume_that_is_gone(self):
        kube = Kube(node("a"), claim("c", bound="v"), using("p", "c"))
        assert kube.verdicts("p")["a"] == (Code.UNRESOLVABLE, (GONE,))

    def test_each_member_of_a_gang_takes_a_volume_of_its_own(self):
        kube = Kube(
            node("a"),
            storage_class(),
            volume("v1"),
            volume("v2"),
            *[claim(f"c{i}") for i in range(3)],
            *[using(f"p{i}", f"c{i}") for i in range(3)],
        )
        first = kube.place("p0", "a")
        second = kube.place("p1", "a", pipeline=True)
        assert kube.reason("p2", "a") == NOTHING
        assert kube.plugin._volumes.to_bind(kube.task("p1")) == {"ns/c1": "v2"}
        second.discard()
        assert kube.fitting("p2") == {"a"}
        context = BindContext(kube.task("p0"), "a")
        kube.session.ask.setup_bind_context(kube.task("p0"), context)
        assert context.extensions["predicates"]["volumes"] == {"ns/c0": "v1"}
        first.discard()
        assert kube.plugin._volumes.to_bind(kube.task("p0")) == {}

    def test_the_smallest_that_suits(self):
        kube = Kube(
            node("a"),
            storage_class(),
            volume("big", "9Gi", accessModes=["ReadWriteOnce"]),
            volume("good", "3Gi", accessModes=["ReadWriteOnce"], labels={"x": "1"}),
            volume("small", "1Gi", accessModes=["ReadWriteOnce"]),
            volume("modes", "2Gi", accessModes=["ReadOnlyMany"]),
            volume("block", "2Gi", accessModes=["ReadWriteOnce"], volumeMode="Block"),
            volume("taken", "2Gi", accessModes=["ReadWriteOnce"], phase="Bound"),
            volume("other", "2Gi", accessModes=["ReadWriteOnce"], storageClassName="fast"),
            claim("c", "2Gi", accessModes=["ReadWriteOnce"]),
            claim("d", "2Gi", accessModes=["ReadWriteOnce"], selector={"matchLabels": {"x": "2"}}),
            using("p", "c"),
            using("q", "d"),
        )
        kube.place("p", "a")
        assert kube.plugin._volumes.to_bind(kube.task("p")) == {"ns/c": "good"}
        assert kube.reason("q", "a") == NOTHING

    def test_a_volume_reserved_for_the_claim_comes_first(self):
        kube = Kube(
            node("a"),
            storage_class(),
            volume("v1"),
            volume("v2", "9Gi", claimRef={"namespace": "ns", "name": "c"}),
            claim("c"),
            using("p", "c"),
        )
        kube.place("p", "a")
        assert kube.plugin._volumes.to_bind(kube.task("p")) == {"ns/c": "v2"}

    def test_two_tasks_share_a_claim(self):
        kube = Kube(
            node("a"),
            node("b"),
            storage_class(),
            volume("v", nodes=["a"]),
            claim("c"),
            using("p", "c"),
            using("q", "c"),
        )
        kube.place("p", "a")
        assert kube.verdicts("q") == {"a": None, "b": (Code.UNRESOLVABLE, (REACH,))}


class TestMaking:
    def test_where_the_class_allows_it(self):
        topologies = [{"matchLabelExpressions": [{"key": ZONE, "values": ["z1"]}]}]
        kube = Kube(
            node("a", {ZONE: "z1"}),
            node("b", {ZONE: "z2"}),
            storage_class(provisioner="csi", allowedTopologies=topologies),
            claim("c"),
            using("p", "c"),
            using("q", "c"),
        )
        assert kube.verdicts("p") == {"a": None, "b": (Code.UNRESOLVABLE, (NOTHING,))}

    def test_a_claim_is_made_for_one_node(self):
        kube = Kube(
            node("a"),
            node("b"),
            storage_class(provisioner="csi"),
            claim("c"),
            claim("d", annotations={"volume.kubernetes.io/selected-node": "b"}),
            using("p", "c"),
            using("q", "c"),
            using("r", "d"),
        )
        assert kube.fitting("r") == {"b"}
        statement = kube.place("p", "a")
        assert kube.fitting("q") == {"a"}
        statement.discard()
        assert kube.fitting("q") == {"a", "b"}

    def test_where_the_driver_has_room(self):
        capacity = {
            "storageClassName": "late",
            "nodeTopology": {"matchLabels": {ZONE: "z1"}},
            "capacity": "1Gi",
        }
        objects = [
            node("a", {ZONE: "z1"}),
            node("b", {ZONE: "z2"}),
            storage_class(provisioner="csi"),
            thing("CSIStorageCapacity", "x", "ns", group=STORAGE, **capacity),
            claim("c", "1Gi"),
            claim("d", "2Gi"),
            using("p", "c"),
            using("q", "d"),
        ]
        assert Kube(*objects).fitting("q") == {"a", "b"}
        driver = thing("CSIDriver", "csi", group=STORAGE, spec={"storageCapacity": True})
        kube = Kube(*objects, driver)
        assert kube.verdicts("p") == {"a": None, "b": (Code.UNRESOLVABLE, (FULL,))}
        assert kube.fitting("q") == set()


class TestZone:
    @pytest.mark.parametrize("key", [ZONE, "failure-domain.beta.kubernetes.io/zone"])
    def test_the_zone_of_the_volume(self, key):
        kube = Kube(
            node("a", {ZONE: "z1"}),
            node("b", {ZONE: "z2"}),
            node("c", {ZONE: "z3"}),
            node("d"),
            volume("v", labels={key: "z1__z2"}),
            claim("x", bound="v"),
            using("p", "x"),
        )
        assert kube.fitting("p") == {"a", "b", "d"}
        assert kube.verdicts("p")["c"] == (Code.UNRESOLVABLE, (WRONG_ZONE,))

    def test_switched_off(self):
        kube = Kube(
            node("c", {ZONE: "z3"}),
            volume("v", labels={ZONE: "z1"}),
            claim("x", bound="v"),
            using("p", "x"),
            options={"predicate.VolumeZoneEnable": "0"},
        )
        assert kube.fitting("p") == {"c"}


class TestLimits:
    def cluster(self, limit, **options):
        drivers = [{"name": "csi", "nodeID": "a", "allocatable": {"count": limit}}]

        def attached(name):
            return volume(name, csi={"driver": "csi", "volumeHandle": f"h-{name}"})

        return Kube(
            node("a"),
            node("b"),
            thing("CSINode", "a", group=STORAGE, spec={"drivers": drivers}),
            *[attached(f"v{i}") for i in range(3)],
            *[claim(f"c{i}", bound=f"v{i}") for i in range(3)],
            storage_class("made", provisioner="csi"),
            claim("new", storageClassName="made"),
            using("r", "c0", on="a"),
            using("p", "c1"),
            using("q", "c0"),
            using("n", "new"),
            options=options,
        )

    def test_as_many_as_the_driver_allows(self):
        kube = self.cluster(1)
        assert kube.verdicts("p") == {"a": (Code.UNSCHEDULABLE, (TOO_MANY,)), "b": None}
        assert kube.fitting("q") == {"a", "b"}  # attached there already
        assert kube.fitting("n") == {"b"}
        assert self.cluster(2).fitting("p") == {"a", "b"}

    def test_an_eviction_makes_room(self):
        kube = self.cluster(1)
        statement = kube.evict("r")
        assert kube.fitting("p") == {"a", "b"}
        placed = kube.place("p", "a", pipeline=True)
        assert kube.fitting("n") == {"b"}
        placed.discard()
        statement.discard()
        assert kube.fitting("p") == {"b"}

    def test_switched_off(self):
        kube = self.cluster(1, **{"predicate.NodeVolumeLimitsEnable": False})
        assert kube.fitting("p") == {"a", "b"}


def test_undoing_an_eviction_takes_nothing_for_a_pod_that_ran_before():
    kube = Kube(
        node("a"),
        storage_class(),
        volume("v"),
        claim("c"),
        claim("d"),
        using("r", "c", on="a"),
        using("p", "d"),
    )
    kube.evict("r").discard()
    assert kube.fitting("p") == {"a"}
