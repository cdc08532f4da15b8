"""capacity: queues are bounded by the devices that resource claims ask for."""

import pytest

from pumice import PERMIT, REJECT
from pumice_builtin_plugins.capacity.devices import DeviceAccount

CLASS = "deviceclass/gpu.example.com"


def claim(*requests):
    return {"spec": {"devices": {"requests": list(requests)}}}


def exactly(count=1, device="gpu.example.com", **more):
    return {"name": "r", "exactly": {"deviceClassName": device, "count": count, **more}}


class TestDevices:
    @pytest.fixture
    def devices(self, world):
        world.node("n1", cpu=100)
        claims = world.inventory.others.setdefault("ResourceClaim", {})

        def prepare(limits, pods, **options):
            world.queue("a", device_limits={"capability": limits})
            for number, listed in enumerate(pods):
                references = []
                for index, content in enumerate(listed):
                    name = content if isinstance(content, str) else f"claim-{number}-{index}"
                    if not isinstance(content, str):
                        claims[f"ns/{name}"] = content
                    references.append({"name": f"c{index}", "resourceClaimName": name})
                world.job(
                    f"j{number}", {"cpu": 1, "facts": {"resource_claims": references}}, queue="a"
                )
            plugin = world.open("capacity", **options)
            queue = world.session.queues["a"]
            return [
                plugin.allocatable(queue, world.task(f"j{number}-0")) for number in range(len(pods))
            ]

        return prepare

    def test_requests_of_a_claim_add_up(self, devices):
        assert devices(
            {CLASS: 2}, [[claim(exactly(), exactly())], [claim(exactly(2), exactly())]]
        ) == [
            True,
            False,
        ]

    def test_the_older_form_and_alternatives_are_read(self, devices):
        older = claim({"name": "r", "deviceClassName": "gpu.example.com", "count": 3})
        first = {"name": "r", "firstAvailable": [exactly(3)["exactly"], exactly(1)["exactly"]]}
        assert devices({CLASS: 2}, [[older], [claim(first)]]) == [False, False]

    def test_a_class_without_a_limit_is_free(self, devices):
        assert devices({CLASS: 1}, [[claim(exactly(9, "nic.example.com"))]]) == [True]

    def test_a_limit_of_zero_is_a_limit(self, devices):
        assert devices({CLASS: 0}, [[claim(exactly())]]) == [False]

    def test_switched_off_nothing_counts(self, devices):
        off = {"capacity.DynamicResourceAllocationEnable": False}
        assert devices({CLASS: 0}, [[claim(exactly())]], **off) == [True]

    @pytest.mark.parametrize(
        "limits, capacity, allowed",
        [
            ({"memory." + CLASS: "10Gi"}, {"memory": "10Gi"}, True),
            ({"memory." + CLASS: "10Gi"}, {"memory": "11Gi"}, False),
            ({CLASS: 8}, {"memory": "1Gi"}, False),
            ({CLASS: 8, "memory." + CLASS: "10Gi"}, {"cores": "1"}, False),
            ({"deviceclass/nic": 1}, {"memory": "1Gi"}, True),
        ],
    )
    def test_capacities(self, devices, limits, capacity, allowed):
        on = {"capacity.DRAConsumableCapacityEnable": True}
        asked = [[claim(exactly(capacity={"requests": capacity}))]]
        assert devices(limits, asked, **on) == [allowed]

    def test_capacities_are_taken_of_every_device(self, devices):
        on = {"capacity.DRAConsumableCapacityEnable": True}
        asked = [[claim(exactly(2, capacity={"requests": {"memory": "6Gi"}}))]]
        assert devices({CLASS: 9, "memory." + CLASS: "10Gi"}, asked, **on) == [False]

    def test_capacities_are_off_by_default(self, devices):
        asked = [[claim(exactly(capacity={"requests": {"memory": "6Gi"}}))]]
        assert devices({CLASS: 1}, asked) == [True]

    @pytest.mark.parametrize(
        "broken",
        [
            {},
            {"spec": None},
            {"spec": {"devices": "all"}},
            claim("one"),
            claim(exactly("many")),
            claim({"exactly": {"count": 1}}),
        ],
    )
    def test_a_claim_that_cannot_be_read_counts_as_nothing(self, devices, broken):
        assert devices({CLASS: 0}, [[broken], ["unknown"]]) == [True, True]

    def test_a_claim_still_to_be_made_from_a_template_counts(self, world):
        world.node("n1", cpu=9)
        template = {"spec": claim(exactly(2))}
        world.inventory.others["ResourceClaimTemplate"] = {"ns/t": template}
        world.queue("a", device_limits={"capability": {CLASS: 3}})
        pod = {
            "cpu": 1,
            "facts": {"resource_claims": [{"name": "c", "resourceClaimTemplateName": "t"}]},
        }
        world.job("x", pod, pod, queue="a", min_member=0)
        plugin, queue = world.open("capacity"), world.session.queues["a"]
        assert plugin.allocatable(queue, world.task("x-0"))
        world.allocate("x-0", node="n1")
        assert not plugin.allocatable(queue, world.task("x-1"))

    def test_the_minimum_of_a_job_is_counted_by_roles(self, world):
        world.inventory.others["ResourceClaim"] = {
            f"ns/c{i}": claim(exactly(i + 1)) for i in range(3)
        }
        world.queue("a", device_limits={"capability": {CLASS: 3}})
        pods = [
            {
                "facts": {
                    "annotations": {"volcano.sh/task-spec": role},
                    "resource_claims": [{"name": "c", "resourceClaimName": f"c{i}"}],
                }
            }
            for i, role in enumerate(["head", "work", "work"])
        ]
        facts = {"queue": "a", "phase": "Pending", "min_resources": {}}
        world.job("x", *pods, min_member=2, min_task_member={"head": 1, "work": 1}, **facts)
        world.job("y", *pods, min_member=3, **facts)
        plugin = world.open("capacity")
        assert plugin.job_enqueueable(world.job_of("x")) == PERMIT
        assert plugin.job_enqueueable(world.job_of("y")) == REJECT
        assert CLASS in world.job_of("y").refusals[-1].message

    def test_a_shared_claim_is_held_until_its_last_task_goes(self):
        account, claims, other = (
            DeviceAccount({CLASS: 2000}),
            {"ns/c": {CLASS: 2000}},
            {CLASS: 1000},
        )
        account.allocate(claims)
        account.allocate(claims)
        account.deallocate(claims)
        assert account.insufficient(claims) == []
        assert account.insufficient({"ns/d": other}) == [CLASS]
        account.deallocate(claims)
        assert account.insufficient({"ns/d": other}) == []

    def test_an_admitted_claim_that_is_allocated_counts_once(self):
        account, claims = DeviceAccount({CLASS: 3000}), {"ns/c": {CLASS: 2000}}
        account.admit(claims)
        account.allocate(claims)
        assert account.insufficient({"ns/d": {CLASS: 1000}}, inqueue=True) == []
        assert account.insufficient({"ns/d": {CLASS: 2000}}, inqueue=True) == [CLASS]
