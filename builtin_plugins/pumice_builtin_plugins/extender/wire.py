"""Tasks, nodes, jobs and queues in the JSON of Volcano's extenders."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import numpy as np

from pumice import Dimensions, Job, NodeTable, Queue, Resource, Task

Object = dict[str, Any]


def resource(amounts: Resource) -> Object:
    return {
        "MilliCPU": amounts.cpu,
        "Memory": amounts.memory,
        "ScalarResources": dict(amounts.scalars),
    }


def task_object(task: Task) -> Object:
    pod, request = task.pod, resource(task.request)
    return {
        "UID": task.uid,
        "Job": task.job.uid if task.job is not None else "",
        "Name": task.name,
        "Namespace": task.namespace,
        "TaskRole": task.role,
        "NodeName": task.node,
        "Status": 1 << task.status,
        "Priority": task.priority,
        "Preemptable": task.preemptable,
        "BestEffort": task.best_effort,
        "RevocableZone": task.revocable_zone,
        "Resreq": request,
        "InitResreq": request,
        "Pod": {
            "metadata": {
                "name": pod.name,
                "namespace": pod.namespace,
                "uid": pod.uid,
                "labels": dict(pod.labels),
                "annotations": dict(pod.annotations),
                "creationTimestamp": _time(pod.created),
            },
            "spec": {
                "priority": pod.priority,
                "priorityClassName": pod.priority_class,
                "schedulerName": pod.scheduler_name,
                "nodeName": pod.node_name,
                "nodeSelector": dict(pod.node_selector),
                "tolerations": list(pod.tolerations),
                "affinity": pod.affinity,
            },
            "status": {"phase": pod.phase, "nominatedNodeName": pod.nominated_node},
        },
    }


def node_object(table: NodeTable, row: int) -> Object:
    facts = table.facts[row]

    def amounts(column: np.ndarray) -> Object:
        return resource(table.dimensions.resource(column[row]))

    return {
        "Name": facts.name,
        "Node": {
            "metadata": {
                "name": facts.name,
                "labels": dict(facts.labels),
                "annotations": dict(facts.annotations),
            },
            "spec": {"unschedulable": facts.unschedulable, "taints": list(facts.taints)},
        },
        "Idle": amounts(table.idle),
        "Used": amounts(table.used),
        "Releasing": amounts(table.releasing),
        "Pipelined": amounts(table.pipelined),
        "Allocatable": amounts(table.allocatable),
        "Capacity": amounts(table.capacity),
        "Tasks": {entry.task.key: task_object(entry.task) for entry in table.held[row].values()},
    }


def job_object(job: Job, dimensions: Dimensions) -> Object:
    group, minimum = job.group, job.min_resources
    return {
        "UID": job.uid,
        "Name": job.name,
        "Namespace": job.namespace,
        "Queue": job.queue,
        "Priority": job.priority,
        "MinAvailable": job.min_available,
        "TaskMinAvailable": dict(job.role_min),
        "TaskMinAvailableTotal": job.role_min_total,
        "Allocated": resource(dimensions.resource(job.allocated)),
        "TotalRequest": resource(dimensions.resource(job.total_request)),
        "CreationTimestamp": _time(job.created),
        "Tasks": {task.uid: task_object(task) for task in job.tasks.values()},
        "PodGroup": {
            "metadata": {
                "name": group.name,
                "namespace": group.namespace,
                "labels": dict(group.labels),
                "annotations": dict(group.annotations),
            },
            "spec": {
                "queue": group.queue,
                "minMember": group.min_member,
                "priorityClassName": group.priority_class,
            },
            "status": {"phase": job.phase},
        },
        "MinResources": None if minimum is None else resource(minimum),
    }


def queue_object(queue: Queue) -> Object:
    return {
        "UID": queue.name,
        "Name": queue.name,
        "Weight": queue.weight,
        "Queue": {
            "metadata": {
                "name": queue.name,
                "labels": dict(queue.labels),
                "annotations": dict(queue.annotations),
            },
            "spec": {
                "weight": queue.weight,
                "priority": queue.priority,
                "reclaimable": queue.reclaimable,
                "parent": queue.parent,
            },
            "status": {"state": queue.state},
        },
    }


def _time(seconds: float) -> str | None:
    return datetime.fromtimestamp(seconds, UTC).isoformat() if seconds else None
