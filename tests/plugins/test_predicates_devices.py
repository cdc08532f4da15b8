"""Resource claims: devices by class, selectors and counts, shared, undone."""

import pytest

from pumice.verdicts import BindContext, Code
from tests.plugins._kube import Kube, node, pod, thing

DRA = "resource.k8s.io/v1"
NOT_ALLOCATABLE = "cannot allocate all claims"
ELSEWHERE = "resourceclaim not available on the node"
DRIVER = "gpu.example.com"


def device_class(name="gpu", expression=f"device.driver == '{DRIVER}'"):
    return thing(
        "DeviceClass", name, group=DRA, spec={"selectors": [{"cel": {"expression": expression}}]}
    )


def offers(name, *devices, generation=1, **place):
    listed = [d if isinstance(d, dict) else {"name": d} for d in devices]
    pool = {"name": place.get("nodeName", name), "generation": generation}
    spec = {"driver": DRIVER, "pool": {**pool, "resourceSliceCount": 1}, "devices": listed, **place}
    return thing("ResourceSlice", name, group=DRA, spec=spec)


def on(node_name, *devices):
    return offers(f"{node_name}-slice", *devices, nodeName=node_name)


def device(name, capacity=None, **attributes):
    kinds = {str: "string", int: "int", bool: "bool"}
    return {
        "name": name,
        "attributes": {key: {kinds[type(value)]: value} for key, value in attributes.items()},
        "capacity": {key: {"value": value} for key, value in (capacity or {}).items()},
    }


def request(count=1, name="r", expression="", **rest):
    exactly = {"deviceClassName": "gpu", "count": count, **rest}
    if expression:
        exactly["selectors"] = [{"cel": {"expression": expression}}]
    return {"name": name, "exactly": exactly}


def claim(name, *requests, allocation=None, **devices):
    status = {"allocation": allocation} if allocation else {}
    content = {"devices": {"requests": list(requests or (request(),)), **devices}}
    return thing("ResourceClaim", name, "ns", group=DRA, spec=content, status=status)


def using(name, *claims, **rest):
    return pod(name, resourceClaims=[{"name": c, "resourceClaimName": c} for c in claims], **rest)


def two_nodes() -> list[dict]:
    """Nodes ``a`` and ``b`` with one device each."""
    return [node("a"), node("b"), device_class(), on("a", "g0"), on("b", "g0")]


class TestClaims:
    def test_the_node_must_have_the_devices(self):
        kube = Kube(
            node("a"),
            node("b"),
            device_class(),
            on("a", "g0", "g1"),
            on("b", "g0"),
            claim("c", request(2)),
            using("p", "c"),
        )
        assert kube.verdicts("p") == {"a": None, "b": (Code.UNRESOLVABLE, (NOT_ALLOCATABLE,))}

    def test_what_a_task_was_placed_with_is_gone_until_undone(self):
        kube = Kube(
            node("a"),
            device_class(),
            on("a", "g0", "g1"),
            claim("c", request(1)),
            claim("d", request(2)),
            using("p", "c"),
            using("q", "d"),
        )
        statement = kube.place("p", "a")
        assert kube.reason("q", "a") == NOT_ALLOCATABLE
        context = BindContext(kube.task("p"), "a")
        kube.session.ask.setup_bind_context(kube.task("p"), context)
        assert context.extensions["predicates"]["devices"] == {"ns/c": [(DRIVER, "a", "g0")]}
        statement.discard()
        assert kube.fitting("q") == {"a"}

    def test_a_placement_whose_devices_are_gone_is_refused(self):
        kube = Kube(
            node("a"),
            device_class(),
            on("a", "g0"),
            claim("c"),
            claim("d"),
            using("p", "c"),
            using("q", "d"),
        )
        kube.place("p", "a")
        statement = kube.session.statement()
        assert statement.allocate(kube.task("q"), 0) == NOT_ALLOCATABLE
        assert not kube.task("q").node

    def test_a_shared_claim_pins_its_users(self):
        kube = Kube(
            *two_nodes(),
            claim("c"),
            using("p", "c"),
            using("q", "c"),
        )
        first = kube.place("p", "a")
        assert kube.verdicts("q") == {"a": None, "b": (Code.UNRESOLVABLE, (ELSEWHERE,))}
        second = kube.place("q", "a")
        second.discard()
        assert kube.fitting("q") == {"a"}
        first.discard()
        assert kube.fitting("q") == {"a", "b"}

    def test_an_allocated_claim(self):
        expression = {"key": "kubernetes.io/hostname", "operator": "In", "values": ["a"]}
        allocation = {
            "nodeSelector": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]},
            "devices": {"results": [{"driver": DRIVER, "pool": "a", "device": "g0"}]},
        }
        kube = Kube(
            *two_nodes(),
            claim("c", allocation=allocation),
            claim("d"),
            using("p", "c"),
            using("q", "d"),
        )
        assert kube.fitting("p") == {"a"}
        assert kube.fitting("q") == {"b"}

    @pytest.mark.parametrize(
        "objects, text",
        [
            ([device_class()], 'resourceclaim "c" not found'),
            ([claim("c")], "request r: device class gpu does not exist"),
        ],
    )
    def test_what_no_node_can_serve_is_reported_at_once(self, objects, text):
        kube = Kube(node("a"), *objects, using("p", "c"))
        reason = f"plugin DynamicResources pre-predicates failed {text}"
        assert kube.verdicts("p") == {"*": (Code.ERROR, (reason,))}

    def test_a_template_stands_for_the_claim_to_come(self):
        template = thing(
            "ResourceClaimTemplate",
            "t",
            "ns",
            group=DRA,
            spec={"spec": {"devices": {"requests": [request(1)]}}},
        )
        listed = [{"name": "x", "resourceClaimTemplateName": "t"}]
        kube = Kube(
            node("a"),
            device_class(),
            on("a", "g0"),
            template,
            pod("p", resourceClaims=listed),
            pod("q", resourceClaims=listed),
        )
        kube.place("p", "a")
        assert kube.reason("q", "a") == NOT_ALLOCATABLE

    def test_switched_off(self):
        off = {"predicate.DynamicResourceAllocationEnable": "false"}
        assert Kube(node("a"), using("p", "c"), options=off).fitting("p") == {"a"}


