"""Pod groups of pods that have none: by annotation, by their batch Job, or one for each pod."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from msgspec import Struct

from pumice import Pod, PodGroup
from pumice.manifests import GANG_LABEL, mark_of, queue_of

MIN_MEMBER = "pumice/min-member"
"""The label or annotation with the minimum of a pod's gang."""


class JobSpec(Struct, rename="camel", frozen=True):
    """What a gang takes over of the spec of a batch Job."""

    parallelism: int | None = None
    completions: int | None = None


class JobMeta(Struct, frozen=True):
    """The metadata of a batch Job."""

    name: str = ""
    uid: str = ""


class BatchJob(Struct):
    """A batch Job: its pods are a gang."""

    metadata: JobMeta = JobMeta()
    spec: JobSpec = JobSpec()

    @property
    def size(self) -> int:
        """How many of its pods run at a time."""
        wanted = 1 if self.spec.parallelism is None else self.spec.parallelism
        return wanted if self.spec.completions is None else min(wanted, self.spec.completions)


def gang_of(pod: Pod, jobs: Mapping[str, BatchJob]) -> str:
    """The uid of the group that a pod without a PodGroup of its own belongs to."""
    named = mark_of(pod, GANG_LABEL)
    if named:
        return f"{pod.namespace}/{named}"
    job = jobs.get(pod.owner)
    return f"{pod.namespace}/{'pod-' + pod.name if job is None else 'job-' + job.metadata.name}"


def first_of(pods: Iterable[Pod]) -> Pod:
    """The oldest of some pods."""
    return min(pods, key=lambda pod: (pod.created, pod.name))


def make_group(
    uid: str,
    pods: Iterable[Pod],
    jobs: Mapping[str, BatchJob],
    default_queue: str,
    old: PodGroup | None,
) -> PodGroup:
    """The group of these pods; ``old`` itself where nothing has changed."""
    first = first_of(pods)
    namespace, _, name = uid.partition("/")
    group = PodGroup(
        uid=uid,
        name=name,
        namespace=namespace,
        queue=queue_of(first) or default_queue,
        min_member=_min_member(first, jobs),
        priority_class=first.priority_class,
        created=first.created,
        phase="Pending",
    )
    if old is None:
        return group
    if _spec(old) == _spec(group):
        return old
    return replace(group, phase=old.phase, conditions=old.conditions)


def _spec(group: PodGroup) -> tuple[str, int, str, float]:
    return group.queue, group.min_member, group.priority_class, group.created


def _min_member(pod: Pod, jobs: Mapping[str, BatchJob]) -> int:
    text = mark_of(pod, MIN_MEMBER)
    if text.isascii() and text.isdigit():
        return int(text)
    job = None if mark_of(pod, GANG_LABEL) else jobs.get(pod.owner)
    return 1 if job is None else max(job.size, 1)
