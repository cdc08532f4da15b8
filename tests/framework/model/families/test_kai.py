"""What a cycle of the KAI family starts from: GPUs, shared devices, pending bind requests."""

from typing import Any

import pytest

from pumice.backends.memory import MemoryBackend
from pumice.config import policy_from_dict
from pumice.manifests import read_objects
from pumice.model.cluster import Cluster, build_cluster
from pumice.model.facts import Inventory
from pumice.model.gpu.request import GPU
from pumice.model.task import TaskStatus
from pumice.scheduler import Scheduler

QUEUE: dict[str, Any] = {
    "apiVersion": "scheduling.run.ai/v2",
    "kind": "Queue",
    "metadata": {"name": "q"},
    "spec": {},
}


def node(name: str = "n1", *, memory: str = "1000", **room: str) -> dict[str, Any]:
    listed = {"cpu": "8", "memory": "16Gi", "pods": "10"}
    listed |= {key.replace("_", "/").replace("dot", "."): value for key, value in room.items()}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"nvidia.com/gpu.memory": memory}},
        "status": {"allocatable": listed},
    }


def pod(name: str, *, on: str = "", requests: Any = None, **metadata: Any) -> list[dict[str, Any]]:
    """A pod and the group that it is in alone."""
    annotations = {"pod-group-name": name, **metadata.pop("annotations", {})}
    container = {"name": "main", "resources": {"requests": {"cpu": "1", **(requests or {})}}}
    return [
        {
            "apiVersion": "scheduling.run.ai/v2alpha2",
            "kind": "PodGroup",
            "metadata": {"name": name, "namespace": "ns"},
            "spec": {"queue": "q", "minMember": 1},
        },
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": name,
                "namespace": "ns",
                "uid": name,
                "annotations": annotations,
                **metadata,
            },
            "spec": {"containers": [container], "nodeName": on},
            "status": {"phase": "Running" if on else "Pending"},
        },
    ]


def inventory(*objects: dict[str, Any]) -> Inventory:
    group = pod("some-job")[0]
    read = read_objects((f"object {i}", item) for i, item in enumerate([QUEUE, group, *objects]))
    assert not read.problems
    return read


def cluster(*objects: dict[str, Any]) -> Cluster:
    return build_cluster(inventory(*objects), now=1e6)


def idle_gpus(cluster: Cluster, row: int = 0) -> float:
    return float(cluster.nodes.idle[row, cluster.dimensions.position[GPU]]) / 1000


class TestNodes:
    def test_gpus_of_all_vendors_are_one_resource(self) -> None:
        built = cluster(node(amddotcom_gpu="4"), *pod("a", on="n1", requests={"amd.com/gpu": "1"}))
        assert idle_gpus(built) == 3
        assert built.tasks["a"].gpu.devices == 1

    def test_devices_of_gpu_drivers_are_gpus_to_claim(self) -> None:
        def devices(name: str, driver: str, count: int) -> dict[str, Any]:
            listed = [{"name": str(i)} for i in range(count)]
            return {
                "apiVersion": "resource.k8s.io/v1",
                "kind": "ResourceSlice",
                "metadata": {"name": name},
                "spec": {"driver": driver, "nodeName": "n1", "devices": listed},
            }

        built = cluster(node(), devices("a", "gpu.example.com", 2), devices("b", "nic", 4))
        assert idle_gpus(built) == 2
        assert built.nodes.claimable.tolist() == [2]

    def test_the_gpu_dimension_exists_without_any_gpu(self) -> None:
        assert idle_gpus(cluster(node(), *pod("a"))) == 0

    def test_other_families_count_gpus_unchanged(self) -> None:
        read = Inventory()
        read.nodes["n1"] = inventory(node(amddotcom_gpu="4")).nodes["n1"]
        built = build_cluster(read, now=1e6)
        assert "amd.com/gpu" in built.dimensions.names
        assert built.nodes.idle[0, built.dimensions.position["amd.com/gpu"]] == 4000


