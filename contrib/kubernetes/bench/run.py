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
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
for folder in ("tests", "controlplane", "bench"):
    sys.path.insert(0, str(HERE.parent / folder))

from _control_plane import ADMIN, ControlPlane  # noqa: E402
from _load import fill, nodes, pods  # noqa: E402
from _peer import DEFAULT_SCHEDULER, KubeScheduler  # noqa: E402
from _process import PumiceProcess, busy_seconds, cpu_seconds  # noqa: E402
from binaries import BUILD, BUILD_PEER, PEER, find  # noqa: E402

COMMAND = ("run", "-o", "jsonl", "--preset", "pumice")
SPEED = 15
"""How much faster than by default everything that is periodic happens in the idle hour."""
PERIODIC = {"idle": 30, "quiet": 300, "discovery": 30, "lease_duration": 15}
"""Options with their defaults, in seconds."""
WINDOW = 60.0
"""Seconds for which an idle scheduler is measured."""
PARTS = ("binds", "idle", "peer")
LONGEST = 900
"""Seconds after which a measurement is given up."""
TARGET = 500
"""Binds a second."""


Rows = dict[str, float]


def measure_binds(plane: ControlPlane, process: PumiceProcess | KubeScheduler, count: int) -> Rows:
    """Wait until so many pods are bound; how fast it was."""
    while not (before := process.bound):
        _pause(process, before, count)
    first, busy = time.monotonic(), busy_seconds()
    cpu, server = process.cpu, server_cpu(plane)
    while (bound := process.bound) < count:
        _pause(process, bound, count)
    seconds = time.monotonic() - first
    used, served = process.cpu, server_cpu(plane) - server
    return {
        "first_bind_s": first - process.started,
        "binds_per_s": (bound - before) / seconds,
        "cpu_ms_per_bind": 1000 * (used - cpu) / (bound - before),
        "server_cpu_ms_per_bind": 1000 * served / (bound - before),
        "cpu_s": used,
        "memory_mb": process.memory(),
        "peak_mb": process.memory("VmHWM"),
        "cores_of_others": (busy_seconds() - busy - (used - cpu) - served) / seconds,
    }


def _pause(process: PumiceProcess | KubeScheduler, bound: float, count: int) -> None:
    if time.monotonic() - process.started > LONGEST:
        raise RuntimeError(f"only {bound:.0f} of {count} pods are bound after {LONGEST} s")
    time.sleep(0.5 if bound else 0.1)  # the page that is read here costs the scheduler CPU, too


def server_cpu(plane: ControlPlane) -> float:
    """CPU seconds of the API server and etcd, which share the cores with Pumice."""
    return sum(map(cpu_seconds, plane.pids))


def measure_idle(config: Path) -> Rows:
    """CPU of a cycle that changes nothing, and of an hour in which no job waits.

    The hour includes lease and discovery; it is measured by a quarter of it.
    """
    often, cycles = _cpu_of(config, PERIODIC | {"idle": 3, "quiet": 3})
    hour, _ = _cpu_of(config, PERIODIC)
    return {
        "idle_cycle_cpu_s": (often - hour) / cycles,
        "idle_hour_cpu_s": hour * 3600 / (WINDOW * SPEED),
    }


def _cpu_of(config: Path, periods: Mapping[str, float]) -> tuple[float, float]:
    """CPU and cycles of an idle scheduler; its page is not read meanwhile."""
    faster = [f"{name}={seconds / SPEED}" for name, seconds in periods.items()]
    process = PumiceProcess(config, *faster, command=COMMAND)
    try:
        while not process.cycles:
            _pause(process, 0, 0)
        time.sleep(2)
        cpu, first = process.cpu, process.cycles
        time.sleep(WINDOW)
        return process.cpu - cpu, process.cycles - first
    finally:
        process.stop()


def measure_peer(binaries: Path, options: argparse.Namespace) -> dict[str, Rows]:
    """The default kube-scheduler and Pumice, each on a fresh cluster with the same pods."""
    peer = find(PEER)
    if peer is None:
        print(f"kube-scheduler: skipped, it is not here ({BUILD_PEER} builds it).")
        return {}
    rows = {}
    for name in (DEFAULT_SCHEDULER, "pumice"):
        with cluster(binaries, options.peer_nodes) as (plane, folder):
            fill(plane, folder, pods(options.peer_pods, scheduler=name))
            process: PumiceProcess | KubeScheduler
            if name == DEFAULT_SCHEDULER:
                config = plane.kubeconfig(folder / "kubeconfig", ADMIN)
                process = KubeScheduler(peer / "kube-scheduler", config, folder)
            else:
                process = PumiceProcess(plane.kubeconfig(folder / "kubeconfig"), command=COMMAND)
            try:
                rows[name] = measure_binds(plane, process, options.peer_pods)
            finally:
                process.stop()
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
        _show(measure_peer(binaries, options))
    if rows and rows["binds_per_s"] < TARGET:
        others = f"other processes used {rows['cores_of_others']:.1f} cores meanwhile"
        print(f"fewer than {TARGET} binds a second; {others}", file=sys.stderr)
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
