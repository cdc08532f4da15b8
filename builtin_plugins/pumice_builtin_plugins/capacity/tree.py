"""All queues of a session: flat, or as a tree below the root queue."""

from __future__ import annotations

import math

from pumice import Missing, Queue, Resource, Session, queue_path
from pumice_builtin_plugins.capacity.queues import CapacityQueue
from pumice_builtin_plugins.quota.queue_accounts import (
    QueueAccount,
    open_accounts,
    real_capability,
    total_guarantee,
)
from pumice_builtin_plugins.quota.resource_columns import ResourceColumns

ROOT = "root"


def flat_queues(session: Session, columns: ResourceColumns) -> dict[str, CapacityQueue]:
    """The queues that have jobs, each on its own."""
    names = {job.queue for job in session.jobs.values()}
    accounts = open_accounts(session, columns, [session.queues[name] for name in sorted(names)])
    total = session.nodes.dimensions.resource(session.cluster.total)
    unreserved = total.exceeded_part(total_guarantee(session.queues.values()))
    queues = {}
    for name, account in accounts.items():
        account.real_capability = real_capability(unreserved, account)
        deserved = _deserved(account.queue)
        deserved.min_dimension(account.real_capability, Missing.INFINITY)
        account.deserved = deserved.set_max(account.guarantee)
        queue = queues[name] = CapacityQueue(account)
        queue.settle()
    return queues


def queue_tree(session: Session, columns: ResourceColumns) -> tuple[dict[str, CapacityQueue], str]:
    """All queues below the root, and what is wrong with the tree ("": nothing)."""
    queues = session.queues
    if ROOT not in queues:
        return {}, f"there is no queue {ROOT!r}"
    ancestors_of: dict[str, tuple[str, ...]] = {}
    for name in queues:
        ancestors = _ancestors(name, queues)
        if isinstance(ancestors, str):
            return {}, ancestors
        ancestors_of[name] = ancestors
    accounts = open_accounts(session, columns, queues.values())
    tree: dict[str, CapacityQueue] = {}
    for name in sorted(ancestors_of, key=lambda name: (len(ancestors_of[name]), name)):
        queue = CapacityQueue(accounts[name], tuple(tree[above] for above in ancestors_of[name]))
        tree[name] = queue
        if queue.ancestors:
            queue.ancestors[-1].children.append(queue)
    for job in session.jobs.values():
        if not tree[job.queue].is_leaf:
            return {}, f"job {job.uid} is in queue {job.queue}, which has queues below it"
    for queue in tree.values():
        for ancestor in queue.ancestors if queue.is_leaf else ():
            _add_account(ancestor.account, queue.account)
    _set_root_bounds(tree[ROOT], columns)
    return tree, ""


def _ancestors(name: str, queues: dict[str, Queue]) -> tuple[str, ...] | str:
    """The names from the root to the parent, or what is wrong."""
    top, *path = queue_path(queues, name, root=ROOT)
    if top.name != ROOT:
        parent = top.parent or ROOT
        if parent not in queues:
            return f"queue {top.name} has the unknown parent {parent!r}"
        return f"queue {name} is below itself"
    return tuple(queue.name for queue in (top, *path[:-1])) if path else ()


def _add_account(ancestor: QueueAccount, leaf: QueueAccount) -> None:
    for position, amount in enumerate(leaf.allocated):
        ancestor.allocated[position] += amount
    for position, amount in enumerate(leaf.request):
        ancestor.request[position] += amount
    ancestor.inqueue.add(leaf.inqueue)
    ancestor.elastic.add(leaf.elastic)


def _set_root_bounds(root: CapacityQueue, columns: ResourceColumns) -> None:
    unlimited = Resource(math.inf, math.inf, dict.fromkeys(columns.names[2:], math.inf))
    account = root.account
    account.capability = _inherited(account.capability, unlimited)
    account.real_capability = account.capability
    guarantee, deserved = Resource(), Resource()
    for child in root.children:
        guarantee.add(child.account.guarantee)
        deserved.add(child.account.queue.deserved or Resource())
    account.guarantee, account.deserved = guarantee, deserved
    root.settle()
    _set_bounds_of_children(root)


def _set_bounds_of_children(parent: CapacityQueue) -> None:
    """Bound each child by its parent, its siblings' guarantees and its own capability.

    As in Volcano, deserved is not cut down to the real capability in a tree.
    """
    assert parent.account.capability is not None
    guarantees = Resource()
    for child in parent.children:
        guarantees.add(child.account.guarantee)
    unreserved = parent.account.real_capability.exceeded_part(guarantees)
    for child in parent.children:
        account = child.account
        account.capability = _inherited(account.capability, parent.account.capability)
        account.real_capability = real_capability(unreserved, account)
        account.deserved = _deserved(account.queue).set_max(account.guarantee)
        child.settle()
        _set_bounds_of_children(child)


def _deserved(queue: Queue) -> Resource:
    return Resource() if queue.deserved is None else queue.deserved.clone()


def _inherited(capability: Resource | None, parent: Resource) -> Resource:
    """A capability with the parent's where it sets none."""
    if capability is None:
        return parent
    return Resource(
        parent.cpu if math.isinf(capability.cpu) else capability.cpu,
        parent.memory if math.isinf(capability.memory) else capability.memory,
        {**parent.scalars, **capability.scalars},
    )
