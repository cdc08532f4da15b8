"""Collects the objects of a cluster that scheduling reads, without secrets and environment."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import msgspec
from loguru import logger

from pumice_kubernetes.client import ApiError, Client
from pumice_kubernetes.resources import Served, served_resources

_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_CONTAINER = ("args", "command", "env", "envFrom", "lifecycle", "livenessProbe", "readinessProbe")


async def objects(client: Client) -> AsyncIterator[dict[str, Any]]:
    """Every object that a snapshot needs."""
    for served in await served_resources(client):
        if served.resource.kind == "Job":
            continue
        try:
            async for page in client.pages(served.path()):
                for raw in page.items or ():
                    yield _cleaned(served, msgspec.json.decode(raw))
        except ApiError as error:
            if served.resource.required:
                raise
            logger.warning("{} cannot be read: {}", served.resource.label, error)


def _cleaned(served: Served, item: dict[str, Any]) -> dict[str, Any]:
    """The object with its kind, which lists leave out, and without what nobody else should see."""
    meta = item.get("metadata") or {}
    meta.pop("managedFields", None)
    (meta.get("annotations") or {}).pop(_APPLIED, None)
    item = {"apiVersion": served.api_version, "kind": served.resource.kind, **item}
    if served.resource.kind == "Pod":
        spec = item.get("spec") or {}
        for name in ("containers", "initContainers", "ephemeralContainers"):
            for container in spec.get(name) or ():
                for key in _CONTAINER:
                    container.pop(key, None)
        spec.pop("imagePullSecrets", None)
    return item
