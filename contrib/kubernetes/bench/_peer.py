"""The default kube-scheduler as a process, beside which Pumice is measured."""

from __future__ import annotations

import re
import ssl
import subprocess
from pathlib import Path

from _control_plane import free_ports
from _process import MeasuredProcess

DEFAULT_SCHEDULER = "default-scheduler"
"""The schedulerName of its pods."""
_LIMIT = "100000"
"""Requests a second; its own limit of 50 would be all that is measured."""
_BOUND = re.compile(
    r'^scheduler_schedule_attempts_total{[^}]*result="scheduled"[^}]*} (\S+)$', re.M
)


class KubeScheduler(MeasuredProcess):
    """kube-scheduler with its default plugins on a cluster."""

    def __init__(self, binary: Path, config: Path, folder: Path) -> None:
        (port,) = free_ports(1)
        self._url = f"https://127.0.0.1:{port}/metrics"
        self._certificate = folder / "kube-scheduler.crt"
        with open(folder / "kube-scheduler.log", "ab") as log:
            super().__init__(
                [
                    str(binary),
                    *(f"--{one}kubeconfig={config}" for one in ("", "authentication-")),
                    f"--authorization-kubeconfig={config}",
                    "--authorization-always-allow-paths=/metrics",
                    "--bind-address=127.0.0.1",
                    f"--secure-port={port}",
                    f"--cert-dir={folder}",
                    "--leader-elect=false",
                    f"--kube-api-qps={_LIMIT}",
                    f"--kube-api-burst={_LIMIT}",
                ],
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    @property
    def bound(self) -> float:
        """How many pods it has bound."""
        if not self._certificate.exists():
            return 0.0
        tls = ssl.create_default_context(cafile=str(self._certificate))
        return sum(map(float, _BOUND.findall(self.get(self._url, tls))))
