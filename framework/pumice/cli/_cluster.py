"""The cluster of a command: made from its files, completed, and moved on between cycles."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pumice.backends import Backend
from pumice.backends.adopt import adopt
from pumice.backends.memory import MemoryBackend
from pumice.backends.state import ClusterState
from pumice.config import Policy
from pumice.discovery import Catalog
from pumice.errors import PumiceError
from pumice.model.facts import Inventory

EXAMPLE = "pumice run dump.json, where kubectl get nodes,pods,… -A -o json wrote dump.json"


def make_backend(
    name: str,
    files: Sequence[str],
    policy: Policy,
    catalog: Catalog,
    state_file: Path | None = None,
    state: ClusterState | None = None,
    *,
    now: float | None = None,
    settings: Sequence[str] = (),
) -> Backend:
    """The backend of this name with the objects of the files, or of a state file.

    ``now`` sets the clock of the embedded cluster, which otherwise follows its latest object.
    ``settings`` are options of the backend, which only those of live clusters have.
    """
    if settings:
        raise PumiceError(
            f"--backend-set {settings[0]}: the backend {name!r} has no options",
            hint="name the backend that has this option: --backend NAME",
        )
    backend = _backend(name, files, policy, catalog, state_file, state)
    if now is not None:
        if not isinstance(backend, MemoryBackend):
            raise PumiceError(f"--now: the backend {name!r} has a clock of its own")
        backend.step(now - backend.now())
    return backend


def _backend(
    name: str,
    files: Sequence[str],
    policy: Policy,
    catalog: Catalog,
    state_file: Path | None,
    state: ClusterState | None,
) -> Backend:
    cls = catalog.load("backend", name).cls
    if state_file and not (isinstance(cls, type) and issubclass(cls, MemoryBackend)):
        raise PumiceError(
            f"--state: the backend {name!r} has no state to store",
            hint="remove --state, or use the backend 'memory'",
        )
    if state is not None:
        return cls.from_state(state)  # type: ignore[no-any-return]
    settings = policy.scheduler
    if not hasattr(cls, "from_files"):
        if files:
            raise PumiceError(
                f"the backend {name!r} does not read files",
                hint="remove the files from the command",
            )
        return _instance(name, cls)
    if not files:
        missing = f": {state_file} does not exist yet" if state_file else ""
        raise PumiceError(f"there is nothing to schedule: give FILES{missing}", hint=EXAMPLE)
    backend: Backend = cls.from_files(files, default_queue=settings.default_queue)
    return backend


def input_warnings(backend: Backend) -> list[str]:
    """What is wrong with the manifests."""
    if not isinstance(backend, MemoryBackend):
        return []
    inventory = backend.snapshot()
    return [
        *map(str, inventory.problems),
        *_missing_groups(inventory),
        *_missing_nodes(inventory),
    ]


def adopt_pods(backend: Backend, policy: Policy) -> None:
    """Give pods without a pod group one of their own; a real cluster has controllers for it."""
    if isinstance(backend, MemoryBackend):
        queue, ours = policy.scheduler.default_queue, policy.scheduler.scheduler_names
        backend.replace(adopt(backend.snapshot(), queue=queue, scheduler_names=ours))


def _missing_groups(inventory: Inventory) -> list[str]:
    """Warnings about pending pods whose pod group is missing."""
    reported = {problem.object for problem in inventory.problems}
    pods = Counter(
        pod.group
        for pod in inventory.pods.values()
        if pod.group and pod.group not in inventory.groups and pod.phase == "Pending"
    )
    return [
        f"PodGroup {group}: not in the files, so pods that name it are not scheduled: {count}"
        for group, count in sorted(pods.items())
        if f"PodGroup {group}" not in reported
    ]


def _missing_nodes(inventory: Inventory) -> list[str]:
    """Warnings about pods on nodes that are missing."""
    pods = Counter(
        pod.node_name
        for pod in inventory.pods.values()
        if pod.node_name
        and pod.node_name not in inventory.nodes
        and pod.phase in ("Pending", "Running")
    )
    return [
        f"Node {node}: not in the files, so pods that are on it count nowhere: {count}"
        for node, count in sorted(pods.items())
    ]


def _instance(name: str, cls: Callable[[], Any]) -> Backend:
    backend = cls()
    if not isinstance(backend, Backend):
        raise PumiceError(f"the backend {name!r} lacks methods of a backend")
    return backend


def advance(backend: Backend, policy: Policy) -> None:
    """Simulate what happens between cycles; a real cluster needs no help."""
    if isinstance(backend, MemoryBackend):
        backend.advance()
        backend.step(policy.scheduler.period)
