"""Counts what queues and nodes use while a simulation runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from pumice.model.facts import Node, Queue
from pumice.model.gpu.request import GPU
from pumice.simulation.job_run import JobRun
from pumice.simulation.record import JobRecord, Record
from pumice.traces.trace import TraceJob


class Usage:
    """Writes the record: GPUs by queue and node, or CPUs where the jobs take no GPUs."""

    def __init__(
        self, jobs: Sequence[TraceJob], nodes: Sequence[Node], queues: Sequence[Queue]
    ) -> None:
        self._gpu = any(job.gpus for job in jobs)
        self._row = {node.name: row for row, node in enumerate(nodes)}
        self._size = np.array([self._of_node(node) for node in nodes])
        self._free = self._size.copy()
        self._up = np.ones(len(nodes), bool)
        self._changed = True
        counts = Counter(self._of_job(job) for job in jobs)
        total = sum(counts.values())
        self._typical = [(size, count / total) for size, count in sorted(counts.items())]
        capacity = float(self._size.sum())
        weights = sum(queue.weight for queue in queues) or 1
        self.record = Record(
            unit="GPU" if self._gpu else "CPU",
            queues=[queue.name for queue in queues],
            deserved=[self._deserved(queue, capacity, weights) for queue in queues],
            capacity=[(0.0, capacity)],
        )
        self._numbers = {name: number for number, name in enumerate(self.record.queues)}

    def _of_job(self, job: TraceJob) -> float:
        """What a pod of the job takes."""
        return (job.gpus if self._gpu else job.cpu) / 1000

    def _of_node(self, node: Node) -> float:
        amounts = node.allocatable
        return float(amounts.get(GPU) if self._gpu else amounts.cpu) / 1000

    def _deserved(self, queue: Queue, capacity: float, weights: float) -> float:
        if queue.deserved is not None:
            amount = queue.deserved.get(GPU) if self._gpu else queue.deserved.cpu
            if amount != float("inf"):
                return float(amount) / 1000
        return capacity * queue.weight / weights

    def queue_number(self, queue: str) -> int:
        """The number of a queue in the record."""
        return self._numbers[queue]

    def of_pod(self, run: JobRun) -> float:
        """What a pod of a job takes."""
        return self._of_job(run.record.job)

    def submit(self, job: TraceJob, now: float) -> JobRecord:
        """A job has come."""
        record = JobRecord(job, self._of_job(job) * job.pods)
        self.record.jobs.append(record)
        self.record.demand.append((now, self._numbers[job.queue], record.amount))
        return record

    def finish(self, run: JobRun, now: float) -> None:
        """A job is done."""
        run.record.finish = now
        self.record.demand.append((now, run.queue, -run.record.amount))
        for node in run.pods.values():
            self.add_pod(run, node, now, -1)

    def add_pod(self, run: JobRun, node: str, now: float, sign: int) -> None:
        """A pod has come to a node or left it."""
        amount = sign * self._of_job(run.record.job)
        self.record.used.append((now, run.queue, amount))
        self._free[self._row[node]] -= amount
        self._changed = True

    def resize(self, node: Node, now: float, sign: int) -> None:
        """A node has joined or failed."""
        row = self._row[node.name]
        self.record.capacity.append((now, sign * float(self._size[row])))
        self._up[row] = sign > 0
        self._changed = True

    def sample(self, now: float) -> None:
        """Record how fragmented the free part of the cluster is, if it has changed."""
        if not self._changed:
            return
        self._changed = False
        free = np.where(self._up, self._free, 0.0)
        total = float(free.sum())
        unusable = sum(part * float(free[free < size].sum()) for size, part in self._typical)
        self.record.fragments.append((now, total, unusable))
