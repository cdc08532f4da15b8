"""Reads the objects of a cluster into an inventory; a malformed one is reported and skipped."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec import Raw

from pumice._gc import gc_paused
from pumice._nearest import nearest
from pumice.manifests import kai, native, nodes, others, own, volcano
from pumice.manifests.files import STDIN, Item, documents_of, flatten, manifest_files, place_of
from pumice.manifests.json_files import CutError, check_complete
from pumice.manifests.links import link
from pumice.manifests.pods import KAI_GROUP, VOLCANO_GROUP, read_pod
from pumice.manifests.pool import Pool, encoded
from pumice.manifests.requests import Family
from pumice.manifests.wire import MalformedError, head_of
from pumice.model.facts import Inventory, Pod, PodGroup, Problem


class Kind(NamedTuple):
    """How one kind is read, and which table of the inventory it goes to."""

    read: Callable[[Raw, Pool], Any]
    table: str
    key: Callable[[Any], str]


_NAME = attrgetter("name")
_UID = attrgetter("uid")
_KINDS: dict[tuple[str, str], Kind] = {
    ("", "Node"): Kind(nodes.read_node, "nodes", _NAME),
    (volcano.VOLCANO_API, "Queue"): Kind(volcano.read_queue, "queues", _NAME),
    (volcano.VOLCANO_API, "PodGroup"): Kind(volcano.read_group, "groups", _UID),
    (kai.KAI_API, "Queue"): Kind(kai.read_queue, "queues", _NAME),
    (kai.KAI_API, "PodGroup"): Kind(kai.read_group, "groups", _UID),
    (native.NATIVE_API, "PodGroup"): Kind(native.read_group, "groups", _UID),
    (own.OWN_API, "Queue"): Kind(own.read_queue, "queues", _NAME),
    (own.OWN_API, "PodGroup"): Kind(own.read_group, "groups", _UID),
    ("scheduling.k8s.io", "PriorityClass"): Kind(
        others.read_priority_class, "priority_classes", _NAME
    ),
    ("policy", "PodDisruptionBudget"): Kind(
        others.read_budget, "budgets", lambda budget: f"{budget.namespace}/{budget.name}"
    ),
    ("topology.volcano.sh", "HyperNode"): Kind(volcano.read_hypernode, "hypernodes", _NAME),
    ("", "ResourceQuota"): Kind(
        others.read_quota, "quotas", lambda quota: f"{quota.namespace}/{quota.name}"
    ),
}
_STORED = {
    ("", "PersistentVolumeClaim"),
    ("", "PersistentVolume"),
    ("", "ConfigMap"),
    ("", "Namespace"),
    ("nodeinfo.volcano.sh", "Numatopology"),
    ("shard.volcano.sh", "NodeShard"),
    (kai.KAI_API, "BindRequest"),
    ("kai.scheduler", "Topology"),
    (native.NATIVE_API, "Workload"),
}
_STORED_GROUPS = {"storage.k8s.io", "resource.k8s.io"}
_POD = ("", "Pod")


def load(paths: Iterable[str | Path], *, default_queue: str = "default") -> Inventory:
    """Read manifest files and directories; ``-`` is the standard input.

    :raises ManifestError: a file cannot be read at all.
    """
    paths = list(paths)
    with gc_paused():
        try:
            in_blocks = STDIN not in paths  # it cannot be read twice
            return _read_files(paths, default_queue, in_blocks=in_blocks)
        except CutError:
            return _read_files(paths, default_queue, in_blocks=False)


def _read_files(paths: Sequence[str | Path], default_queue: str, *, in_blocks: bool) -> Inventory:
    reading = _Reading(Inventory(), default_queue, checks_syntax=in_blocks)
    for file in manifest_files(paths):
        before = reading.count
        reading.take_all(documents_of(file, in_blocks=in_blocks))
        if reading.count == before:
            reading.report(place_of(file), "file", "holds no objects", "")
    return reading.finish()


def read_objects(
    items: Iterable[tuple[str, Item]],
    *,
    default_queue: str = "default",
    into: Inventory | None = None,
) -> Inventory:
    """Read objects, each with the place it comes from.

    A malformed object is skipped and reported in ``problems``. Kinds that scheduling does not read
    are counted in ``ignored_kinds``. ``into``: an inventory to add the objects to.
    """
    reading = _Reading(into or Inventory(), default_queue)
    reading.take_all(items)
    return reading.finish()


def read_object(
    group: str, kind: str, raw: Raw, pool: Pool, *, family: Family | None = None
) -> tuple[str, Any] | None:
    """Key and fact of one object of an API group; None: scheduling does not read this kind.

    For a backend that reads each object when it changes. ``table_of`` says where the fact belongs.
    ``family``: whose rules apply to a pod; unset, its annotations decide.

    :raises MalformedError: the object cannot be used.
    """
    name = (group, kind)
    if name == _POD:
        pod = read_pod(raw, pool, family)
        return pod.uid, pod
    if name in _KINDS:
        how = _KINDS[name]
        fact = how.read(raw, pool)
        return how.key(fact), fact
    if _is_stored(group, kind):
        return others.read_other(kind, raw, pool)
    return None


def table_of(group: str, kind: str) -> str:
    """The table of an inventory that objects of a kind belong to; ``others`` has one per kind."""
    if (group, kind) == _POD:
        return "pods"
    known = _KINDS.get((group, kind))
    return "others" if known is None else known.table


def _is_stored(group: str, kind: str) -> bool:
    return (group, kind) in _STORED or group in _STORED_GROUPS


@lru_cache(maxsize=1024)
def _near_kind(group: str, kind: str) -> str | None:
    """The kind that was probably meant: a misspelt one must not be taken for one of no interest."""
    return nearest(kind, (name for of, name in (*_KINDS, *_STORED, _POD) if of == group))


class _Reading:
    def __init__(
        self, inventory: Inventory, default_queue: str, *, checks_syntax: bool = False
    ) -> None:
        self.inventory = inventory
        self.checks_syntax = checks_syntax
        """Whether items may be no complete JSON, which those that are decoded show."""
        self.default_queue = default_queue
        self.count = 0
        """Objects that were read, malformed ones included."""
        self.pool = Pool()
        self.ignored = Counter(inventory.ignored_kinds)
        self.pod_names: defaultdict[str, set[str]] = defaultdict(set)
        """By namespace: the names of its pods."""
        for pod in inventory.pods.values():
            self.pod_names[pod.namespace].add(pod.name)
        self.places: dict[str, str] = {}
        self.kai_groups = {
            group.name: group.uid for group in inventory.groups.values() if group.family == "kai"
        }
        self.kai_pods: list[Pod] = []
        self.undecided: list[tuple[str, Raw]] = []
        """Pods that name groups of both families; decided once all groups are read."""

    def take_all(self, items: Iterable[tuple[str, Item]]) -> None:
        """Read all objects, also those in lists."""
        for where, item in items:
            if isinstance(item, Raw):
                self.take(where, item, may_be_list=True)
            else:
                self._take_list(where, item)

    def _take_list(self, where: str, item: Item) -> None:
        for place, single in flatten(where, item):
            self.take(place, single)

    def take(self, where: str, item: Item, *, may_be_list: bool = False) -> None:
        """Read one object into the inventory, or report why not."""
        self.count += 1
        try:
            raw = encoded(item)
            head = head_of(raw)
            if may_be_list and head.kind.endswith("List"):
                self.count -= 1
                self._take_list(where, item)
                return
            if not head.kind:
                raise MalformedError("is not a Kubernetes object: it has no kind")
            if not head.api_version and head.kind != "List":
                raise MalformedError("has no apiVersion")
            self._dispatch(where, head.group, head.kind, raw)
        except MalformedError as error:
            self.check_syntax(item)
            self.report(where, label_of(item), str(error), error.hint)

    def check_syntax(self, item: Item) -> None:
        if self.checks_syntax and isinstance(item, Raw):
            check_complete(item)

    def report(self, where: str, label: str, message: str, hint: str = "") -> None:
        self.inventory.problems.append(Problem(where, label, message, hint))

    def _dispatch(self, where: str, group: str, kind: str, raw: Raw) -> None:
        name = (group, kind)
        if name == _POD:
            self._pod(where, raw)
        elif name in _KINDS:
            self._fact(where, kind, _KINDS[name], raw)
        elif _is_stored(group, kind):
            key, content = others.read_other(kind, raw, self.pool)
            self._store(self.inventory.others.setdefault(kind, {}), key, content)
        elif kind == "List":
            raise MalformedError("items: expected a list")
        else:
            near = _near_kind(group, kind)
            if near is not None:
                raise MalformedError(f"kind {kind!r} is not known", f"did you mean {near!r}?")
            self.check_syntax(raw)
            self.ignored[f"{group}/{kind}" if group else kind] += 1

    def _fact(self, where: str, kind: str, how: Kind, raw: Raw) -> None:
        fact = how.read(raw, self.pool)
        key = how.key(fact)
        if isinstance(fact, PodGroup) and fact.family == "kai":
            known = self.kai_groups.setdefault(fact.name, fact.uid)
            if known != fact.uid:
                raise MalformedError(
                    f"has the name of {known}",
                    "KAI identifies pod groups by name alone, across all namespaces",
                )
        table = getattr(self.inventory, how.table)
        if getattr(table.get(key), "family", None) not in (None, getattr(fact, "family", None)):
            raise MalformedError(f"has the name of a {kind} of the other family")
        self._store(table, key, fact)
        if how.table in ("queues", "groups"):
            self.places[f"{kind} {key}"] = where

    def _store(self, table: dict[str, Any], key: str, fact: Any) -> None:
        if key in table:
            raise MalformedError("is listed twice; the first one counts")
        table[key] = fact

    def _pod(self, where: str, raw: Raw, family: Family | None = None) -> None:
        pod = read_pod(raw, self.pool, family)
        annotations = pod.annotations
        if family is None and annotations.get(KAI_GROUP):
            if annotations.get(VOLCANO_GROUP):
                self.undecided.append((where, raw.copy()))
                return
            family = "kai"
        names, pods = self.pod_names[pod.namespace], self.inventory.pods
        if pod.name in names:
            raise MalformedError("is listed twice; the first one counts")
        if pod.uid in pods:
            raise MalformedError(f"has the uid of pod {pods[pod.uid].key}")
        pods[pod.uid] = pod
        names.add(pod.name)
        if family == "kai":
            self.kai_pods.append(pod)

    def finish(self) -> Inventory:
        inventory = self.inventory
        for where, raw in self.undecided:
            self._decide_family(where, raw)
        for pod in self.kai_pods:
            pod.group = self.kai_groups.get(pod.group, f"{pod.namespace}/{pod.group}")
        native.link_pods(inventory, self.default_queue)
        link(inventory, self.places, self.default_queue)
        inventory.ignored_kinds = dict(self.ignored)
        return inventory

    def _decide_family(self, where: str, raw: Raw) -> None:
        try:
            pod = read_pod(raw, self.pool, "volcano")
            known = pod.annotations[KAI_GROUP] in self.kai_groups
            kai = known and pod.group not in self.inventory.groups
            self._pod(where, raw, "kai" if kai else "volcano")
        except MalformedError as error:
            self.report(where, label_of(raw), str(error), error.hint)


def label_of(item: Any) -> str:
    """``Kind namespace/name`` of anything that was read."""
    if isinstance(item, Raw):
        try:
            item = msgspec.json.decode(item)
        except (ValueError, RecursionError):
            item = None
    if not isinstance(item, Mapping):
        return "object"
    meta = item.get("metadata")
    meta = meta if isinstance(meta, Mapping) else {}
    kind = item.get("kind")
    parts = [part for part in (meta.get("namespace"), meta.get("name")) if isinstance(part, str)]
    name = "/".join(part for part in parts if part) if meta.get("name") else "(unnamed)"
    return f"{kind if isinstance(kind, str) and kind else 'object'} {name}"