class TestShares:
    def test_a_shared_gpu_is_not_idle(self) -> None:
        built = cluster(
            node(nvidiadotcom_gpu="4"),
            *pod(
                "a", on="n1", annotations={"gpu-fraction": "0.5"}, labels={"runai-gpu-group": "g"}
            ),
        )
        assert idle_gpus(built) == 3
        assert built.nodes.shares(0).used == {"g": 500}
        assert built.nodes.sharing_rows == [0]

    def test_several_devices_are_named_by_several_labels(self) -> None:
        labels = {"runai-gpu-group": "g1", "runai-gpu-group/g1": "g1", "runai-gpu-group/g2": "g2"}
        annotations = {"gpu-fraction": "0.5", "gpu-fraction-num-devices": "2"}
        built = cluster(
            node(nvidiadotcom_gpu="4"), *pod("a", on="n1", annotations=annotations, labels=labels)
        )
        assert built.tasks["a"].gpu_groups == ("g1", "g2")
        assert idle_gpus(built) == 2

    def test_the_pod_that_reserves_a_shared_gpu_takes_no_other(self) -> None:
        reservation = pod("r", on="n1", requests={GPU: "1"})[1]
        reservation["metadata"] |= {"labels": {"app": "kai-resource-reservation"}}
        del reservation["metadata"]["annotations"]
        assert idle_gpus(cluster(node(nvidiadotcom_gpu="2"), reservation)) == 2

    def test_a_pod_of_no_group_shares_as_well(self) -> None:
        single = pod(
            "a", on="n1", annotations={"gpu-fraction": "0.5"}, labels={"runai-gpu-group": "g"}
        )[1]
        del single["metadata"]["annotations"]["pod-group-name"]
        built = cluster(node(nvidiadotcom_gpu="2"), single)
        assert built.nodes.shares(0).used == {"g": 500}


def bind_request(**status: Any) -> dict[str, Any]:
    backoff = status.pop("backoffLimit", None)
    return {
        "apiVersion": "scheduling.run.ai/v1alpha2",
        "kind": "BindRequest",
        "metadata": {"name": "a", "namespace": "ns"},
        "spec": {
            "podName": "a",
            "selectedNode": "n1",
            "selectedGPUGroups": ["g"],
            "backoffLimit": backoff,
        },
        "status": status,
    }


class TestBindRequests:
    @pytest.mark.parametrize(
        "status, live",
        [
            ({}, True),
            ({"phase": "Pending"}, True),
            ({"phase": "Failed"}, False),
            ({"phase": "Failed", "failedAttempts": 1, "backoffLimit": 3}, True),
            ({"phase": "Failed", "failedAttempts": 3, "backoffLimit": 3}, False),
        ],
    )
    def test_a_bind_request_reserves_resources(self, status: dict[str, Any], live: bool) -> None:
        fraction = pod("a", annotations={"gpu-fraction": "0.5"})
        built = cluster(node(nvidiadotcom_gpu="2"), *fraction, bind_request(**status))
        task = built.tasks["a"]
        if live:
            assert (task.status, task.node) == (TaskStatus.BINDING, "n1")
            assert built.nodes.shares(0).used == {"g": 500}
        else:
            assert (task.status, task.node) == (TaskStatus.PENDING, "")
            assert idle_gpus(built) == 2


def test_pods_belong_to_their_group_whatever_scheduler_they_name() -> None:
    group, member = pod("a")
    member["spec"]["schedulerName"] = "other-scheduler"
    built = build_cluster(inventory(node(), group, member), now=1e6, scheduler_names=["us"])
    assert built.tasks["a"].job is not None


def test_a_bound_fraction_runs_on_the_device_that_was_chosen() -> None:
    read = inventory(
        node(nvidiadotcom_gpu="2"),
        *pod("a", annotations={"gpu-fraction": "0.5"}),
        *pod("b", annotations={"gpu-fraction": "0.7"}),
    )
    backend = MemoryBackend(read)
    policy = policy_from_dict({"actions": ["fair_allocate"], "tiers": [{"plugins": ["gpupack"]}]})
    scheduler = Scheduler(backend, policy, verify=True)
    groups = {bind.uid: bind.gpu_groups for bind in scheduler.run_once().binds}
    assert len(set(groups.values())) == 2
    backend.advance()
    built = build_cluster(backend.snapshot(), now=1e6)
    assert {uid: task.gpu_groups for uid, task in built.tasks.items()} == groups
    assert idle_gpus(built) == 0
    assert not scheduler.run_once().binds
