"""Pods and nodes: requests, capacity, and all other fields that scheduling reads."""

import pytest

from pumice.manifests import read_objects
from pumice.model.facts import Inventory, Pod
from pumice.model.resources import Resource

GPU = "nvidia.com/gpu"
VOLCANO = {"scheduling.k8s.io/group-name": "g"}
KAI = {"pod-group-name": "g"}
KAI_GROUP = {
    "apiVersion": "scheduling.run.ai/v2alpha2",
    "kind": "PodGroup",
    "metadata": {"name": "g", "namespace": "team"},
    "spec": {"queue": "q"},
}
KAI_QUEUE = {
    "apiVersion": "scheduling.run.ai/v2",
    "kind": "Queue",
    "metadata": {"name": "q"},
    "spec": {},
}
VOLCANO_GROUP = {
    "apiVersion": "scheduling.volcano.sh/v1beta1",
    "kind": "PodGroup",
    "metadata": {"name": "g", "namespace": "ns"},
    "spec": {"minMember": 1},
}


def read(*objects: dict) -> Inventory:
    return read_objects((f"objects[{i}]", item) for i, item in enumerate(objects))


def pod(
    name: str = "p", *, status: dict | None = None, metadata: dict | None = None, **spec
) -> dict:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "ns", **(metadata or {})},
        "spec": spec,
        "status": status or {},
    }


def container(name: str = "c", restart: str | None = None, **requests: object) -> dict:
    names = {"gpu": GPU}
    listed = {names.get(key, key): value for key, value in requests.items()}
    extra = {"restartPolicy": restart} if restart else {}
    return {"name": name, "resources": {"requests": listed}, **extra}


def only(*objects: dict) -> Pod:
    inventory = read(*objects)
    assert not inventory.problems, inventory.problems[0]
    (fact,) = inventory.pods.values()
    return fact


def request(annotations: dict | None = None, **spec) -> Resource:
    return only(pod(metadata={"annotations": annotations or {}}, **spec)).request


def asks(cpu: float = 0, memory: float = 0, **scalars: float) -> Resource:
    names = {"gpu": GPU}
    named = {names.get(key, key): value for key, value in scalars.items()}
    return Resource(cpu, memory, {**named, "pods": 1})


FAMILIES = pytest.mark.parametrize("family", [VOLCANO, KAI], ids=["volcano", "kai"])


@FAMILIES
def test_a_pod_asks_for_the_sum_of_its_containers_and_one_pod(family):
    containers = [container(cpu="1", gpu="1"), container("d", cpu="500m", memory="1Gi")]
    assert request(family, containers=containers) == asks(1500, 2**30, gpu=1000)


@FAMILIES
def test_a_pod_without_containers_still_is_a_pod(family):
    assert request(family) == asks()
    assert request(family, containers=[]) == asks()
    assert request(family, containers=None, initContainers=None) == asks()


@FAMILIES
def test_the_largest_init_container_counts_where_it_is_larger(family):
    init = [container("i", cpu="3", memory="1"), container("j", cpu="2", memory="5")]
    assert request(
        family, containers=[container(cpu="1", memory="3")], initContainers=init
    ) == asks(3000, 5)


@FAMILIES
def test_overhead_is_added_last(family):
    spec = {"containers": [container(cpu="1")], "initContainers": [container("i", cpu="2")]}
    assert request(family, **spec, overhead={"cpu": "250m"}) == asks(2250)


def test_volcano_counts_sidecars_all_along():
    spec = {
        "containers": [container(cpu="1")],
        "initContainers": [
            container("early", cpu="5"),
            container("side", "Always", cpu="2"),
            container("late", cpu="3500m"),
        ],
    }
    # While it runs 1 + 2; to start, the most of 5, 2 and 2 + 3.5.
    assert request(VOLCANO, **spec) == asks(5500)
    assert request(None, **spec) == asks(5500)
    assert request(KAI, **spec) == asks(5000)


def test_volcano_lets_pod_level_requests_stand_for_the_containers():
    spec = {
        "containers": [container(cpu="1", memory="1Gi", gpu="1")],
        "resources": {"requests": {"cpu": "3", GPU: "9", "hugepages-2Mi": "2"}},
        "overhead": {"cpu": "1"},
    }
    assert request(VOLCANO, **spec) == Resource(
        4000, 2**30, {GPU: 1000, "pods": 1, "hugepages-2Mi": 2000}
    )
    assert request(KAI, **spec) == asks(2000, 2**30, gpu=1000)


