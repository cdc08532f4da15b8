"""The facts of a live cluster: each object is read when it changes, and is the same until then."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Collection
from dataclasses import fields, is_dataclass, replace
from functools import cache
from operator import attrgetter
from typing import Any

import msgspec
from loguru import logger
from msgspec import Raw

from pumice import Pod, PodGroup
from pumice.manifests import (
    NATIVE_API,
    MalformedError,
    Pool,
    family_of,
    read_object,
    table_of,
)
from pumice_kubernetes.gangs import BatchJob, gang_of
from pumice_kubernetes.reflector import MetaWire
from pumice_kubernetes.resources import Resource, Served

_JOB = msgspec.json.Decoder(BatchJob)
_MOST_ENDED = 4096
"""Deletions that are remembered, so that an older event that comes late brings nothing back."""
_MOST_PARTS = 1024
"""Pods come and go for months, and times and conditions of gone ones are never read again."""


class Entry:
    """An object that is there."""

    __slots__ = ("fact", "key", "uid", "version")

    def __init__(self, uid: str, version: int, key: str, fact: Any) -> None:
        self.uid = uid
        self.version = version
        self.key = key
        """Its key in its table of the inventory."""
        self.fact = fact
        """None: it is malformed, or scheduling does not read it."""


class Store:
    """What the reflectors have brought. Written by their thread, read by the scheduler's."""

    def __init__(
        self,
        scheduler_names: Collection[str],
        *,
        default_queue: str = "default",
        notify: Callable[[], None] = lambda: None,
    ) -> None:
        self.lock = threading.RLock()
        """Held while something is changed or copied."""
        self.changes = 0
        """Grows with every change of a fact."""
        self.tables: defaultdict[str, dict[str, Any]] = defaultdict(dict)
        """By table of the inventory: key → fact."""
        self.others: defaultdict[str, dict[str, Any]] = defaultdict(dict)
        """By kind: key → object as read."""
        self.jobs: dict[str, BatchJob] = {}
        """Batch Jobs by uid."""
        self.gangs: defaultdict[str, dict[str, Pod]] = defaultdict(dict)
        """By uid of a group: its pods by uid."""
        self.dirty_gangs: set[str] = set()
        """Groups that have changed, or whose pods have, since the last snapshot."""
        self._plain: set[str] = set()
        """Uids of pods that name no PodGroup."""
        self._entries: defaultdict[Resource, dict[str, Entry]] = defaultdict(dict)
        self._ended: dict[str, None] = {}
        """Uids of objects whose deletion was seen, the latest last."""
        self._names = frozenset(scheduler_names)
        self._pool = Pool(_MOST_PARTS)
        self.default_queue = default_queue
        """The queue of pods and pod groups that name none."""
        self._notify = notify
        self._reported: set[tuple[str, str]] = set()

    # -- what reflectors call

    def keys(self, served: Served) -> set[str]:
        """The objects of a resource that are known."""
        return set(self._entries[served.resource])

    def put(self, served: Served, meta: MetaWire, raw: Raw) -> None:
        """An object that is there; a version that is known already, or an older one, is ignored."""
        entries = self._entries[served.resource]
        old = entries.get(meta.key)
        version = int(meta.resource_version or 0)
        if meta.uid in self._ended:
            return
        if old is not None and old.uid == meta.uid and version <= old.version:
            return
        key, fact = self._read(served.resource, meta, raw)
        if old is not None and old.key == key and same_fact(old.fact, fact):
            old.version = version
            return
        with self.lock:
            if old is not None:
                self._drop(served.resource, old)
            entry = entries[meta.key] = Entry(meta.uid, version, key, fact)
            if fact is not None:
                self._add(served.resource, entry)
            self.changes += 1
        self._notify()

    def remove(self, served: Served, key: str, uid: str = "") -> None:
        """An object that is gone; with ``uid`` by an event, so that this one never comes back."""
        if uid:
            self._ended[uid] = None
            if len(self._ended) > _MOST_ENDED:
                del self._ended[next(iter(self._ended))]
        entries = self._entries[served.resource]
        old = entries.get(key)
        if old is None or (uid and old.uid != uid):
            return
        with self.lock:
            del entries[key]
            self._plain.discard(old.key)
            self._drop(served.resource, old)
            self.changes += 1
        self._notify()

    def forget(self, served: Served) -> None:
        """Drop all objects of a resource that is no longer served."""
        for key in self.keys(served):
            self.remove(served, key)

    # -- inside

    def _read(self, resource: Resource, meta: MetaWire, raw: Raw) -> tuple[str, Any]:
        try:
            if resource.kind == "Job":
                return meta.uid, _JOB.decode(raw)
            read = read_object(resource.group, resource.kind, raw, self._pool)
        except (MalformedError, msgspec.MsgspecError) as error:
            self.report(f"{resource.kind} {meta.key}", str(error))
            return meta.key, None
        if read is None:
            return meta.key, None
        key, fact = read
        if isinstance(fact, Pod):
            self._join(fact)
        elif isinstance(fact, PodGroup) and fact.api_group != NATIVE_API:
            fact.queue = fact.queue or self.default_queue
        return key, fact

    def _join(self, pod: Pod) -> None:
        """Say which group the pod belongs to; pods of other schedulers belong to none."""
        self._plain.discard(pod.uid)
        if pod.scheduler_name not in self._names:
            pod.group = ""
        elif not pod.group:
            pod.group = gang_of(pod, self.jobs)
            self._plain.add(pod.uid)
        elif family_of(pod.annotations) == "kai":
            pod.group = f"{pod.namespace}/{pod.group}"

    def _add(self, resource: Resource, entry: Entry) -> None:
        fact = entry.fact
        self._table(resource)[entry.key] = fact
        if isinstance(fact, Pod) and fact.group:
            self.gangs[fact.group][fact.uid] = fact
            self.dirty_gangs.add(fact.group)
        elif isinstance(fact, PodGroup):
            self.dirty_gangs.add(fact.uid)
        elif resource.kind == "Workload":
            self._touch_groups_of(entry.key)
        elif isinstance(fact, BatchJob):
            self._touch_pods_of(fact)

    def _drop(self, resource: Resource, entry: Entry) -> None:
        fact = entry.fact
        self._table(resource).pop(entry.key, None)
        if isinstance(fact, Pod) and fact.group in self.gangs:
            self.gangs[fact.group].pop(fact.uid, None)
            self.dirty_gangs.add(fact.group)
        elif isinstance(fact, PodGroup):
            self.dirty_gangs.add(fact.uid)

    def _touch_pods_of(self, job: BatchJob) -> None:
        """A Job may be seen after its pods: they join its gang."""
        pods = self.tables["pods"]
        for uid, pod in list(pods.items()):
            if pod.owner != job.metadata.uid or not self.is_plain(pod):
                continue
            group = gang_of(pod, self.jobs)
            self.dirty_gangs |= {pod.group, group}
            if group != pod.group:
                self.gangs[pod.group].pop(uid, None)
                self._regroup(pod, group)

    def _touch_groups_of(self, workload: str) -> None:
        """A Workload may be seen after its pod groups, which take their queue from it."""
        for uid, group in self.tables["groups"].items():
            if f"{group.namespace}/{group.workload}" == workload:
                self.dirty_gangs.add(uid)

    def is_plain(self, pod: Pod) -> bool:
        """Whether a pod names no PodGroup."""
        return pod.uid in self._plain

    def _regroup(self, pod: Pod, group: str) -> None:
        moved = replace(pod, group=group)
        self.tables["pods"][pod.uid] = self.gangs[group][pod.uid] = moved
        for resource, entries in self._entries.items():
            if resource.kind == "Pod":
                entries[pod.key].fact = moved

    def _table(self, resource: Resource) -> dict[str, Any]:
        if resource.kind == "Job":
            return self.jobs
        table = table_of(resource.group, resource.kind)
        return self.others[resource.kind] if table == "others" else self.tables[table]

    def report(self, label: str, message: str) -> None:
        """Log what is wrong with an object, once."""
        if (label, message) not in self._reported:
            if len(self._reported) > 10_000:
                self._reported.clear()
            self._reported.add((label, message))
            logger.warning("{}: {}", label, message)


@cache
def _values(cls: type[Any]) -> attrgetter[Any]:
    return attrgetter(*(field.name for field in fields(cls)))


def same_fact(old: Any, new: Any) -> bool:
    """Whether two versions of an object are the same to the scheduler."""
    if type(old) is not type(new):
        return False
    if is_dataclass(old):
        read = _values(type(old))  # type: ignore[arg-type] # a class is hashable
        return bool(read(old) == read(new))
    if isinstance(old, dict):
        return _without_version(old) == _without_version(new)
    return bool(old == new)


def _without_version(content: dict[str, Any]) -> dict[str, Any]:
    meta = {k: v for k, v in content.get("metadata", {}).items() if k != "resourceVersion"}
    return {**content, "metadata": meta}
