"""What has changed between two inventories, as far as a cluster depends on it.

Facts are compared by identity: a backend reports a changed object as a new one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from itertools import compress
from operator import attrgetter, is_not

from pumice.model.build import job_priority
from pumice.model.dimensions import Dimensions
from pumice.model.facts import Inventory, Node, Pod, PodGroup
from pumice.model.families.kai.nodes import has_kai_jobs, is_kai_job
from pumice.model.gpu.request import GPU
from pumice.model.resources import Resource

_SLICES, _CLAIMS, _BINDS = "ResourceSlice", "ResourceClaim", "BindRequest"
_STATUS = ("phase", "conditions", "last_start", "stale_since")
_spec = attrgetter(*(f.name for f in fields(PodGroup) if f.name not in _STATUS))


@dataclass(slots=True)
class Changes:
    """Of one kind of facts: which are new or changed, and which are gone."""

    changed: list[str]
    gone: list[str]

    @classmethod
    def between(cls, old: Mapping[str, object], new: Mapping[str, object]) -> Changes:
        if list(old) == list(new):
            return cls(list(compress(new, map(is_not, old.values(), new.values()))), [])
        known = old.get
        changed = [key for key, fact in new.items() if known(key) is not fact]
        common = len(new) - sum(1 for key in changed if key not in old)
        return cls(changed, [key for key in old if key not in new] if common < len(old) else [])

    def __bool__(self) -> bool:
        return bool(self.changed or self.gone)

    def __iter__(self) -> Iterator[str]:
        yield from self.changed
        yield from self.gone


@dataclass(slots=True)
class Difference:
    """What must be refreshed in a cluster that was built of other facts."""

    pods: Changes
    """Pods to be read again."""
    nodes: Changes
    """Nodes that came, changed or are gone."""
    moved_nodes: frozenset[str]
    """Names of those that came or are gone."""
    groups: set[str]
    """Pod groups to be read again with all their pods, and those that are gone."""
    statuses: list[str] = field(default_factory=list)
    """Pod groups of which only the status has changed."""
    tree: bool = False
    """Whether the tree of hypernodes may have changed."""


class KnownFacts:
    """The facts of an inventory when a cluster was built of them."""

    def __init__(
        self,
        inventory: Inventory,
        scheduler_names: Collection[str],
        *,
        kai: bool | None = None,
    ) -> None:
        # The tables may be changed in place, the objects in them never are.
        self._pods = dict(inventory.pods)
        self._nodes = dict(inventory.nodes)
        self._groups = dict(inventory.groups)
        self._queues = dict(inventory.queues)
        self._priorities = dict(inventory.priority_classes)
        self._hyper_nodes = dict(inventory.hypernodes)
        self._others = {
            kind: dict(inventory.others.get(kind, {})) for kind in (_SLICES, _CLAIMS, _BINDS)
        }
        self._scheduler_names = tuple(scheduler_names)
        self.kai = has_kai_jobs(inventory) if kai is None else kai
        """Whether the cluster has KAI jobs."""

    @staticmethod
    def are_regular(inventory: Inventory) -> bool:
        """Whether every object has its own name as key and no two pods have the same name."""
        pods = inventory.pods
        return (
            all(uid == pod.uid for uid, pod in pods.items())
            and all(name == node.name for name, node in inventory.nodes.items())
            and all(uid == group.uid for uid, group in inventory.groups.items())
            and len({pod.key for pod in pods.values()}) == len(pods)
        )

    def difference(
        self, inventory: Inventory, scheduler_names: Collection[str], dimensions: Dimensions
    ) -> Difference | None:
        """What has changed; None: rebuild from scratch."""
        if tuple(scheduler_names) != self._scheduler_names:
            return None
        pods = Changes.between(self._pods, inventory.pods)
        nodes = Changes.between(self._nodes, inventory.nodes)
        groups = Changes.between(self._groups, inventory.groups)
        queues = Changes.between(self._queues, inventory.queues)
        if 2 * len(pods.changed) > len(inventory.pods):
            return None
        moved_nodes = frozenset(self._nodes.keys() ^ inventory.nodes.keys())
        if 2 * len(moved_nodes) > len(inventory.nodes):
            return None
        if self.kai != self._has_kai_jobs(inventory, groups, queues):
            return None
        if not self._same_dimensions(inventory, pods, nodes, dimensions):
            return None
        if not self._regular(inventory, pods, nodes, groups):
            return None
        if self.kai and not self._add_kai_pods(inventory, pods):
            return None
        difference = Difference(pods, nodes, moved_nodes, set(groups.gone))
        for uid in groups.changed:
            old = self._groups.get(uid)
            if old is not None and _spec(old) == _spec(inventory.groups[uid]):
                difference.statuses.append(uid)
            else:
                difference.groups.add(uid)
        difference.groups.update(self._moved_queues(inventory))
        if Changes.between(self._priorities, inventory.priority_classes):
            difference.groups.update(self._other_priorities(inventory))
        difference.tree = (
            bool(moved_nodes)
            or bool(Changes.between(self._hyper_nodes, inventory.hypernodes))
            or bool(inventory.hypernodes and nodes)
        )
        return difference

    def _has_kai_jobs(self, inventory: Inventory, groups: Changes, queues: Changes) -> bool:
        if self.kai or queues:
            return has_kai_jobs(inventory)
        return any(is_kai_job(inventory.groups[uid], inventory.queues) for uid in groups.changed)

    def _same_dimensions(
        self, inventory: Inventory, pods: Changes, nodes: Changes, dimensions: Dimensions
    ) -> bool:
        """Whether no resource name appears for the first time or has its last use removed."""
        pairs = [(self._pods.get(uid), inventory.pods.get(uid)) for uid in pods]
        amounts = [(_request(old), _request(new)) for old, new in pairs]
        amounts += [
            (_allocatable(self._nodes.get(name)), _allocatable(inventory.nodes.get(name)))
            for name in nodes
        ]
        lost: set[str] = set()
        for before, after in amounts:
            if before is not after:
                named = _names(after)
                if not named <= dimensions.position.keys():
                    return False
                lost |= _names(before) - named
        lost -= {*Dimensions().names, *((GPU,) if self.kai else ())}
        return all(_is_used(name, inventory) for name in lost)

    def _regular(
        self, inventory: Inventory, pods: Changes, nodes: Changes, groups: Changes
    ) -> bool:
        """As :meth:`are_regular`, for an inventory that was regular before."""
        if any(inventory.nodes[name].name != name for name in nodes.changed):
            return False
        if any(inventory.groups[uid].uid != uid for uid in groups.changed):
            return False
        named: set[str] = set()
        for uid in pods.changed:
            old, new = self._pods.get(uid), inventory.pods[uid]
            if new.uid != uid:
                return False
            if old is None or old.key != new.key:
                named.add(new.key)
        if not named:
            return True
        return sum(1 for pod in inventory.pods.values() if pod.key in named) == len(named)

    def _add_kai_pods(self, inventory: Inventory, pods: Changes) -> bool:
        """Add the pods whose claims or bind requests have changed; False: devices have."""
        others = inventory.others
        if Changes.between(self._others[_SLICES], others.get(_SLICES, {})):
            return False
        claims = set(Changes.between(self._others[_CLAIMS], others.get(_CLAIMS, {})))
        binds = set(Changes.between(self._others[_BINDS], others.get(_BINDS, {})))
        if claims or binds:
            changed = set(pods.changed)
            pods.changed += [
                uid
                for uid, pod in inventory.pods.items()
                if uid not in changed and (pod.key in binds or (claims and pod.resource_claims))
            ]
        return True

    def _moved_queues(self, inventory: Inventory) -> Iterable[str]:
        """Groups whose queue was created or deleted."""
        moved = self._queues.keys() ^ inventory.queues.keys()
        if not moved:
            return ()
        return [uid for uid, group in inventory.groups.items() if group.queue in moved]

    def _other_priorities(self, inventory: Inventory) -> Iterable[str]:
        before = Inventory(priority_classes=self._priorities)
        return [
            uid
            for uid, group in inventory.groups.items()
            if job_priority(group, before) != job_priority(group, inventory)
        ]


def _request(pod: Pod | None) -> Resource | None:
    return None if pod is None else pod.request


def _allocatable(node: Node | None) -> Resource | None:
    return None if node is None else node.allocatable


def _names(amounts: Resource | None) -> set[str]:
    return set() if amounts is None else set(amounts.scalars)


def _is_used(scalar: str, inventory: Inventory) -> bool:
    return any(scalar in pod.request.scalars for pod in inventory.pods.values()) or any(
        scalar in node.allocatable.scalars for node in inventory.nodes.values()
    )
