"""Two clusters of the same facts are compared in every detail."""

import numpy as np
import pytest

from pumice.model.cluster import build_cluster
from pumice.model.facts import NetworkTopology, SubGroup
from pumice.model.incremental.compare import first_difference
from pumice.model.task import TaskStatus
from tests.framework._build import NOW, World
from tests.framework._histories import FAMILIES
from tests.plugins._fair import FairWorld, ask


def volcano():
    world = World().node("a").node("b").running("old", on=["a", "a"])
    world.job("j", tasks=2, network_topology=NetworkTopology("hard", 1))
    return world.inventory


def kai():
    world = FairWorld()
    world.node("n")
    world.queue("q")
    group = {"labels": {"runai-gpu-group": "7"}}
    world.job("j", "q", ask(fraction=0.5, on="n", **group), ask(), sub_groups=(SubGroup("left"),))
    world.job("k", "q", ask(fraction=0.5, on="n", **group))
    return world.inventory


def turned(table):
    """The same table in another order."""
    for key in list(table)[:-1]:
        table[key] = table.pop(key)


def another(cluster, uid):
    """A copy of a task that looks the same."""
    return build_cluster(cluster.inventory, now=cluster.now).tasks[uid]


HARMS = {
    "tasks has": lambda c: turned(c.tasks),
    "jobs has": lambda c: turned(c.jobs),
    "jobs has ['ns/old']": lambda c: c.jobs.pop("ns/j"),
    "now is": lambda c: setattr(c, "now", 1.0),
    "nodes: idle is": lambda c: c.nodes.idle.__setitem__((0, 0), 7),
    "nodes: max_pods is": lambda c: setattr(c.nodes, "max_pods", c.nodes.max_pods.astype(float)),
    "nodes: held[0] has": lambda c: turned(c.nodes.held[0]),
    "held[0]['old-t-0']: status is": lambda c: setattr(
        c.nodes.held[0]["old-t-0"], "status", TaskStatus.BOUND
    ),
    "it holds another task old-t-0": lambda c: setattr(
        c.nodes.held[0]["old-t-0"], "task", another(c, "old-t-0")
    ),
    "task ns/j-t-0: priority is": lambda c: setattr(c.tasks["j-t-0"], "priority", 3),
    "task ns/j-t-0: vector is": lambda c: setattr(c.tasks["j-t-0"], "vector", np.zeros(3)),
    "task ns/j-t-0: pod is": lambda c: setattr(c.tasks["j-t-0"], "pod", c.tasks["j-t-1"].pod),
    "task ns/j-t-0: state has": lambda c: c.tasks["j-t-0"].state.update(x=1),
    "task ns/j-t-0: job is": lambda c: setattr(c.tasks["j-t-0"], "job", None),
    "task ns/j-t-0: its job is not that of the cluster": lambda c: setattr(
        c.tasks["j-t-0"], "job", another(c, "j-t-0").job
    ),
    "task ns/j-t-0: its job counts another one": lambda c: c.jobs["ns/j"].tasks.update(
        {"j-t-0": another(c, "j-t-0")}
    ),
    "job ns/j: priority is": lambda c: setattr(c.jobs["ns/j"], "priority", 3),
    "job ns/j: refusals is": lambda c: c.jobs["ns/j"].refusals.append("no"),
    "job ns/j: by_status[0] has": lambda c: turned(c.jobs["ns/j"].by_status[0]),
    "job ns/j: network_topology: mode is": lambda c: setattr(
        c.jobs["ns/j"].network_topology, "mode", "soft"
    ),
    "sub-job ns/j: priority is": lambda c: setattr(c.jobs["ns/j"].sub_jobs["ns/j"], "priority", 3),
    "sub-job ns/j: it belongs to another job": lambda c: setattr(
        c.jobs["ns/j"].sub_jobs["ns/j"], "job", another(c, "j-t-0").job
    ),
    "its journal is not that of the cluster": lambda c: setattr(c.jobs["ns/j"], "journal", []),
    "hyper_nodes: ready is": lambda c: setattr(c.hyper_nodes, "ready", False),
}
KAI_HARMS = {
    "shared GPUs: used": lambda c: c.nodes.shares(0).used.update({"7": 1}),
    "sub_group_root: pod_sets is": lambda c: c.jobs["ns/j"].sub_group_root.pod_sets.clear(),
    "gpu: kind is": lambda c: setattr(c.tasks["j-0"], "gpu", c.tasks["j-1"].gpu),
}


@pytest.mark.parametrize("family", FAMILIES)
def test_two_builds_of_the_same_facts_are_equal(family):
    for seed in range(10):
        inventory = FAMILIES[family](seed)
        assert not first_difference(
            build_cluster(inventory, now=NOW), build_cluster(inventory, now=NOW)
        )


@pytest.mark.parametrize("message", [*HARMS, *KAI_HARMS])
def test_every_difference_is_named(message):
    inventory = volcano() if message in HARMS else kai()
    left, right = (build_cluster(inventory, now=NOW) for _ in range(2))
    (HARMS | KAI_HARMS)[message](left)
    assert message in (first_difference(left, right) or "")
