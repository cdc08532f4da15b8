"""What objects say of each other: queues of their parents, groups of their queues."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pumice._nearest import nearest
from pumice.manifests.queues import made_queue
from pumice.model.facts import Inventory, PodGroup, Problem, Queue

ROOT = "root"
_SHOWN = 5

Places = Mapping[str, str]
"""Where each queue (``Queue name``) and group (``PodGroup uid``) was read."""


def link(inventory: Inventory, places: Places, default_queue: str) -> None:
    """Make the queues that upstream makes, then leave out what hangs in the air, and tell."""
    _make_queues(inventory, default_queue)
    read = frozenset(inventory.queues)
    _cut_cycles(inventory, places)
    _cut_orphans(inventory, places)
    for queue in inventory.queues.values():
        queue.children.clear()
    for queue in inventory.queues.values():
        if queue.parent in inventory.queues:
            inventory.queues[queue.parent].children.append(queue.name)
    lost: dict[str, list[PodGroup]] = {}
    for group in inventory.groups.values():
        group.queue = group.queue or default_queue
        if group.queue not in inventory.queues:
            lost.setdefault(group.queue, []).append(group)
    for name, groups in lost.items():
        _leave_out_groups(inventory, places, name, groups, known=name in read)


def _make_queues(inventory: Inventory, default_queue: str) -> None:
    queues, groups = inventory.queues, inventory.groups
    volcano = [queue for queue in queues.values() if queue.family == "volcano"]
    wanted = volcano or any(group.family == "volcano" for group in groups.values())
    unclaimed = not queues and (groups or inventory.pods)
    if (wanted or unclaimed) and default_queue not in queues:
        queues[default_queue] = made_queue(default_queue)
    if ROOT not in queues and any(queue.parent == ROOT for queue in volcano):
        queues[ROOT] = made_queue(ROOT, reclaimable=False)


def _cut_cycles(inventory: Inventory, places: Places) -> None:
    queues = inventory.queues
    for cycle in _cycles(queues):
        path = " → ".join([*cycle, cycle[0]])
        for name in cycle:
            message = f"is its own ancestor: {path}"
            _leave_out(inventory, places, name, message, "take one parent out of the circle")
        _cut_below(inventory, places, cycle)


def _cycles(queues: Mapping[str, Queue]) -> list[list[str]]:
    cycles: list[list[str]] = []
    done: set[str] = set()
    for start in queues:
        path: dict[str, None] = {}
        name = start
        while name in queues and name not in done and name not in path:
            path[name] = None
            name = queues[name].parent
        if name in path:
            names = list(path)
            cycles.append(names[names.index(name) :])
        done.update(path)
    return cycles


def _cut_orphans(inventory: Inventory, places: Places) -> None:
    queues = inventory.queues
    for queue in list(queues.values()):
        if not queue.parent or queue.parent in queues or queue.name not in queues:
            continue
        message = f"names the unknown parent queue {queue.parent!r}"
        hint = _meant(queue.parent, (name for name in queues if name != queue.name))
        if queue.family == "kai":
            _leave_out(inventory, places, queue.name, message, hint)
            _cut_below(inventory, places, [queue.name])
        elif f"Queue {queue.name}" in places:
            # Flat policies do not look at the parent; the tree plugins say what it means to them.
            _tell(inventory, places, f"Queue {queue.name}", message, hint)


def _cut_below(inventory: Inventory, places: Places, gone: Iterable[str]) -> None:
    waiting = list(gone)
    while waiting:
        parent = waiting.pop()
        below = [name for name, queue in inventory.queues.items() if queue.parent == parent]
        for name in below:
            _leave_out(inventory, places, name, f"is below queue {parent!r}, which is left out")
        waiting += below


def _leave_out(
    inventory: Inventory, places: Places, name: str, message: str, hint: str = ""
) -> None:
    del inventory.queues[name]
    _tell(inventory, places, f"Queue {name}", message, hint)


def _leave_out_groups(
    inventory: Inventory, places: Places, name: str, groups: list[PodGroup], *, known: bool
) -> None:
    if known:
        message, hint = f"names queue {name!r}, which is left out", ""
    else:
        message, hint = f"names the unknown queue {name!r}", _meant(name, inventory.queues)
    for group in groups:
        _tell(inventory, places, f"PodGroup {group.uid}", message, hint)
        del inventory.groups[group.uid]


def _tell(inventory: Inventory, places: Places, label: str, message: str, hint: str) -> None:
    inventory.problems.append(Problem(places.get(label, ""), label, message, hint))


def _meant(name: str, known: Iterable[str]) -> str:
    """A hint at the queue that was meant, or at those there are."""
    names = sorted(known)
    near = nearest(name, names)
    if near or not names:
        return f"did you mean {near!r}?" if near else ""
    shown = ", ".join(names[:_SHOWN])
    return f"known queues: {shown}{', …' if len(names) > _SHOWN else ''}"
