"""Resource claims in the KAI family: devices, shared claims, queues, undo."""

from typing import Any

import pytest

from pumice.model.task import TaskStatus
from tests.plugins._shares import SharedWorld

DRA = "resource.k8s.io/v1"
NIC, GPU = "nic.example.com", "gpu.example.com"
QUEUE = {"kai.scheduler/queue": "q"}


class ClaimWorld(SharedWorld):
    """A cluster with classes ``nic`` and ``gpu`` of devices."""

    def __init__(self) -> None:
        super().__init__()
        for name, driver in (("nic", NIC), ("gpu", GPU)):
            expression = f"device.driver == '{driver}'"
            self.add(
                "DeviceClass",
                DRA,
                name,
                spec={"selectors": [{"cel": {"expression": expression}}]},
            )

    def add(self, kind: str, version: str, name: str, **parts: Any) -> None:
        super().add(kind, version, name, **parts)
        if kind in ("DeviceClass", "ResourceSlice"):
            del self._objects[-1]["metadata"]["namespace"]

    def offers(self, node: str, *devices: str, driver: str = NIC) -> None:
        pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
        listed = [{"name": name} for name in devices]
        spec = {"driver": driver, "nodeName": node, "pool": pool, "devices": listed}
        self.add("ResourceSlice", DRA, f"{node}-{driver}", spec=spec)

    def claim(
        self, name: str, *, of: str = "nic", labels: Any = None, held: str = "", **exactly: Any
    ) -> None:
        """A claim; ``held``: the node/device it has, ``users``: the pods in reservedFor."""
        users = exactly.pop("users", ())
        spec = {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": of}}]}}
        spec["devices"]["requests"][0]["exactly"].update(exactly)
        status: dict[str, Any] = {}
        if held:
            node, _, device = held.partition("/")
            result = {"request": "r", "driver": NIC, "pool": node, "device": device}
            status["allocation"] = {"devices": {"results": [result]}}
        if users:
            status["reservedFor"] = [{"resource": "pods", "name": u, "uid": u} for u in users]
        self.add(
            "ResourceClaim", DRA, name, metadata={"labels": labels or {}}, spec=spec, status=status
        )

    def user(self, name: str, *claims: str, **facts: Any) -> None:
        listed = [{"name": claim, "resourceClaimName": claim} for claim in claims]
        self.pod(name, resourceClaims=listed, **facts)


@pytest.fixture
def world() -> ClaimWorld:
    return ClaimWorld()


def two_nodes(world: ClaimWorld, *devices: str) -> None:
    for name in ("n1", "n2"):
        world.node(name)
    world.offers("n1", *devices)


class TestDevices:
    def test_a_node_must_have_the_devices(self, world):
        two_nodes(world, "d0")
        world.claim("c")
        world.claim("pair", count=2)
        world.user("j", "c")
        world.user("k", "pair")
        world.open("dynamicresources")
        assert world.refusals("j") == {"n2": "cannot allocate all claims"}
        assert set(world.refusals("k")) == {"n1", "n2"}

    def test_what_is_placed_is_gone_until_undone(self, world):
        two_nodes(world, "d0")
        for name in ("c", "d"):
            world.claim(name)
        world.user("j", "c")
        world.user("k", "d")
        world.open("dynamicresources")
        statement = world.allocate("j", "n1")
        assert set(world.refusals("k")) == {"n1", "n2"}
        statement.discard()
        assert set(world.refusals("k")) == {"n2"}

    def test_running_pods_hold_what_their_claims_have(self, world):
        two_nodes(world, "d0", "d1")
        world.claim("c", held="n1/d0", users=["old"])
        world.claim("d", count=2)
        world.user("old", "c", on="n1")
        world.user("j", "d")
        world.open("dynamicresources")
        assert set(world.refusals("j")) == {"n1", "n2"}

    def test_a_class_that_is_gone_costs_the_jobs_that_name_it(self, world):
        two_nodes(world, "d0", "d1")
        world.claim("c", of="gone", held="n1/d0", users=["old"])
        world.claim("d", of="gone")
        world.claim("e")
        world.claim("f", count=2)
        world.user("old", "c", on="n1")
        for name, claim in (("j", "d"), ("k", "e"), ("l", "f")):
            world.user(name, claim)
        world.open("dynamicresources")
        assert world.refusals("j") == {"*": "request r: device class gone does not exist"}
        assert set(world.refusals("k")) == {"n2"}
        assert set(world.refusals("l")) == {"n1", "n2"}

    def test_an_evicted_pod_gives_its_devices_back_until_the_eviction_is_undone(self, world):
        two_nodes(world, "d0")
        world.claim("c", held="n1/d0", users=["old"])
        world.claim("d")
        world.user("old", "c", on="n1")
        world.user("j", "d")
        world.open("dynamicresources")
        with world.session.statement() as statement:
            statement.evict(world.task("old"), "for j")
            assert set(world.refusals("j")) == {"n2"}
            assert statement.pipeline(world.task("j"), 0) is None
            assert world.task("j").status is TaskStatus.PIPELINED
        assert set(world.refusals("j")) == {"n1", "n2"}

    def test_the_last_user_of_a_shared_claim_gives_it_back(self, world):
        two_nodes(world, "d0")
        world.claim("c", held="n1/d0", users=["one", "two"])
        world.claim("d")
        for name in ("one", "two"):
            world.user(name, "c", on="n1")
        world.user("j", "d")
        world.open("dynamicresources")
        with world.session.statement() as statement:
            statement.evict(world.task("one"), "for j")
            assert set(world.refusals("j")) == {"n1", "n2"}
            statement.evict(world.task("two"), "for j")
            assert set(world.refusals("j")) == {"n2"}

    def test_users_of_one_claim_are_on_one_node(self, world):
        two_nodes(world, "d0")
        world.offers("n2", "d0")
        world.claim("c")
        world.user("j", "c")
        world.user("k", "c")
        world.open("dynamicresources")
        statement = world.allocate("j", "n2")
        assert set(world.refusals("k")) == {"n1"}
        statement.discard()
        assert world.refusals("k") == {}

    def test_a_task_without_claims_is_skipped(self, world):
        two_nodes(world)
        world.pod("plain")
        world.open("dynamicresources")
        assert world.refusals("plain") == {}

    def test_gpus_by_claim_are_gpus(self, world):
        two_nodes(world)
        world.offers("n1", "g0", "g1", driver=GPU)
        world.claim("c", of="gpu", count=2, labels=QUEUE)
        world.user("j", "c")
        world.open("dynamicresources")
        assert world.task("j").gpu.claimed == 2
        assert world.session.queries.fits_idle(world.task("j")).tolist() == [True, False]


class TestRefusals:
    def test_a_claim_that_does_not_exist(self, world):
        two_nodes(world, "d0")
        world.user("j", "gone")
        world.open("dynamicresources")
        assert world.refusals("j") == {"*": "resource claim ns/gone does not exist"}

    @pytest.mark.parametrize("labels, queue", [({}, "(none)"), ({"kai.scheduler/queue": "r"}, "r")])
    def test_a_claim_for_gpus_belongs_to_a_queue(self, world, labels, queue):
        two_nodes(world)
        world.offers("n1", "g0", driver=GPU)
        world.claim("c", of="gpu", labels=labels)
        world.user("j", "c")
        world.open("dynamicresources")
        assert world.refusals("j") == {
            "*": f"resource claim ns/c for GPUs belongs to queue {queue}, the job to queue q"
        }

    def test_the_label_may_have_another_name(self, world):
        two_nodes(world)
        world.offers("n1", "g0", driver=GPU)
        world.claim("c", of="gpu", labels={"team": "q"})
        world.user("j", "c")
        world.open("dynamicresources", queueLabelKey="team")
        assert set(world.refusals("j")) == {"n2"}

    def test_other_devices_belong_to_no_queue(self, world):
        two_nodes(world, "d0")
        world.claim("c")
        world.user("j", "c")
        world.open("dynamicresources")
        assert "*" not in world.refusals("j")

    def test_a_claim_has_so_many_users_and_no_more(self, world):
        two_nodes(world, "d0")
        world.claim("c", held="n1/d0", users=[f"u{i}" for i in range(255)])
        for name in ("j", "k"):
            world.user(name, "c")
        world.open("dynamicresources")
        assert "*" not in world.refusals("k")
        statement = world.allocate("j", "n1")
        reason = world.refusals("k")["*"]
        assert reason == "resource claim ns/c is reserved for 256 pods already"
        assert "*" not in world.refusals("j")
        statement.discard()
        assert "*" not in world.refusals("k")

    def test_a_claim_that_is_going_away(self, world):
        two_nodes(world, "d0")
        world.claim("c")
        world._objects[-1]["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        world.user("j", "c")
        world.open("dynamicresources")
        assert world.refusals("j") == {"*": "resourceclaim is being deleted"}

    def test_the_size_of_the_cache_is_taken_and_passed_over(self, world):
        two_nodes(world)
        plugin = world.open("dynamicresources", maxCelCacheEntries=3)
        assert plugin.options.cache_entries == 3
