"""Plain pods become jobs of one task, so that a dump without pod groups can be scheduled."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from pumice.model.facts import Inventory, PodGroup, Queue

OURS = frozenset({"", "default-scheduler", "pumice", "volcano", "kai-scheduler"})
"""Scheduler names of pods that are ours where the policy names none.

The API server writes ``default-scheduler`` into every pod that asks for no scheduler.
"""


def adopt(
    inventory: Inventory, *, queue: str = "default", scheduler_names: Collection[str] = ()
) -> Inventory:
    """The inventory in which every pending pod without a pod group has one of its own.

    Pods that ask for another scheduler are left alone. The pod group starts out Pending, to be
    let in by the enqueue action like any other.
    """
    ours = {"", *scheduler_names} if scheduler_names else OURS
    pods, groups = dict(inventory.pods), dict(inventory.groups)
    for uid, pod in inventory.pods.items():
        waiting = pod.phase == "Pending" and not pod.node_name and pod.deleted is None
        if pod.group or not waiting or pod.scheduler_name not in ours:
            continue
        name = f"podgroup-{pod.name}"
        group = f"{pod.namespace}/{name}"
        if group in groups:
            continue
        groups[group] = PodGroup(
            uid=group,
            name=name,
            namespace=pod.namespace,
            queue=queue,
            min_member=1,
            priority_class=pod.priority_class,
            created=pod.created,
            phase="Pending",
        )
        pods[uid] = replace(pod, group=group)
    queues = dict(inventory.queues)
    if len(groups) > len(inventory.groups):
        queues.setdefault(queue, Queue(queue))
    return replace(inventory, pods=pods, groups=groups, queues=queues)
