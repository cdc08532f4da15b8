"""Measure Pumice against a real kube-apiserver: ``make bench``, or ``python run.py --nodes 100``.

Skipped with a line where there are no binaries of a control plane; the comparison with the default
kube-scheduler where it was not built.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
for folder in ("tests", "controlplane", "bench"):
    sys.path.insert(0, str(HERE.parent / folder))

from _control_plane import ADMIN, ControlPlane  # noqa: E402
from _load import fill, nodes, pods  # noqa: E402
from _peer import KubeScheduler  # noqa: E402
from _process import PumiceProcess, cpu_seconds  # noqa: E402
from binaries import BUILD, BUILD_PEER, PEER, find  # noqa: E402

COMMAND = ("run", "-o", "jsonl", "--preset", "pumice")
IDLE, QUIET, SPEED = 30, 300, 60
"""Seconds between two cycles while jobs wait and while none does, and how much faster they pass."""
CYCLES = 20
"""Of which the CPU of one that changes nothing is the mean."""
PARTS = ("binds", "idle", "peer")
TARGET = 500
"""Binds a second."""


Rows = dict[str, float]


def measure_binds(plane: ControlPlane, process: PumiceProcess | KubeScheduler, count: int) -> Rows:
    """Wait until so many pods are bound; how fast it was."""
    first = 0.0
    bound = 0.0
    while bound < count:
        time.sleep(0.1)
        bound = process.bound
        if bound and not first:
            first, before = time.monotonic(), bound
            cpu, server = process.cpu, server_cpu(plane)
        if time.monotonic() - process.started > 900:
            raise RuntimeError(f"only {bound:.0f} of {count} pods are bound after 15 minutes")
    seconds = time.monotonic() - first
    used = process.cpu
    return {
        "first_bind_s": first - process.started,
        "binds_per_s": (bound - before) / seconds,
        "cpu_ms_per_bind": 1000 * (used - cpu) / (bound - before),
        "server_cpu_ms_per_bind": 1000 * (server_cpu(plane) - server) / (bound - before),
        "cpu_s": used,
        "memory_mb": process.memory(),
        "peak_mb": process.memory("VmHWM"),
    }


def server_cpu(plane: ControlPlane) -> float:
    """CPU seconds of the API server and etcd, which share the cores with Pumice."""
    return sum(map(cpu_seconds, plane.pids))


def measure_idle(config: Path) -> Rows:
    """CPU of a cycle that changes nothing, and of an hour without changes in which no job waits.

    Lease and discovery run beside the cycles.
    """
    return {
        "idle_cycle_cpu_s": _cpu_of(config, CYCLES, quiet=IDLE) / CYCLES,
        "idle_hour_cpu_s": _cpu_of(config, 3600 // QUIET, quiet=QUIET),
    }


def _cpu_of(config: Path, cycles: int, *, quiet: float) -> float:
    """CPU of so many cycles without changes."""
    pauses = {"idle": IDLE, "discovery": IDLE, "quiet": quiet}
    faster = [f"{name}={seconds / SPEED}" for name, seconds in pauses.items()]
    process = PumiceProcess(config, *faster, "lease_duration=1", command=COMMAND)
    try:
        while (first := process.cycles) < 3:
            time.sleep(0.1)
        cpu = process.cpu
        while process.cycles < first + cycles:
            time.sleep(0.5)
        return process.cpu - cpu
    finally:
        process.stop()


def measure_peer(plane: ControlPlane, folder: Path, count: int) -> dict[str, Rows]:
    """The default kube-scheduler and Pumice, one after the other, with the same nodes and pods."""
    binaries = find(PEER)
    if binaries is None:
        print(f"kube-scheduler: skipped, it is not here ({BUILD_PEER} builds it).")
        return {}
    admin = plane.kubeconfig(folder / "peer", ADMIN)
    config = plane.kubeconfig(folder / "kubeconfig")
    starts: dict[str, Callable[[], PumiceProcess | KubeScheduler]] = {
        "default-scheduler": lambda: KubeScheduler(binaries / "kube-scheduler", admin, folder),
        "pumice": lambda: PumiceProcess(config, command=COMMAND),
    }
    rows = {}
    for name, start in starts.items():
        fill(plane, folder, pods(count, scheduler=name))
        process = start()
        try:
            rows[name] = measure_binds(plane, process, count)
        finally:
            process.stop()
        plane.request("DELETE", "/api/v1/namespaces/x/pods?gracePeriodSeconds=0")
    return rows


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--pods", type=int, default=20000)
    parser.add_argument("--in-flight", type=int, default=64)
    parser.add_argument("--peer-nodes", type=int, default=1000)
    parser.add_argument("--peer-pods", type=int, default=5000)
    parser.add_argument("--only", choices=PARTS, help="measure one part; unset: all")
    options = parser.parse_args(arguments)
    binaries = find()
    if binaries is None:
        print(f"Kubernetes: skipped, no kube-apiserver and etcd here ({BUILD} builds them).")
        return 0
    parts = (options.only,) if options.only else PARTS
    rows: Rows = {}
    if "binds" in parts or "idle" in parts:
        with cluster(binaries, options.nodes) as (plane, folder):
            rows = _measure(plane, folder, options, parts)
        _show(rows)
    if "peer" in parts:
        with cluster(binaries, options.peer_nodes) as (plane, folder):
            _show(measure_peer(plane, folder, options.peer_pods))
    if rows and rows["binds_per_s"] < TARGET:
        print(f"fewer than {TARGET} binds a second", file=sys.stderr)
        return 1
    return 0


def _show(rows: Any) -> None:
    print(json.dumps(_rounded(rows), indent=1), flush=True)


def _rounded(rows: Any) -> Any:
    if isinstance(rows, dict):
        return {key: _rounded(value) for key, value in rows.items()}
    return round(rows, 2)


@contextmanager
def cluster(binaries: Path, count: int) -> Iterator[tuple[ControlPlane, Path]]:
    """A control plane with so many nodes and the namespace of the pods, and a folder for files."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        plane = ControlPlane(binaries, folder / "plane")
        try:
            plane.start()
            plane.apply_rbac()
            plane.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "x"}})
            fill(plane, folder, nodes(count))
            yield plane, folder
        finally:
            plane.stop()


def _measure(
    plane: ControlPlane, folder: Path, options: argparse.Namespace, parts: Sequence[str]
) -> Rows:
    fill(plane, folder, pods(options.pods))
    config = plane.kubeconfig(folder / "kubeconfig")
    process = PumiceProcess(config, f"in_flight={options.in_flight}", command=COMMAND)
    try:
        rows = measure_binds(plane, process, options.pods)
    finally:
        process.stop()
    if "idle" in parts:
        rows |= measure_idle(config)
    return rows


if __name__ == "__main__":
    sys.exit(main())
