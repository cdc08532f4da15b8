"""Manifests for the tests."""

from __future__ import annotations

from typing import Any


def node(name: str, cpu: str = "8", **labels: str) -> dict[str, Any]:
    amounts = {"cpu": cpu, "memory": "32Gi", "pods": "110"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **labels}},
        "status": {
            "capacity": amounts,
            "allocatable": amounts,
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def pod(
    name: str,
    namespace: str,
    cpu: str = "1",
    *,
    labels: dict[str, str] | None = None,
    annotations: dict[str, str] | None = None,
    scheduler: str = "pumice",
    grace: int = 1,
    **spec: Any,
) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": labels or {},
            "annotations": annotations or {},
        },
        "spec": {
            "schedulerName": scheduler,
            "terminationGracePeriodSeconds": grace,
            "containers": [
                {"name": "main", "image": "pause", "resources": {"requests": {"cpu": cpu}}}
            ],
            **spec,
        },
    }
