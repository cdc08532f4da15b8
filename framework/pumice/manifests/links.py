"""Links between objects: queues to their parents, pod groups to their queues."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pumice._nearest import nearest
from pumice.manifests.volcano import automatic_queue
from pumice.model.facts import Inventory, PodGroup, Problem, Queue

ROOT = "root"
_MAX_LISTED = 5

Places = Mapping[str, str]
"""Where each queue (``Queue name``) and group (``PodGroup uid``) was read."""


def link(inventory: Inventory, places: Places, default_queue: str) -> None:
    """Create the queues that Volcano creates, then drop and report what has a broken link."""
    _create_queues(inventory, default_queue)
    read = frozenset(inventory.queues)
    _drop_cycles(inventory, places)
    _drop_orphans(inventory, places)
    for queue in inventory.queues.values():
        queue.children.clear()
    for queue in inventory.queues.values():
        if queue.parent in inventory.queues:
            inventory.queues[queue.parent].children.append(queue.name)
    orphans: dict[str, list[PodGroup]] = {}
    for group in inventory.groups.values():
        group.queue = group.queue or default_queue
        if group.queue not in inventory.queues:
            orphans.setdefault(group.queue, []).append(group)
    for name, groups in orphans.items():
        _drop_groups(inventory, places, name, groups, known=name in read)


def _create_queues(inventory: Inventory, default_queue: str) -> None:
    queues, groups = inventory.queues, inventory.groups
    volcano = [queue for queue in queues.values() if queue.family == "volcano"]
    is_volcano = volcano or any(group.family == "volcano" for group in groups.values())
    no_family = not queues and (groups or inventory.pods)
    if (is_volcano or no_family) and default_queue not in queues:
        queues[default_queue] = automatic_queue(default_queue)
    if ROOT not in queues and any(queue.parent == ROOT for queue in volcano):
        queues[ROOT] = automatic_queue(ROOT, reclaimable=False)


def _drop_cycles(inventory: Inventory, places: Places) -> None:
    queues = inventory.queues
    for cycle in _cycles(queues):
        path = " → ".join([*cycle, cycle[0]])
        for name in cycle:
            message = f"is its own ancestor: {path}"
            _drop(inventory, places, name, message, "remove the parent of one of them")
        _drop_below(inventory, places, cycle)


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


def _drop_orphans(inventory: Inventory, places: Places) -> None:
    queues = inventory.queues
    for queue in list(queues.values()):
        if not queue.parent or queue.parent in queues or queue.name not in queues:
            continue
        message = f"names the unknown parent queue {queue.parent!r}"
        hint = _hint(queue.parent, (name for name in queues if name != queue.name))
        if queue.family == "kai":
            _drop(inventory, places, queue.name, message, hint)
            _drop_below(inventory, places, [queue.name])
        elif f"Queue {queue.name}" in places:
            # Without a queue tree the parent is ignored; plugins that have one report it.
            _report(inventory, places, f"Queue {queue.name}", message, hint)


def _drop_below(inventory: Inventory, places: Places, gone: Iterable[str]) -> None:
    parents = list(gone)
    while parents:
        parent = parents.pop()
        below = [name for name, queue in inventory.queues.items() if queue.parent == parent]
        for name in below:
            _drop(inventory, places, name, f"is below queue {parent!r}, which is left out")
        parents += below


def _drop(inventory: Inventory, places: Places, name: str, message: str, hint: str = "") -> None:
    del inventory.queues[name]
    _report(inventory, places, f"Queue {name}", message, hint)


def _drop_groups(
    inventory: Inventory, places: Places, name: str, groups: list[PodGroup], *, known: bool
) -> None:
    if known:
        message, hint = f"names queue {name!r}, which is left out", ""
    else:
        message, hint = f"names the unknown queue {name!r}", _hint(name, inventory.queues)
    for group in groups:
        _report(inventory, places, f"PodGroup {group.uid}", message, hint)
        del inventory.groups[group.uid]


def _report(inventory: Inventory, places: Places, label: str, message: str, hint: str) -> None:
    inventory.problems.append(Problem(places.get(label, ""), label, message, hint))


def _hint(name: str, known: Iterable[str]) -> str:
    """The queue that was probably meant, or the names of the known ones."""
    names = sorted(known)
    near = nearest(name, names)
    if near or not names:
        return f"did you mean {near!r}?" if near else ""
    shown = ", ".join(names[:_MAX_LISTED])
    return f"known queues: {shown}{', …' if len(names) > _MAX_LISTED else ''}"
