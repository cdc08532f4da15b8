"""Whether two clusters are the same to the last detail, the order of everything included."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from types import MappingProxyType
from typing import Any

import numpy as np

from pumice.model import facts
from pumice.model.cluster import Cluster
from pumice.model.gpus import GpuShares
from pumice.model.job import Job, SubJob
from pumice.model.nodes import NodeTable
from pumice.model.resources import Resource
from pumice.model.task import Task
from pumice.model.topology import HyperNodeTree

_BY_IDENTITY = (
    facts.Pod, facts.Node, facts.PodGroup, facts.Queue, facts.Container, facts.SubGroup,
    facts.SubGroupPolicy, facts.Inventory, Resource,
)  # fmt: skip
"""Facts are shared: two clusters of the same facts have the very same objects."""
_NAMED = (Task, Job, SubJob)
_NOT_COMPARED = {
    Cluster: {"found", "inventory"},
    Task: {"found"},
    Job: {"found", "journal"},
    SubJob: {"found"},
    NodeTable: {
        "_earlier", "_fact_columns", "_handles", "_journal", "_journal_base", "_relabelled",
        "_shares", "lasting",
    },
    GpuShares: {"_fitting"},
    HyperNodeTree: {"_lowest"},
}  # fmt: skip
"""What only remembers, or leads elsewhere."""
_PLAIN = (str, int, float, bool, type(None), Enum, frozenset, set)


def first_difference(left: Cluster, right: Cluster) -> str | None:
    """Where two clusters of the same facts differ first, in words; None: nowhere."""
    found = _parts(left, right, "cluster")
    for uid, task in left.tasks.items():
        found = found or _parts(task, right.tasks[uid], f"task {task.key}")
        found = found or _belongs(left, task)
    for uid, job in left.jobs.items():
        found = found or _parts(job, right.jobs[uid], f"job {uid}")
        for name, sub_job in job.sub_jobs.items():
            other = right.jobs[uid].sub_jobs[name]
            found = found or _parts(sub_job, other, f"job {uid}, sub-job {name}")
            if sub_job.job is not job:
                found = found or f"job {uid}, sub-job {name}: it is that of another job"
    return found or _shares(left.nodes, right.nodes) or _strangers(left)


def _parts(left: Any, right: Any, where: str) -> str | None:
    """The same for the attributes of two objects of one kind."""
    hidden = _NOT_COMPARED.get(type(left), set())
    for name in _attributes(left):
        if name not in hidden:
            found = _compare(getattr(left, name), getattr(right, name), f"{where}: {name}")
            if found is not None:
                return found
    return None


def _attributes(value: Any) -> list[str]:
    slots = [name for cls in type(value).__mro__ for name in getattr(cls, "__slots__", ())]
    return slots or sorted(vars(value))


def _compare(left: Any, right: Any, where: str) -> str | None:
    if left is right:
        return None
    told = f"{where} is {_short(left)}, it should be {_short(right)}"
    if isinstance(left, np.ndarray):
        same = isinstance(right, np.ndarray) and left.dtype == right.dtype
        return None if same and np.array_equal(left, right) else told
    if isinstance(left, Mapping | MappingProxyType) and isinstance(right, Mapping):
        if list(left) != list(right):
            return f"{where} has {_short(list(left))}, it should have {_short(list(right))}"
        pairs = ((left[key], right[key], f"{where}[{key!r}]") for key in left)
        return next((f for pair in pairs if (f := _compare(*pair)) is not None), None)
    if type(left) is not type(right):
        return told
    if isinstance(left, list | tuple):
        if len(left) != len(right):
            return told
        both = enumerate(zip(left, right, strict=True))
        pairs = ((one, other, f"{where}[{n}]") for n, (one, other) in both)
        return next((f for pair in pairs if (f := _compare(*pair)) is not None), None)
    if isinstance(left, _PLAIN):
        return None if left == right else told
    if isinstance(left, _NAMED):
        return None if left.uid == right.uid else told
    if isinstance(left, _BY_IDENTITY):
        return told
    if is_dataclass(left):
        names = [field.name for field in fields(left)]
        pairs = ((getattr(left, n), getattr(right, n), f"{where}.{n}") for n in names)
        return next((f for pair in pairs if (f := _compare(*pair)) is not None), None)
    return _parts(left, right, where)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:200]}…"


def _belongs(cluster: Cluster, task: Task) -> str | None:
    """Whether a task and its job know each other."""
    job, sub_job = task.job, task.sub_job
    if job is None or sub_job is None:
        return None
    if cluster.jobs.get(job.uid) is not job or job.sub_jobs.get(sub_job.uid) is not sub_job:
        return f"task {task.key}: its job is not that of the cluster"
    books = (job.tasks, sub_job.tasks, job.by_status[task.status], sub_job.by_status[task.status])
    if any(book.get(task.uid) is not task for book in books):
        return f"task {task.key}: its job counts another one"
    return None


def _strangers(cluster: Cluster) -> str | None:
    """Whether the nodes hold tasks of this cluster, and the jobs write into its journal."""
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
        found = _parts(left.shares(row), right.shares(row), f"node {left.names[row]}, shared GPUs")
        if found is not None:
            return found
    return None
