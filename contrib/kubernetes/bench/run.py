"""Measure Pumice against a real kube-apiserver: ``make bench``, or ``python run.py --nodes 100``.

Skipped with a line where there are no binaries of a control plane.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).resolve().parent
for folder in ("tests", "controlplane", "bench"):
    sys.path.insert(0, str(HERE.parent / folder))

from _control_plane import ControlPlane  # noqa: E402
from _load import fill, nodes, pods  # noqa: E402
from _process import PumiceProcess, cpu_seconds  # noqa: E402
from binaries import BUILD, find  # noqa: E402

COMMAND = ("run", "-o", "jsonl", "--preset", "pumice")
IDLE, SPEED = 30, 60
"""Seconds between two cycles of an idle cluster, and how much faster they pass in the bench."""
TARGET = 500
"""Binds a second."""


def measure_binds(plane: ControlPlane, process: PumiceProcess, count: int) -> dict[str, float]:
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


def measure_idle(config: Path) -> dict[str, float]:
    """CPU of the cycles of an hour without changes; lease and discovery run beside them."""
    faster = [f"{name}={IDLE / SPEED}" for name in ("idle", "discovery")]
    process = PumiceProcess(config, *faster, "lease_duration=1", command=COMMAND)
    try:
        while process.cycles < 3:
            time.sleep(0.1)
        cycles, cpu = process.cycles, process.cpu
        while process.cycles < cycles + 3600 / IDLE:
            time.sleep(0.5)
        cpu = process.cpu - cpu
    finally:
        process.stop()
    return {"idle_hour_cpu_s": cpu}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--pods", type=int, default=20000)
    parser.add_argument("--in-flight", type=int, default=64)
    parser.add_argument("--no-idle", action="store_true", help="leave the idle hour out")
    options = parser.parse_args(arguments)
    binaries = find()
    if binaries is None:
        print(f"Kubernetes: skipped, no kube-apiserver and etcd here ({BUILD} builds them).")
        return 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        plane = ControlPlane(binaries, folder / "plane")
        try:
            plane.start()
            plane.apply_rbac()
            rows = _measure(plane, folder, options)
        finally:
            plane.stop()
    print(json.dumps({key: round(value, 2) for key, value in rows.items()}, indent=1))
    if rows["binds_per_s"] < TARGET:
        print(f"fewer than {TARGET} binds a second", file=sys.stderr)
        return 1
    return 0


def _measure(plane: ControlPlane, folder: Path, options: argparse.Namespace) -> dict[str, float]:
    plane.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "x"}})
    fill(plane, folder, nodes(options.nodes))
    fill(plane, folder, pods(options.pods))
    config = plane.kubeconfig(folder / "kubeconfig")
    process = PumiceProcess(config, f"in_flight={options.in_flight}", command=COMMAND)
    try:
        rows = measure_binds(plane, process, options.pods)
    finally:
        process.stop()
    if not options.no_idle:
        rows |= measure_idle(config)
    return rows


if __name__ == "__main__":
    sys.exit(main())
