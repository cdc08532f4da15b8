"""The accounts of all queues: flat, or as a tree below the root queue."""

from __future__ import annotations

import math

from pumice import Missing, Queue, Resource, Session
from pumice_builtin_plugins.capacity.accounts import Account
from pumice_builtin_plugins.quota.queue_books import (
    Columns,
    QueueShare,
    gather,
    real_capability,
    total_guarantee,
)

ROOT = "root"


def flat_accounts(session: Session, columns: Columns) -> dict[str, Account]:
    """The queues that have jobs, each for itself."""
    names = {job.queue for job in session.jobs.values()}
    shares = gather(session, columns, [session.queues[name] for name in sorted(names)])
    total = session.nodes.dimensions.resource(session.cluster.total)
    unreserved = total.exceeded_part(total_guarantee(session.queues.values()))
    accounts = {}
    for name, books in shares.items():
        books.real_capability = real_capability(unreserved, books)
        deserved = Resource() if books.queue.deserved is None else books.queue.deserved.clone()
        deserved.min_dimension(books.real_capability, Missing.INFINITY)
        books.deserved = deserved.set_max(books.guarantee)
        account = accounts[name] = Account(books)
        account.settle()
    return accounts


def tree_accounts(session: Session, columns: Columns) -> tuple[dict[str, Account], str]:
    """All queues below the root, and what is wrong with the tree, if anything is."""
    queues = session.queues
    if ROOT not in queues:
        return {}, f"there is no queue {ROOT!r}"
    lines: dict[str, tuple[str, ...]] = {}
    for name in queues:
        line = _ancestors(name, queues)
        if isinstance(line, str):
            return {}, line
        lines[name] = line
    shares = gather(session, columns, queues.values())
    accounts: dict[str, Account] = {}
    for name in sorted(lines, key=lambda name: (len(lines[name]), name)):
        account = Account(shares[name], tuple(accounts[above] for above in lines[name]))
        accounts[name] = account
        if account.ancestors:
            account.ancestors[-1].children.append(account)
    for job in session.jobs.values():
        if not accounts[job.queue].is_leaf:
            return {}, f"job {job.uid} is in queue {job.queue}, which has queues below it"
    for account in accounts.values():
        for ancestor in account.ancestors if account.is_leaf else ():
            _add_books(ancestor.books, account.books)
    _bound_root(accounts[ROOT], columns)
    return accounts, ""


def _ancestors(name: str, queues: dict[str, Queue]) -> tuple[str, ...] | str:
    """The names from the root to the parent, or what is wrong."""
    line: list[str] = []
    at = name
    while at != ROOT:
        parent = queues[at].parent or ROOT
        if parent not in queues:
            return f"queue {at} has the unknown parent {parent!r}"
        if parent == name or parent in line:
            return f"queue {name} is below itself"
        line.append(parent)
        at = parent
    return tuple(reversed(line))


def _add_books(ancestor: QueueShare, leaf: QueueShare) -> None:
    for position, amount in enumerate(leaf.allocated):
        ancestor.allocated[position] += amount
    for position, amount in enumerate(leaf.request):
        ancestor.request[position] += amount
    ancestor.inqueue.add(leaf.inqueue)
    ancestor.elastic.add(leaf.elastic)


def _bound_root(root: Account, columns: Columns) -> None:
    unlimited = Resource(math.inf, math.inf, dict.fromkeys(columns.names[2:], math.inf))
    books = root.books
    books.capability = _inherited(books.capability, unlimited)
    books.real_capability = books.capability
    guarantee, deserved = Resource(), Resource()
    for child in root.children:
        guarantee.add(child.books.guarantee)
        deserved.add(child.books.queue.deserved or Resource())
    books.guarantee, books.deserved = guarantee, deserved
    root.settle()
    _bound_children(root)


def _bound_children(parent: Account) -> None:
    """Bound each child by its parent, its siblings' guarantees and its own capability."""
    assert parent.books.capability is not None
    guarantees = Resource()
    for child in parent.children:
        guarantees.add(child.books.guarantee)
    unreserved = parent.books.real_capability.exceeded_part(guarantees)
    for child in parent.children:
        books = child.books
        books.capability = _inherited(books.capability, parent.books.capability)
        books.real_capability = real_capability(unreserved, books)
        deserved = Resource() if books.queue.deserved is None else books.queue.deserved.clone()
        books.deserved = deserved.set_max(books.guarantee)
        child.settle()
        _bound_children(child)


def _inherited(capability: Resource | None, parent: Resource) -> Resource:
    """A capability with the parent's where it sets none."""
    if capability is None:
        return parent
    return Resource(
        parent.cpu if math.isinf(capability.cpu) else capability.cpu,
        parent.memory if math.isinf(capability.memory) else capability.memory,
        {**parent.scalars, **capability.scalars},
    )