@pytest.mark.parametrize(
    "status, cpu",
    [
        ({"containerStatuses": [{"name": "c"}]}, 2000),
        ({"containerStatuses": [{"name": "c", "allocatedResources": {"cpu": "2"}}]}, 2000),
        ({"containerStatuses": [{"name": "c", "allocatedResources": {"cpu": "3"}}]}, 3000),
        ({"containerStatuses": [{"name": "c", "resources": {"requests": {"cpu": "4"}}}]}, 4000),
        ({"containerStatuses": [{"name": "x", "allocatedResources": {"cpu": "9"}}]}, 2000),
        (
            {
                "resize": "Infeasible",
                "containerStatuses": [{"name": "c", "allocatedResources": {"cpu": "1"}}],
            },
            1000,
        ),
        (
            {
                "conditions": [{"type": "PodResizePending", "reason": "Infeasible"}],
                "containerStatuses": [{"name": "c", "allocatedResources": {"cpu": "1"}}],
            },
            1000,
        ),
    ],
)
def test_volcano_counts_what_a_container_holds_while_it_is_resized(status, cpu):
    assert only(pod(containers=[container(cpu="2")], status=status)).request == asks(cpu)


def test_equal_requests_are_one_object():
    first, second = (
        read(pod("a", containers=[container(cpu="1")]), pod("b", containers=[container(cpu="1")]))
    ).pods.values()
    assert first.request is second.request
    assert first.containers is second.containers


def test_everything_a_scheduler_reads_of_a_pod():
    fact = only(
        pod(
            "p",
            metadata={
                "uid": "u",
                "labels": {"a": "b"},
                "annotations": VOLCANO,
                "creationTimestamp": "2024-01-01T00:00:00Z",
                "deletionTimestamp": "2024-01-01T01:00:00+01:00",
                "ownerReferences": [
                    {"kind": "Service", "name": "s", "uid": "1"},
                    {"kind": "Job", "name": "j", "uid": "2", "controller": True},
                ],
            },
            schedulerName="volcano",
            nodeName="n",
            priority=-5,
            priorityClassName="low",
            preemptionPolicy="Never",
            schedulingGates=[{"name": "x/y"}],
            nodeSelector={"zone": "a"},
            tolerations=[{"key": "k", "operator": "Exists"}],
            affinity={"podAntiAffinity": {}},
            topologySpreadConstraints=[
                {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
            ],
            volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}],
            resourceClaims=[
                {"name": "gpu", "resourceClaimTemplateName": "t"},
                {"name": "nic", "resourceClaimName": "n"},
            ],
            containers=[
                {
                    "name": "c",
                    "image": "i:1",
                    "ports": [{"containerPort": 80}, {"hostPort": 81, "protocol": "UDP"}],
                    "resources": {"limits": {"cpu": "2"}},
                    "env": [
                        {"name": "A", "value": "1"},
                        {"name": "B", "valueFrom": {"configMapKeyRef": {"name": "m", "key": "k"}}},
                    ],
                    "envFrom": [{"secretRef": {"name": "s"}}, {"configMapRef": {"name": "m"}}],
                }
            ],
            initContainers=[
                {"name": "i", "ports": [{"hostPort": 82, "hostIP": "10.0.0.1"}]},
                {"name": "s", "restartPolicy": "Always", "ports": [{"hostPort": 83}]},
            ],
            status={
                "phase": "Running",
                "qosClass": "Burstable",
                "nominatedNodeName": "m",
                "startTime": "1970-01-01T00:01:00Z",
                "conditions": [
                    {
                        "type": "PodScheduled",
                        "status": "True",
                        "lastProbeTime": None,
                        "lastTransitionTime": "2024-01-01T00:00:00Z",
                    }
                ],
                "resourceClaimStatuses": [{"name": "gpu", "resourceClaimName": "made"}],
            },
        )
    )
    assert (fact.uid, fact.key, fact.group) == ("u", "ns/p", "ns/g")
    assert fact.labels == {"a": "b"}
    assert fact.annotations == VOLCANO
    assert (fact.created, fact.deleted) == (1704067200.0, 1704067200.0)
    assert fact.owner == "2"
    assert (fact.scheduler_name, fact.node_name, fact.nominated_node) == ("volcano", "n", "m")
    assert (fact.priority, fact.priority_class, fact.preemption_policy) == (-5, "low", "Never")
    assert fact.gates == ("x/y",)
    assert fact.node_selector == {"zone": "a"}
    assert fact.tolerations == [{"key": "k", "operator": "Exists"}]
    assert fact.affinity == {"podAntiAffinity": {}}
    assert fact.topology_spread[0]["topologyKey"] == "zone"
    assert fact.volumes == [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]
    assert [claim["resourceClaimName"] for claim in fact.resource_claims] == ["made", "n"]
    assert fact.host_ports == (("UDP", "0.0.0.0", 81), ("TCP", "0.0.0.0", 83))
    assert fact.phase == "Running"
    assert fact.qos == "Burstable"
    assert fact.start_time == 60.0
    assert fact.conditions == [
        {"type": "PodScheduled", "status": "True", "lastTransitionTime": "2024-01-01T00:00:00Z"}
    ]
    (main,) = fact.containers
    assert (main.name, main.image, main.limits) == ("c", "i:1", Resource(2000))
    assert [ref["name"] for ref in main.env["env"]] == ["B"]
    assert main.env["envFrom"] == [{"configMapRef": {"name": "m"}}]
    assert [c.restart_always for c in fact.init_containers] == [False, True]


