"""Pod sets: the sub-groups of a KAI pod group, as a tree whose leaves have minimums."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from pumice.model.facts import Pod, PodGroup, Raw
from pumice.model.job import Job, SubJob

DEFAULT = "default"
SUB_GROUP_LABEL = "kai.scheduler/subgroup-name"
_NON_PREEMPTIBLE_PRIORITY = 100


@dataclass(slots=True, eq=False)
class SubGroupSet:
    """An inner node of the tree; the root has the empty name."""

    name: str = ""
    """The sub-group's name."""
    topology_constraint: Raw | None = None
    """Its topology constraint, as read."""
    parent: SubGroupSet | None = field(default=None, repr=False)
    """The set above it."""
    sets: list[SubGroupSet] = field(default_factory=list)
    """The sets below it."""
    pod_sets: list[SubJob] = field(default_factory=list)
    """The pod sets below it."""

    def leaves(self) -> Iterator[SubJob]:
        """All pod sets at and below this node."""
        for inner in self.sets:
            yield from inner.leaves()
        yield from self.pod_sets

    @property
    def is_constrained(self) -> bool:
        """Whether a topology constraint stands at or below this node."""
        if self.topology_constraint or any(p.topology_constraint for p in self.pod_sets):
            return True
        return any(inner.is_constrained for inner in self.sets)


def read_kai_job(job: Job) -> str:
    """Set a job's pod sets, priority and preemptibility; returns a problem, if any."""
    group = job.group
    if group.priority is not None:
        job.priority = group.priority
    if group.preemptibility:
        job.preemptible = group.preemptibility.lower() == "preemptible"
    else:
        job.preemptible = job.priority < _NON_PREEMPTIBLE_PRIORITY
    problem = _grow_tree(job, group)
    job.min_available = sum(pod_set.min_available for pod_set in job.sub_jobs.values())
    if len(job.sub_jobs) > 1:
        job.min_sub_jobs = {job.uid: len(job.sub_jobs)}
    return problem


def _grow_tree(job: Job, group: PodGroup) -> str:
    root = job.sub_group_root = SubGroupSet(topology_constraint=group.topology_constraint)
    problem = _sub_group_problem(group)
    if problem or not group.sub_groups:
        _add_pod_set(job, root, DEFAULT, max(group.min_member, 1), None)
        return problem
    parents = {sub_group.parent.lower() for sub_group in group.sub_groups if sub_group.parent}
    sets = {"": root}
    for sub_group in group.sub_groups:
        if sub_group.name.lower() in parents:
            sets[sub_group.name.lower()] = SubGroupSet(
                sub_group.name.lower(), sub_group.topology_constraint
            )
    for sub_group in group.sub_groups:
        above = sets[sub_group.parent.lower()]
        inner = sets.get(sub_group.name.lower())
        if inner is not None:
            inner.parent = above
            above.sets.append(inner)
        else:
            minimum = max(sub_group.min_member, 1)
            _add_pod_set(job, above, sub_group.name, minimum, sub_group.topology_constraint)
    return ""


def constrain(job: Job, sub_job: SubJob, constraint: Raw) -> None:
    """Keep a job with one sub-job in one domain of a topology, whatever family it is of."""
    root = job.sub_group_root = SubGroupSet(topology_constraint=constraint, pod_sets=[sub_job])
    sub_job.parent = root


def _sub_group_problem(group: PodGroup) -> str:
    names = [sub_group.name.lower() for sub_group in group.sub_groups]
    for name in names:
        if names.count(name) > 1:
            return f"two sub-groups are called {name}"
    above = {s.name.lower(): s.parent.lower() for s in group.sub_groups}
    for name, parent in above.items():
        if parent and parent not in above:
            return f"sub-group {name} has an unknown parent {parent}"
        seen = {name}
        while parent:
            if parent in seen:
                return f"sub-group {name} is its own ancestor"
            seen.add(parent)
            parent = above.get(parent, "")
    return ""


def _add_pod_set(
    job: Job, above: SubGroupSet, name: str, minimum: int, constraint: Raw | None
) -> None:
    pod_set = SubJob(name, job, group_id=job.uid, min_available=minimum, name=name)
    pod_set.topology_constraint = constraint
    pod_set.parent = above
    job.sub_jobs[name] = pod_set
    above.pod_sets.append(pod_set)


def pod_set_of(job: Job, pod: Pod) -> SubJob | None:
    """The pod set that a pod belongs to; None: the job ignores the pod."""
    return job.sub_jobs.get(pod.labels.get(SUB_GROUP_LABEL) or DEFAULT)
