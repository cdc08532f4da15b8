"""Pod groups of pods that have none: by annotation, by their batch Job, or one for each pod."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from msgspec import Struct

from pumice import Pod, PodGroup

QUEUE = "pumice/queue"
"""The label or annotation that names a pod's queue."""
GANG = "pumice/gang"
"""The label or annotation that names a pod's gang, within its namespace."""
MIN_MEMBER = "pumice/min-member"
"""The label or annotation with the minimum of a pod's gang."""
_QUEUES = (QUEUE, "kai.scheduler/queue", "scheduling.volcano.sh/queue-name")


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
    named = _value(pod, GANG)
    if named:
        return f"{pod.namespace}/{named}"
    job = jobs.get(pod.owner)
    return f"{pod.namespace}/{'pod-' + pod.name if job is None else 'job-' + job.metadata.name}"


def make_group(
    uid: str,
    pods: Iterable[Pod],
    jobs: Mapping[str, BatchJob],
    default_queue: str,
    old: PodGroup | None,
) -> PodGroup:
    """The group of these pods; ``old`` itself where nothing has changed."""
    members = sorted(pods, key=lambda pod: (pod.created, pod.name))
    first = members[0]
    namespace, _, name = uid.partition("/")
    group = PodGroup(
        uid=uid,
        name=name,
        namespace=namespace,
        queue=next(filter(None, (_value(first, key) for key in _QUEUES)), "") or default_queue,
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
    text = _value(pod, MIN_MEMBER)
    if text.isascii() and text.isdigit():
        return int(text)
    job = None if _value(pod, GANG) else jobs.get(pod.owner)
    return 1 if job is None else max(job.size, 1)


def _value(pod: Pod, key: str) -> str:
    return pod.annotations.get(key) or pod.labels.get(key) or ""
