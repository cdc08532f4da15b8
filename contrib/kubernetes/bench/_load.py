"""Fills a cluster quickly."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from _control_plane import ADMIN, ControlPlane, collection
from _objects import node, pod

from pumice_kubernetes.auth import connect
from pumice_kubernetes.client import Client

GANG = 8


def fill(plane: ControlPlane, folder: Path, items: Iterable[dict[str, Any]]) -> None:
    """Create objects, many at a time."""
    config = plane.kubeconfig(folder / "admin", ADMIN)
    asyncio.run(_create(str(config), list(items)))


async def _create(config: str, items: list[dict[str, Any]]) -> None:
    client = Client(connect(config), in_flight=32)
    try:
        await asyncio.gather(*(client.request("POST", collection(item), item) for item in items))
    finally:
        await client.close()


def nodes(count: int) -> list[dict[str, Any]]:
    """Nodes of 64 cores."""
    return [node(f"n{i:05}", "64") for i in range(count)]


def pods(count: int, prefix: str = "p", scheduler: str = "pumice") -> list[dict[str, Any]]:
    """Pods of one to four cores in gangs of eight and four queues."""
    made = []
    for i in range(count):
        gang = i // GANG
        marks = {
            "pumice/gang": f"{prefix}{gang}",
            "pumice/min-member": str(min(GANG, count - gang * GANG)),
            "pumice/queue": f"q{gang % 4}",
        }
        cpu = str(1 + gang % 4)
        made.append(pod(f"{prefix}{i}", "x", cpu, annotations=marks, scheduler=scheduler))
    return made
