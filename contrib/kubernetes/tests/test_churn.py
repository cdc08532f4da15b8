"""Churn: pods and nodes come and go for thousands of cycles; no pod is lost and memory is flat."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from _control_plane import ADMIN, ControlPlane, wait_for
from _objects import node, pod
from _process import PumiceProcess
from test_cluster import PODS, placed

from pumice_kubernetes.auth import connect
from pumice_kubernetes.client import ApiError, Client

pytestmark = [pytest.mark.kubernetes, pytest.mark.xdist_group("kubernetes")]
NODES = 6
"""Nodes of 8 cores; those with an odd number come and go."""
MOST = 60
"""Pods at a time, of one core: more than there is room for."""


class Churn:
    """Creates and deletes gangs and nodes as long as the scheduler has cycles to run."""

    def __init__(self, client: Client, seed: int) -> None:
        self._client = client
        self._random = random.Random(seed)
        self._gangs: list[tuple[str, int]] = []
        self._away: set[int] = set()
        self.created = 0

    async def step(self) -> None:
        """One change."""
        draw = self._random.random()
        if draw < 0.03:
            await self._toggle_node(self._random.randrange(1, NODES, 2))
        elif draw < 0.5 and sum(size for _, size in self._gangs) < MOST:
            await self._create_gang()
        elif self._gangs:
            await self._delete(*self._gangs.pop(self._random.randrange(len(self._gangs))))

    async def _create_gang(self) -> None:
        size = self._random.randint(1, 4)
        name = f"g{self.created}"
        marks = {"pumice/gang": name, "pumice/min-member": str(size)}
        marks["pumice/queue"] = self._random.choice(("red", "blue"))
        items = [pod(f"{name}-{i}", "x", annotations=marks, grace=0) for i in range(size)]
        await asyncio.gather(*(self._client.request("POST", PODS, item) for item in items))
        self._gangs.append((name, size))
        self.created += size

    async def _delete(self, name: str, size: int) -> None:
        for i in range(size):
            try:
                await self._client.request("DELETE", f"{PODS}/{name}-{i}")
            except ApiError as error:
                if error.status != 404:  # it was evicted
                    raise

    async def _toggle_node(self, number: int) -> None:
        """Cordon a node, or open it again."""
        self._away ^= {number}
        spec = {"unschedulable": number in self._away}
        await self._client.patch(f"/api/v1/nodes/n{number}", {"spec": spec})

    async def settle(self) -> None:
        """Leave pods that all have room."""
        for number in list(self._away):
            await self._toggle_node(number)
        while sum(size for _, size in self._gangs) > NODES * 4:
            await self._delete(*self._gangs.pop())


def churn(
    cluster: ControlPlane, create: Callable[..., Any], folder: Path, cycles: int
) -> list[float]:
    """Churn for so many cycles; the memory of the scheduler during it, in MB."""
    create(*(node(f"n{i}", "8") for i in range(NODES)))
    command = ("run", "-o", "jsonl", "--set", "scheduler.period=0.01")
    process = PumiceProcess(cluster.kubeconfig(folder / "kubeconfig"), command=command)
    try:
        wait_for(lambda: process.cycles > 0, 60)
        return asyncio.run(_churn(cluster, process, folder, cycles))
    finally:
        process.stop()


async def _churn(
    cluster: ControlPlane, process: PumiceProcess, folder: Path, cycles: int
) -> list[float]:
    client = Client(connect(str(cluster.kubeconfig(folder / "admin", ADMIN))))
    churned, sizes, began = Churn(client, seed=1), list[float](), time.monotonic()
    try:
        while process.cycles < cycles:
            for _ in range(20):
                await churned.step()
            sizes.append(process.memory())
        await churned.settle()
    finally:
        await client.close()
    names = {item["metadata"]["name"] for item in cluster.get(PODS)["items"]}
    assert names
    wait_for(lambda: names <= placed(cluster).keys())
    print(
        f"{process.cycles:.0f} cycles in {time.monotonic() - began:.0f} s: "
        f"{churned.created} pods created, {process.bound:.0f} bound, {process.cpu:.0f} s CPU, "
        f"{sizes[len(sizes) // 2]:.1f} MB after half of them, {sizes[-1]:.1f} MB at the end"
    )
    assert process.bound <= churned.created, "a pod was bound twice"
    assert "pumice_faults_total{" not in process.page("metrics")
    return sizes


@pytest.mark.long
def test_churn(cluster: ControlPlane, create: Callable[..., Any], tmp_path: Path) -> None:
    assert churn(cluster, create, tmp_path, 150)


@pytest.mark.long
@pytest.mark.churn
def test_churn_of_ten_thousand_cycles_needs_no_more_memory(
    cluster: ControlPlane, create: Callable[..., Any], tmp_path: Path
) -> None:
    sizes = churn(cluster, create, tmp_path, 10_000)
    # Connections and the allocator reach their highest level within some thousand cycles.
    assert max(sizes) < max(sizes[: len(sizes) // 2]) + 3
