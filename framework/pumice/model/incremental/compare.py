"""Compares two clusters in every detail, the order of all objects included."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from typing import Any

import numpy as np

from pumice.model import facts
from pumice.model.cluster import Cluster
from pumice.model.families.kai.pod_sets import SubGroupSet
from pumice.model.gpu.shares import GpuShares
from pumice.model.job import Job, SubJob
from pumice.model.nodes import NodeTable
from pumice.model.resources import Resource
from pumice.model.task import Task
from pumice.model.topology import HyperNodeTree

_SHARED_FACTS = (
    facts.Pod, facts.Node, facts.PodGroup, facts.Queue, facts.Container, facts.SubGroup,
    facts.SubGroupPolicy, Resource,
)  # fmt: skip
"""Facts are shared: two clusters of the same facts have the very same objects."""
_BY_UID = (Task, Job, SubJob)
_NOT_COMPARED = {
    Cluster: {"snapshot_cache", "inventory"},
    Task: {"initial", "_constraints"},
    Job: {"initial", "journal"},
    SubJob: {"initial"},
    NodeTable: {
        "_earlier", "_fact_columns", "_handles", "_journal", "_journal_base", "_relabelled",
        "_shares", "lasting", "reports_changes", "version",
    },
    GpuShares: {"_fitting"},
    HyperNodeTree: {"_lowest"},
    SubGroupSet: {"parent"},
}  # fmt: skip
"""Caches, and references to other objects."""
_PLAIN = (str, int, float, Enum, frozenset, set)
_AS_A_WHOLE = (*_PLAIN, *_SHARED_FACTS, *_BY_UID, np.ndarray, list, tuple)
"""Types that are compared as a whole."""


def first_difference(left: Cluster, right: Cluster) -> str | None:
    """Where two clusters of the same facts differ first, in words; None: nowhere."""
    return next(
        (difference for difference in _differences(left, right) if difference is not None), None
    )


def _differences(left: Cluster, right: Cluster) -> Iterator[str | None]:
    # Later comparisons rely on earlier ones: the first difference ends the comparison.
    yield _parts(left, right, "cluster")
    for uid, task in left.tasks.items():
        yield _parts(task, right.tasks[uid], f"task {task.key}")
        yield _belongs(left, task)
    for uid, job in left.jobs.items():
        yield _parts(job, right.jobs[uid], f"job {uid}")
        for name, sub_job in job.sub_jobs.items():
            where = f"job {uid}, sub-job {name}"
            yield _parts(sub_job, right.jobs[uid].sub_jobs[name], where)
            if sub_job.job is not job:
                yield f"{where}: it belongs to another job"
    yield _shares(left.nodes, right.nodes)
    yield _foreign_objects(left)


def _parts(left: Any, right: Any, where: str) -> str | None:
    """The first difference between the attributes of two objects of one class."""
    hidden = _NOT_COMPARED.get(type(left), set())
    for name in _attributes(left):
        if name not in hidden:
            difference = _compare(getattr(left, name), getattr(right, name), f"{where}: {name}")
            if difference is not None:
                return difference
    return None


def _attributes(value: Any) -> list[str]:
    slots = [name for cls in type(value).__mro__ for name in getattr(cls, "__slots__", ())]
    return slots or sorted(vars(value))


def _compare(left: Any, right: Any, where: str) -> str | None:
    if left is right:
        return None
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        if list(left) != list(right):
            return f"{where} has {_short(list(left))}, it should have {_short(list(right))}"
        pairs = ((left[key], right[key], f"{where}[{key!r}]") for key in left)
        return _first(pairs)
    if type(left) is type(right):
        if isinstance(left, list | tuple) and len(left) == len(right):
            both = enumerate(zip(left, right, strict=True))
            return _first((one, other, f"{where}[{n}]") for n, (one, other) in both)
        if _same(left, right):
            return None
        if not isinstance(left, _AS_A_WHOLE):
            return _parts(left, right, where)
    return f"{where} is {_short(left)}, it should be {_short(right)}"


def _first(pairs: Iterable[tuple[Any, Any, str]]) -> str | None:
    return next((difference for pair in pairs if (difference := _compare(*pair)) is not None), None)


def _same(left: Any, right: Any) -> bool:
    """Whether two objects of one class that is compared as a whole are equal."""
    if isinstance(left, np.ndarray):
        return left.dtype == right.dtype and np.array_equal(left, right)
    if isinstance(left, _BY_UID):
        return bool(left.uid == right.uid)
    return isinstance(left, _PLAIN) and left == right


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:200]}…"


def _belongs(cluster: Cluster, task: Task) -> str | None:
    """Whether a task and its job refer to each other."""
    job, sub_job = task.job, task.sub_job
    if job is None or sub_job is None:
        return None
    if cluster.jobs.get(job.uid) is not job or job.sub_jobs.get(sub_job.uid) is not sub_job:
        return f"task {task.key}: its job is not that of the cluster"
    tables = (job.tasks, sub_job.tasks, job.by_status[task.status], sub_job.by_status[task.status])
    if any(table.get(task.uid) is not task for table in tables):
        return f"task {task.key}: its job counts another one"
    return None


def _foreign_objects(cluster: Cluster) -> str | None:
    """Whether nodes hold tasks of another cluster, or jobs write into another journal."""
    for row, held in enumerate(cluster.nodes.held):
        for uid, entry in held.items():
            if cluster.tasks.get(uid) is not entry.task:
                return f"node {cluster.nodes.names[row]}: it holds another task {uid}"
    for job in cluster.jobs.values():
        if job.journal is not cluster.job_journal:
            return f"job {job.uid}: its journal is not that of the cluster"
    return None


def _shares(left: NodeTable, right: NodeTable) -> str | None:
    for row in left._shares.keys() | right._shares.keys():
        difference = _parts(
            left.shares(row), right.shares(row), f"node {left.names[row]}, shared GPUs"
        )
        if difference is not None:
            return difference
    return None