def test_a_bare_pod_has_the_defaults():
    fact = only({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}})
    assert (fact.uid, fact.key, fact.phase) == ("default-p", "default/p", "Pending")
    assert (fact.priority, fact.deleted, fact.start_time) == (None, None, None)
    assert (fact.created, fact.group, fact.owner) == (0.0, "", "")


def test_random_names_of_token_volumes_do_not_make_pods_different():
    volume = {"projected": {"sources": [{"configMap": {"name": "kube-root-ca.crt"}}]}}
    first, second = read(
        pod("a", volumes=[{"name": "kube-api-access-1", **volume}]),
        pod("b", volumes=[{"name": "kube-api-access-2", **volume}]),
    ).pods.values()
    assert first.volumes == second.volumes == [volume]


@pytest.mark.parametrize("early", [True, False])
def test_a_kai_pod_finds_its_group_in_any_namespace(early):
    objects = [KAI_QUEUE, KAI_GROUP, pod(metadata={"annotations": KAI})]
    assert only(*(objects if early else reversed(objects))).group == "team/g"


def test_a_pod_of_a_group_that_is_not_there_is_no_problem():
    assert only(pod(metadata={"annotations": KAI})).group == "ns/g"
    assert only(pod(metadata={"annotations": VOLCANO})).group == "ns/g"
    assert only(pod(metadata={"annotations": {"pod-group-name": ""}})).group == ""


SIDECAR = {
    "containers": [container(cpu="1")],
    "initContainers": [container("s", "Always", cpu="1")],
}


@pytest.mark.parametrize(
    "others, group, cpu",
    [
        ([VOLCANO_GROUP], "ns/g", 2000),
        ([KAI_QUEUE, KAI_GROUP], "team/g", 1000),
        ([VOLCANO_GROUP, KAI_QUEUE, KAI_GROUP], "ns/g", 2000),
        ([], "ns/g", 2000),
    ],
)
def test_of_two_annotations_the_one_with_a_group_counts(others, group, cpu):
    fact = only(pod(metadata={"annotations": VOLCANO | KAI}, **SIDECAR), *others)
    assert (fact.group, fact.request.cpu) == (group, cpu)


