"""A plugin that misbehaves in one extension point, and clusters in which every point is asked."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from pumice import Plugin, hookimpl
from pumice.config import Policy, policy_from_dict
from pumice.config.settings import AS_UPSTREAM
from pumice.discovery import Source
from pumice.hookspecs import POINTS
from pumice.model.facts import HyperNode, NetworkTopology, Queue, SubGroup, SubGroupPolicy
from pumice.model.task import Task
from pumice.testing.cluster import Cluster, amount
from pumice.verdicts import BindContext, NodeVerdicts
from tests.framework._build import plugin_entry
from tests.plugins._fair import FairWorld, ask

SOURCE = Source("pumice-faulty", "2.7", "pumice_faulty:Faulty")
OTHERS = ("first", "last")
"""Jobs of every cluster that the fault must not touch."""

# -- what is done wrong


class Strange:
    """An object of a type that no extension point expects."""

    def __repr__(self) -> str:
        return "<strange>"


def _raise(*args: Any) -> Any:
    raise ZeroDivisionError("oops")


def _exit(*args: Any) -> Any:
    sys.exit(3)


def _not_finite(point: str, args: tuple[Any, ...]) -> Any:
    answer = POINTS[point].answer
    if answer == "np.ndarray | None":
        return np.full(len(args[-1]), np.inf)
    if answer == "Mapping[str, float] | None":
        return dict.fromkeys(args[-1], float("nan"))
    return float("inf") if answer == "float | None" else float("nan")


def _foreign(point: str, args: tuple[Any, ...]) -> Any:
    """Something that the question was not about: a node, a task, a hypernode that is unknown."""
    answer = POINTS[point].answer
    if answer == "Sequence[Task] | None":
        return [STRANGER]
    if answer == "np.ndarray | None":
        return np.zeros(len(args[-1]) + 1)
    if answer == "NodeVerdicts | None":
        return NodeVerdicts.accept(len(args[-1]) + 1)
    known = {
        "best_node": "nowhere",
        "subset_nodes": [[10**6]],
        "hyper_node_order": {"nowhere": 1.0},
        "hyper_node_gradient_for_job": [["nowhere"]],
        "hyper_node_gradient_for_sub_job": [["nowhere"]],
    }
    return known.get(point, STRANGER)


KINDS: dict[str, Callable[[str, tuple[Any, ...]], Any]] = {
    "raise": _raise,
    "SystemExit": _exit,
    "wrong type": lambda point, args: Strange(),
    "not finite": _not_finite,
    "foreign": _foreign,
}


def concerns(thing: Any) -> bool:
    """Whether a task, a job, a queue or something that knows one belongs to the job "bad"."""
    if isinstance(thing, Queue):
        return thing.name.startswith("bad")
    for name in ("job", "task", "preemptor"):
        inner = getattr(thing, name, None)
        if inner is not None:
            return concerns(inner)
    if isinstance(thing, list | tuple):
        return any(map(concerns, thing))
    return getattr(thing, "name", "") == "bad"


def faulty(point: str, kind: str, called: list[str]) -> type[Plugin]:
    """A plugin that misbehaves in one point where the job "bad" is concerned, if anything is.

    ``called`` gets the point whenever it misbehaves.
    """
    act, args = KINDS[kind], POINTS[point].args

    def misbehave(values: tuple[Any, ...]) -> Any:
        about = [value for value in values if _may_concern(value) and point not in ALWAYS]
        if about and not any(map(concerns, about)):
            return None
        called.append(point)
        return act(point, values)

    names = "".join(f"{name}, " for name in args)
    source = f"lambda self, {names}: misbehave(({names}))"
    method = eval(source, {"misbehave": misbehave, "__name__": __name__})
    methods = {point: hookimpl(method)}
    if point.endswith("_order_key"):  # a key is used only beside the comparison
        base = POINTS[point].base
        methods[base] = hookimpl(eval("lambda self, left, right: 0"))
    if point == "pre_bind_rollback":  # called only where a bind has been prepared
        methods["pre_bind"] = hookimpl(eval("lambda self: None"))
    if point == "node_reduce":
        methods["node_map"] = hookimpl(
            eval("lambda self, task, nodes: zeros(len(nodes))", {"zeros": np.zeros})
        )
    return type("Faulty", (Plugin,), methods)


def _may_concern(value: Any) -> bool:
    return isinstance(value, Queue | list | tuple) or any(
        hasattr(value, name) for name in ("job", "task", "preemptor", "by_status")
    )


# -- clusters


def placing() -> Cluster:
    """Pending jobs that fit, the bad one in a queue of its own, and one that never fits."""
    world = Cluster().nodes("a", "b", "c")
    for number, name in enumerate(("first", "bad", "last")):
        queue = "bad" if name == "bad" else "q"
        tasks = 3 if name == "bad" else 2
        world.job(name, tasks=tasks, queue=queue, created=float(number), phase="Pending")
        group = world.inventory.groups[f"ns/{name}"]
        group.min_resources = world.inventory.pods[f"{name}-t-0"].request
    world.pod("bad-t-7", "ns/bad", cpu=0, memory=0)
    world.job("twin", queue="bad", cpu=1)
    return world


def evicting() -> Cluster:
    """The bad job is starving: it may preempt in its queue and reclaim from another."""
    world = Cluster().nodes("a", "b").nodes("full", cpu=4)
    for queue, weight in (("q", 1), ("bad", 4), ("badder", 1)):
        world.queue(queue, weight=weight)
    world.running("victim", ["full"], queue="badder", min_member=0, created=1.0)
    world.running("other", ["full"], queue="baddest", min_member=0, created=1.0)
    world.running("small", ["full", "full"], queue="bad", min_member=0, created=1.0)
    facts: dict[str, Any] = {"node_selector": {"pool": "full"}}
    for number, name in enumerate(OTHERS):
        world.job(name, tasks=2, created=float(number))
    world.inventory.nodes["full"].labels = {"pool": "full"}
    world.job("bad", tasks=2, queue="bad", priority=5, pod=facts, created=9.0)
    return world


def racks() -> Cluster:
    """The bad job has two sub-jobs, each of which must stay inside one of two racks."""
    world = Cluster().nodes("a", "b", "c", "d", cpu=4)
    world.inventory.hypernodes = {
        name: HyperNode(
            name,
            1,
            members=[
                {"type": "Node", "selector": {"exactMatch": {"name": node}}} for node in nodes
            ],
        )
        for name, nodes in {"left": ["a", "b"], "right": ["c", "d"]}.items()
    }
    for number, name in enumerate(OTHERS):
        world.job(name, tasks=2, created=float(number))
    hard = NetworkTopology("hard", 1)
    parts = [SubGroupPolicy("part", match_label_keys=("part",), size=1, network_topology=hard)]
    world.job("bad", 2, queue="bad", network_topology=hard, sub_group_policies=parts, created=9.0)
    for number in range(2):
        world.inventory.pods[f"bad-t-{number}"].labels = {"part": str(number)}
    return world


def full_racks() -> Cluster:
    """As :func:`racks`, but no rack has room for a sub-job of the bad job."""
    world = racks()
    for number in range(2):
        world.inventory.pods[f"bad-t-{number}"].request = amount(9, 1, pods=1)
    return world


def sharing() -> FairWorld:
    """KAI objects; the bad job takes parts of GPUs and waits for one task more."""
    world = FairWorld()
    world.node("a", gpu=8)
    world.node("b", gpu=8)
    for queue in ("q", "bad"):
        world.queue(queue, 8)
    world.job("first", "q", ask(1), ask(1))
    parts = [SubGroup(name, 1) for name in ("left", "right")]
    shares = [ask(0, fraction=0.5, sub_group=part.name) for part in parts]
    world.job("bad", "bad", *shares, sub_groups=parts)
    world.job("twin", "bad", ask(1))
    world.job("last", "q", ask(1), ask(1))
    return world


def reclaiming() -> FairWorld:
    """The bad job is entitled to a GPU that another queue uses beyond its quota."""
    world = FairWorld()
    world.node("a", gpu=4)
    world.node("full", gpu=2)
    world.queue("q", 4)
    world.queue("bad", 2)
    world.queue("other", 0)
    world.job("victim", "other", ask(2, on="full"))
    world.job("victim-2", "other", ask(0, cpu=1, on="full"))
    surplus = [ask(0, cpu=1, on="full") for _ in range(3)]
    world.job("victim-3", "other", *surplus, min_member=1, priority=1)
    world.job("first", "q", ask(1), ask(1))
    world.job("last", "q", ask(1), ask(1))
    world.inventory.nodes["full"].labels |= {"pool": "full"}
    world.job("bad", "bad", ask(2, node_selector={"pool": "full"}))
    return world


def reclaiming_behind_others() -> FairWorld:
    """As :func:`reclaiming`, but several jobs are to be evicted before the one with the GPUs."""
    world = reclaiming()
    for number in range(4):
        world.job(f"small-{number}", "other", ask(0, cpu=1, on="full"))
    return world


def preempting() -> FairWorld:
    """The bad job may evict a less important one of its queue."""
    world = FairWorld()
    world.node("a", gpu=4)
    world.node("full", gpu=2)
    world.queue("q", 4)
    world.queue("bad", 2)
    world.job("victim", "bad", ask(2, on="full"), priority=10)
    world.job("first", "q", ask(1), ask(1))
    world.job("last", "q", ask(1), ask(1))
    world.job("bad", "bad", ask(2), priority=60)
    return world


_VOLCANO = [["priority", "gang", "conformance"], ["drf", "predicates", "proportion", "nodeorder"]]
_EVICTING = ["enqueue", "allocate", "reclaim", "preempt", "gangreclaim", "gangpreempt", "shuffle"]

CLUSTERS: dict[str, tuple[Callable[[], Any], Mapping[str, Any]]] = {
    "placing": (placing, {"actions": ["enqueue", "allocate", "backfill"]}),
    "evicting": (evicting, {"actions": _EVICTING, "evictions": AS_UPSTREAM}),
    "preempting first": (evicting, {"actions": ["allocate", "preempt"]}),
    "evicting gangs": (evicting, {"actions": ["allocate", "gangreclaim", "gangpreempt"]}),
    "simulating": (
        evicting,
        {
            "actions": ["allocate", "preempt"],
            "action": {"preempt": {"enableTopologyAwarePreemption": True}},
        },
    ),
    "racks": (racks, {"actions": ["allocate", "gangpreempt"]}),
    "full racks": (full_racks, {"actions": ["allocate", "gangpreempt"]}),
    "sharing": (sharing, {"preset": "kai"}),
    "one order of queues": (
        sharing,
        {
            "actions": ["fair_allocate"],
            "tiers": [
                {"plugins": ["kai_predicates", {"name": "fairshare", "disable": ["queue_order"]}]},
                {"plugins": ["priority", "elastic", "subgrouporder", "taskorder"]},
            ],
        },
    ),
    "reclaiming": (reclaiming, {"preset": "kai"}),
    "reclaiming behind others": (reclaiming_behind_others, {"preset": "pumice"}),
    "preempting": (preempting, {"preset": "kai"}),
}


class Refusing(Plugin):
    """Refuses the binds of the bad job."""

    @hookimpl
    def pre_bind(self, bind_context: BindContext) -> str | None:
        return "not this one" if concerns(bind_context.task) else None


def policy_with(plugin: type[Plugin], table: Mapping[str, Any], **settings: Any) -> Policy:
    """A policy in which the plugin is asked first."""
    tiers = {} if "preset" in table else {"tiers": [{"plugins": names} for names in _VOLCANO]}
    policy = policy_from_dict({**tiers, **table, "scheduler": settings})
    first, *rest = policy.tiers
    entry = plugin_entry(plugin, "faulty", source=SOURCE)
    last = (
        ((plugin_entry(Refusing, source=SOURCE),),) if "pre_bind_rollback" in entry.points else ()
    )
    return replace(policy, tiers=((entry, *first), *rest, *last))


ALWAYS = {"victim_tasks"}
"""Points that are asked about no job in particular."""

STRANGER: Task = next(
    iter(
        Cluster()
        .node("z")
        .running("stranger", "z")
        .session(policy_from_dict({"actions": ["allocate"], "tiers": [{"plugins": ["gang"]}]}))
        .cluster.tasks.values()
    )
)
"""A task of another cluster."""
