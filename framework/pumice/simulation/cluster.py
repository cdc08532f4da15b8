"""The simulated cluster: nodes, queues and jobs as the facts that a scheduler reads."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence

from pumice.errors import PumiceError
from pumice.model.facts import Node, Pod, PodGroup, PriorityClass, Queue
from pumice.model.gpu.request import GPU
from pumice.model.quantity import PODS, amount
from pumice.model.resources import Resource
from pumice.traces.trace import MAX_PODS, WHOLE_GPU_MILLI, Trace, TraceJob, node_scalars

MODEL_LABEL = "nvidia.com/gpu.product"
_SHAPE = re.compile(r"(\d+)x(\d+)(?::([^:]+))?(?::([^:]+))?")
_GPU_MEMORY = "81000"
_MOST_NODES = 1_000_000
NAMESPACE = "trace"


def nodes_of(shapes: Iterable[str]) -> list[Node]:
    """Nodes from texts ``COUNTxGPUS[:CPU[:MEMORY]]``, as in ``60x8:64:512Gi``.

    :raises PumiceError: a text has another form.
    """
    nodes: list[Node] = []
    for shape in shapes:
        match = _SHAPE.fullmatch(shape)
        try:
            if match is None or not int(match[1]):
                raise ValueError("it should be COUNTxGPUS[:CPU[:MEMORY]], as in 60x8:64:512Gi")
            count, gpus = int(match[1]), int(match[2])
            if count > _MOST_NODES:
                raise ValueError(f"at most {_MOST_NODES} nodes can be simulated")
            cpu = amount("cpu", match[3] or str(max(12 * gpus, 32)))
            memory = amount("memory", match[4] or f"{max(64 * gpus, 128)}Gi")
        except ValueError as error:
            raise PumiceError(f"--nodes {shape}: {error}") from None
        for _ in range(count):
            nodes.append(_node(f"node-{len(nodes) + 1:04}", cpu, memory, gpus))
    return nodes


def _node(name: str, cpu: float, memory: float, gpus: int) -> Node:
    amounts = Resource(cpu, memory, node_scalars(gpus))
    labels = {"nvidia.com/gpu.memory": _GPU_MEMORY} if gpus else {}
    return Node(name, amounts, amounts, max_pods=MAX_PODS, labels=labels)


def queues_of(trace: Trace, nodes: Sequence[Node], *, kai: bool) -> list[Queue]:
    """One queue for each that the jobs name, with equal parts of the cluster."""
    names = sorted({job.queue for job in trace.jobs})
    total = Resource()
    for node in nodes:
        total.cpu += node.allocatable.cpu
        total.memory += node.allocatable.memory
        for name, value in node.allocatable.scalars.items():
            total.scalars[name] = total.scalars.get(name, 0) + value
    part = 1 / max(len(names), 1)
    deserved = Resource(total.cpu * part, total.memory * part)
    deserved.scalars = {name: value * part for name, value in total.scalars.items() if name != PODS}
    if not kai:
        return [Queue(name, deserved=deserved) for name in names]
    unlimited = Resource(math.inf, math.inf, {GPU: math.inf})
    return [
        Queue(
            name,
            "kai",
            deserved=deserved,
            limit=unlimited,
            over_quota_weight=Resource(1, 1, {GPU: 1}),
        )
        for name in names
    ]


def needs_kai(jobs: Iterable[TraceJob]) -> bool:
    """Whether jobs take shares of GPUs, which only jobs of KAI can."""
    return any(0 < job.gpus < WHOLE_GPU_MILLI for job in jobs)


def priority_classes(jobs: Iterable[TraceJob]) -> dict[str, PriorityClass]:
    """A priority class for each priority that a job has."""
    values = {job.priority for job in jobs}
    return {_class_name(value): PriorityClass(_class_name(value), value) for value in values}


def _class_name(priority: int) -> str:
    return f"priority-{priority}"


class JobFacts:
    """Makes the pod group and the pods of a job."""

    def __init__(self, *, kai: bool) -> None:
        self._family = "kai" if kai else "volcano"
        self._requests: dict[tuple[float, float, int], Resource] = {}

    def group(self, job: TraceJob, now: float) -> PodGroup:
        request = self._request(job)
        minimum = Resource(
            request.cpu * job.minimum,
            request.memory * job.minimum,
            {name: n * job.minimum for name, n in request.scalars.items() if name != PODS},
        )
        return PodGroup(
            f"{NAMESPACE}/{job.name}",
            job.name,
            NAMESPACE,
            family=self._family,  # type: ignore[arg-type]
            queue=job.queue,
            min_member=job.minimum,
            min_resources=minimum,
            priority_class=_class_name(job.priority),
            created=now,
            phase="Pending",
        )

    def pods(self, job: TraceJob, now: float) -> list[Pod]:
        request = self._request(job)
        annotations = {"volcano.sh/preemptable": "true"}
        if 0 < job.gpus < WHOLE_GPU_MILLI:
            annotations["gpu-fraction"] = str(job.gpus / WHOLE_GPU_MILLI)
        affinity = _affinity(job.models) if job.models else {}
        group = f"{NAMESPACE}/{job.name}"
        return [
            Pod(
                f"{job.name}-{i}",
                f"{job.name}-{i}",
                NAMESPACE,
                request,
                annotations=annotations,
                affinity=affinity,
                created=now,
                group=group,
                priority=job.priority,
                priority_class=_class_name(job.priority),
            )
            for i in range(job.pods)
        ]

    def _request(self, job: TraceJob) -> Resource:
        key = (job.cpu, job.memory, job.gpus)
        request = self._requests.get(key)
        if request is None:
            whole = job.gpus if job.gpus >= WHOLE_GPU_MILLI else 0
            request = Resource(job.cpu, job.memory, {PODS: 1, **({GPU: whole} if whole else {})})
            self._requests[key] = request
        return request


def _affinity(models: Sequence[str]) -> dict[str, object]:
    terms = [{"key": MODEL_LABEL, "operator": "In", "values": list(models)}]
    required = {"nodeSelectorTerms": [{"matchExpressions": terms}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
