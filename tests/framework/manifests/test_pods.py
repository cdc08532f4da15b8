"""Pods: their groups, and all fields that scheduling reads."""

import pytest

from pumice.model.resources import Resource
from tests.framework.manifests._pods import KAI, VOLCANO, container, only, pod, read

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


@pytest.mark.parametrize(
    "other",
    [
        pod("b", metadata={"labels": {"a": "c"}}),
        pod("b", metadata={"annotations": KAI}),
        pod("b", metadata={"namespace": "elsewhere"}),
        pod("b", metadata={"ownerReferences": [{"kind": "Job", "name": "j", "uid": "2"}]}),
        pod("b", metadata={"creationTimestamp": "2024-01-01T00:00:00Z"}),
        pod("b", metadata={"deletionTimestamp": "2024-01-01T00:00:00Z"}),
        pod("b", nodeName="n"),
        pod("b", priority=7),
        pod("b", tolerations=[{"operator": "Exists"}]),
        pod("b", containers=[container(cpu="1")]),
        pod("b", overhead={"cpu": "1"}),
        pod("b", resourceClaims=[{"name": "gpu", "resourceClaimName": "n"}]),
        pod("b", status={"phase": "Running"}),
        pod("b", status={"nominatedNodeName": "n"}),
        pod("b", status={"startTime": "2024-01-01T00:00:00Z"}),
        pod("b", status={"conditions": [{"type": "Ready", "status": "True"}]}),
    ],
)
def test_a_pod_that_differs_from_the_one_before_is_read_on_its_own(other):
    def fields(fact):
        return {name: getattr(fact, name) for name in fact.__slots__ if name != "containers"}

    alone = fields(only(other))
    for before, after in ((pod("a"), pod("c")), (pod("a", nodeName="m"), pod("c"))):
        facts = {fact.name: fact for fact in read(before, other, after).pods.values()}
        assert fields(facts["b"]) == alone
        assert fields(facts["c"]) == fields(only(after))