class TestRequests:
    def fits(self, *requests, devices, **rest):
        kube = Kube(
            node("a"),
            device_class(),
            on("a", *devices),
            claim("c", *requests, **rest),
            using("p", "c"),
        )
        return bool(kube.fitting("p"))

    def test_all_that_match(self):
        everything = request(allocationMode="All", expression=f'device.attributes["{DRIVER}"].big')
        assert self.fits(everything, devices=[device("g0", big=True), device("g1", big=False)])
        assert not self.fits(everything, devices=[device("g1", big=False)])

    def test_the_first_alternative_that_there_is(self):
        def alternatives(*counts):
            listed = [{"name": str(n), "deviceClassName": "gpu", "count": n} for n in counts]
            return {"name": "r", "firstAvailable": listed}

        assert self.fits(alternatives(4, 2), devices=["g0", "g1"])
        assert not self.fits(alternatives(4, 3), devices=["g0", "g1"])

    def test_a_combination_is_sought(self):
        picky = request(name="picky", expression=f'device.attributes["{DRIVER}"].model == "x"')
        devices = [device("g0", model="x"), device("g1", model="y")]
        assert self.fits(request(name="any"), picky, devices=devices)

    @pytest.mark.parametrize("numas, fits", [((0, 1, 0), True), ((0, 1, 2), False)])
    def test_devices_that_must_agree(self, numas, fits):
        devices = [device(f"g{i}", numa=numa) for i, numa in enumerate(numas)]
        same = [{"matchAttribute": f"{DRIVER}/numa"}]
        assert self.fits(request(2), devices=devices, constraints=same) is fits

    def test_admin_access_uses_no_device_up(self):
        kube = Kube(
            node("a"),
            device_class(),
            on("a", "g0"),
            claim("c"),
            claim("admin", request(adminAccess=True)),
            claim("late"),
            using("p", "c"),
            using("q", "admin"),
            using("r", "late"),
        )
        kube.place("p", "a")
        kube.place("q", "a").discard()
        assert kube.fitting("q") == {"a"}
        assert kube.reason("r", "a") == NOT_ALLOCATABLE

    def test_old_spelling_and_old_slices(self):
        old = {"name": "r", "deviceClassName": "gpu"}
        kube = Kube(
            node("a"),
            device_class(),
            offers("old", "g0", "g1", nodeName="a", generation=1),
            offers("new", {"name": "g0", "basic": {}}, nodeName="a", generation=2),
            claim("c", old),
            claim("d", request(2)),
            using("p", "c"),
            using("q", "d"),
        )
        assert kube.fitting("p") == {"a"}
        assert kube.fitting("q") == set()

    def test_devices_that_belong_to_no_single_node(self):
        selector = {
            "nodeSelectorTerms": [{"matchExpressions": [{"key": "x", "operator": "Exists"}]}]
        }
        objects = [node("a", {"x": ""}), node("b"), device_class(), claim("c"), using("p", "c")]
        assert Kube(*objects, offers("s", "g0", nodeSelector=selector)).fitting("p") == {"a"}
        assert Kube(*objects, offers("s", "g0", allNodes=True)).fitting("p") == {"a", "b"}

    def test_a_selector_without_a_value_is_an_error(self):
        kube = Kube(
            node("a"),
            device_class(expression='device.attributes["other"].healthy'),
            on("a", "g0"),
            claim("c"),
            using("p", "c"),
        )
        assert kube.verdicts("p")["a"] == (
            Code.ERROR,
            ("CEL runtime error: no such key: healthy",),
        )

    def test_a_selector_beyond_the_bounds_costs_its_own_pod_only(self):
        large = request(expression="4000000000 * 4000000000 * 1000000000 > 0")
        kube = Kube(
            node("a"),
            device_class(),
            on("a", "g0"),
            claim("c", large),
            claim("d"),
            using("p", "c"),
            using("q", "d"),
        )
        code, (reason,) = kube.verdicts("p")["a"]
        assert code == Code.ERROR
        assert "4000000000 * 4000000000" in reason
        assert "more than 64 bits" in reason
        assert kube.fitting("q") == {"a"}
