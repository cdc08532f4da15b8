"""Scenarios and their objects."""

CREATED = "2020-01-01T00:00:00Z"


def meta(name, **more):
    return {"name": name, "creationTimestamp": CREATED, **more}


def node(name, cpu="2"):
    room = {"cpu": cpu, "memory": "8Gi", "pods": "10"}
    status = {"allocatable": room, "capacity": room}
    return {"apiVersion": "v1", "kind": "Node", "metadata": meta(name), "status": status}


def queue(name="q"):
    kind = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue"}
    return {**kind, "metadata": meta(name), "spec": {"weight": 1}}


def group(name="job", minimum=1, phase="Inqueue"):
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": meta(name, namespace="ns"),
        "spec": {"queue": "q", "minMember": minimum},
        "status": {"phase": phase},
    }


def pod(name, job="job", cpu="1", on=None):
    requests = {"cpu": cpu, "memory": "1Gi"}
    spec = {"containers": [{"name": "c", "resources": {"requests": requests}}]}
    if on:
        spec["nodeName"] = on
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": meta(name, namespace="ns", annotations={"scheduling.k8s.io/group-name": job}),
        "spec": spec,
        "status": {"phase": "Running" if on else "Pending"},
    }


POLICY = {"actions": ["first-fit"], "tiers": [{"plugins": ["whole"]}]}
CLUSTER = [node("a"), node("b"), queue(), group()]


def scenario(expect, *objects, **more):
    return {"config": POLICY, "objects": [*CLUSTER, *objects], "expect": expect, **more}
