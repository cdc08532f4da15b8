"""Writes queues of both families as manifests that are read as the same facts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from pumice import Queue, Resource
from pumice.gpu import GPU
from pumice_builtin_plugins.snapshot.pods import Object, compact, metadata, quantities


def write_queue(queue: Queue) -> Object:
    if queue.family == "kai":
        return {
            "apiVersion": "scheduling.run.ai/v2",
            "kind": "Queue",
            "metadata": metadata(queue),
            "spec": compact(
                displayName=queue.display_name,
                parentQueue=queue.parent,
                priority=queue.priority,
                preemptMinRuntime=_duration(queue.preempt_min_runtime),
                reclaimMinRuntime=_duration(queue.reclaim_min_runtime),
                resources=_kai_resources(queue),
            ),
        }
    devices = queue.device_limits
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": metadata(queue),
        "spec": compact(
            weight=queue.weight,
            priority=queue.priority,
            parent=queue.parent,
            reclaimable=queue.reclaimable,
            affinity=dict(queue.affinity),
            **_volcano_amounts("capability", queue.limit, devices),
            **_volcano_amounts("deserved", queue.deserved, devices),
            **_volcano_guarantee(queue),
        ),
        "status": {"state": queue.state},
    }


def _volcano_amounts(part: str, amounts: Resource | None, devices: Mapping[str, Any]) -> Object:
    if amounts is None:
        return {}
    return {part: quantities(amounts) | dict(devices.get(part, {}))}


def _volcano_guarantee(queue: Queue) -> Object:
    written = _volcano_amounts("guarantee", queue.guarantee, queue.device_limits)
    return {"guarantee": {"resource": written["guarantee"]}} if written else {}


def _kai_resources(queue: Queue) -> Object:
    weights = queue.over_quota_weight or Resource()
    return {
        name: {
            "quota": _kai_amount(queue.deserved, key, unit),
            "limit": _kai_amount(queue.limit, key, unit),
            "overQuotaWeight": weights.get(key),
        }
        for name, key, unit in (("cpu", "cpu", 1), ("memory", "memory", 10**6), ("gpu", GPU, 1000))
    }


def _kai_amount(amounts: Resource | None, name: str, unit: int) -> float:
    amount = (amounts or Resource()).get(name)
    return -1 if amount == math.inf else amount / unit


def _duration(seconds: float | None) -> str | None:
    return None if seconds is None else f"{seconds}s"