@pytest.mark.parametrize(
    "change, message",
    [
        ({"containers": "x"}, "spec.containers: expected a list, got a string"),
        ({"containers": [5]}, "spec.containers[0]: expected an object, got a whole number"),
        (
            {"containers": [container(cpu="lots")]},
            "spec.containers[0].resources.requests.cpu: 'lots' is not a quantity",
        ),
        (
            {"containers": [container(), container(memory="-1")]},
            "spec.containers[1].resources.requests.memory: -1 is negative",
        ),
        (
            {"containers": [{"ports": [{"hostPort": -1}]}]},
            "spec.containers[0].ports[0].hostPort: expected a whole number >= 0",
        ),
        (
            {"containers": [{"ports": [{"hostPort": 70000}]}]},
            "spec.containers[0].ports[0].hostPort: 70000 is not a port number",
        ),
        ({"nodeSelector": {"zone": 5}}, "spec.nodeSelector[...]: expected a string"),
        ({"tolerations": {"key": "x"}}, "spec.tolerations: expected a list, got an object"),
        (
            {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": []}}},
            "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution: expected",
        ),
        ({"priority": "high"}, "spec.priority: expected a whole number, got a string"),
        ({"priority": 2**40}, "spec.priority: expected a whole number <= "),
        ({"schedulingGates": ["x"]}, "spec.schedulingGates[0]: expected an object"),
        (
            {"volumes": [{"name": "v", "persistentVolumeClaim": {}}]},
            "spec.volumes[].persistentVolumeClaim: object missing required field `claimName`",
        ),
        ({"volumes": [{"name": 5}]}, "spec.volumes[].name: expected a string"),
        ({"overhead": {"cpu": None}}, "spec.overhead.cpu: null is not a quantity"),
        ({"metadata": {"labels": {"a": True}}}, "metadata.labels[...]: expected a string"),
        ({"metadata": {"creationTimestamp": "now"}}, "metadata.creationTimestamp: invalid RFC3339"),
        ({"metadata": {"name": ""}}, "has no metadata.name"),
        ({"metadata": {"name": 5}}, "metadata.name: expected a string"),
        ({"status": {"phase": []}}, "status.phase: expected a string, got a list"),
        ({"status": {"conditions": [{}]}}, "status.conditions[0]: object missing required"),
    ],
)
def test_a_malformed_pod_is_skipped_and_reported(change, message):
    inventory = read(pod("good"), pod("bad", **change))
    assert [fact.name for fact in inventory.pods.values()] == ["good"]
    (problem,) = inventory.problems
    assert problem.message.startswith(message)
    assert problem.where == "objects[1]"
    assert problem.object.startswith("Pod ")


def test_everything_a_scheduler_reads_of_a_node():
    inventory = read(
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {
                "name": "n",
                "labels": {"zone": "a"},
                "annotations": {"x": "y"},
                "creationTimestamp": "1970-01-01T00:00:10Z",
            },
            "spec": {
                "unschedulable": True,
                "taints": [{"key": "k", "effect": "NoSchedule", "timeAdded": None}],
            },
            "status": {
                "capacity": {"cpu": "8", "memory": "1Gi", "pods": "110", GPU: "4"},
                "allocatable": {"cpu": "7500m", "memory": "1000Mi", "pods": "100", GPU: "4"},
                "conditions": [{"type": "Ready", "status": "False", "reason": "x"}],
                "images": [{"names": ["a:1"], "sizeBytes": 5}, {"names": None, "sizeBytes": 6}],
            },
        }
    )
    fact = inventory.nodes["n"]
    assert not inventory.problems
    assert fact.capacity == Resource(8000, 2**30, {"pods": 110, GPU: 4000})
    assert fact.allocatable == Resource(7500, 1000 * 2**20, {"pods": 100, GPU: 4000})
    assert fact.max_pods == 100
    assert fact.labels == {"zone": "a"}
    assert fact.taints[0]["effect"] == "NoSchedule"
    assert fact.unschedulable
    assert fact.conditions == {"Ready": "False"}
    assert fact.images == [{"names": ["a:1"], "sizeBytes": 5}, {"names": [], "sizeBytes": 6}]
    assert fact.created == 10.0


def test_a_node_that_reports_only_capacity_has_all_of_it_to_give():
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}
    fact = read({**node, "status": {"capacity": {"cpu": "2", "pods": "9"}}}).nodes["n"]
    assert (fact.allocatable.cpu, fact.max_pods) == (2000, 9)
    fact = read({**node, "status": {"capacity": {"cpu": "2"}, "allocatable": {}}}).nodes["n"]
    assert fact.allocatable == Resource()


@pytest.mark.parametrize("part", ["capacity", "allocatable"])
@pytest.mark.parametrize("value, words", [("-1", "is negative"), ("1e40", "is too large")])
def test_a_node_with_impossible_resources_is_left_out(part, value, words):
    inventory = read(
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": "n"},
            "status": {part: {"cpu": value}},
        }
    )
    assert not inventory.nodes
    (problem,) = inventory.problems
    assert str(problem).startswith(f"objects[0]: Node n: status.{part}.cpu: ")
    assert words in problem.message
