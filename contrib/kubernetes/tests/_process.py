"""The command ``pumice`` as a process of its own, seen from outside."""

from __future__ import annotations

import os
import re
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

from _control_plane import free_ports

PUMICE = str(Path(sys.executable).parent / "pumice")
_TICKS = os.sysconf("SC_CLK_TCK")


class MeasuredProcess:
    """A process of a scheduler that is measured from outside."""

    def __init__(self, arguments: Sequence[str], **more: Any) -> None:
        self.started = time.monotonic()
        self._process: subprocess.Popen[str] = subprocess.Popen(arguments, text=True, **more)
        self.pid = self._process.pid

    @property
    def cpu(self) -> float:
        """The CPU seconds that it has used."""
        return cpu_seconds(self.pid)

    def memory(self, which: str = "VmRSS") -> float:
        """Its resident memory in MB; ``VmHWM``: the peak."""
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith(f"{which}:"):
                return int(line.split()[1]) / 1024
        return 0.0

    def get(self, url: str, tls: ssl.SSLContext | None = None) -> str:
        """A page of it; empty while it is not served."""
        try:
            with urllib.request.urlopen(url, timeout=30, context=tls) as answer:
                return str(answer.read().decode())
        except (urllib.error.URLError, OSError):
            if self._process.poll() is not None:
                raise RuntimeError(f"it has ended: {self._process.returncode}") from None
            return ""

    def stop(self) -> int:
        """End it as Kubernetes would; returns its exit code."""
        self._process.terminate()
        try:
            return self._process.wait(60)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()


class PumiceProcess(MeasuredProcess):
    """A command on a live cluster, with its metrics page."""

    def __init__(
        self,
        config: Path,
        *settings: str,
        command: Sequence[str] = ("run", "-o", "jsonl"),
        output: IO[str] | int = subprocess.DEVNULL,
    ) -> None:
        (port,) = free_ports(1)
        self._url = f"http://127.0.0.1:{port}"
        arguments = [PUMICE, *command, "--backend", "kubernetes"]
        for setting in (f"kubeconfig={config}", f"listen=127.0.0.1:{port}", *settings):
            arguments += ["--backend-set", setting]
        super().__init__(arguments, stdout=output)

    def page(self, name: str) -> str:
        """A page; empty while it is not served."""
        return self.get(f"{self._url}/{name}")

    def metric(self, name: str) -> float:
        """The value of a metric with its labels; 0 while there is none."""
        match = re.search(rf"^{re.escape(name)} (\S+)$", self.page("metrics"), re.M)
        return 0.0 if match is None else float(match[1])

    @property
    def cycles(self) -> float:
        """How many cycles it has decided."""
        return self.metric("pumice_cycle_seconds_count")

    @property
    def bound(self) -> float:
        """How many pods it has bound."""
        return self.metric('pumice_binds_total{result="bound"}')


def cpu_seconds(pid: int) -> float:
    """The CPU time that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def busy_seconds() -> float:
    """The CPU time that all processes of the machine have used."""
    user, nice, system, _, _, interrupts, soft = Path("/proc/stat").read_text().split()[1:8]
    return sum(map(int, (user, nice, system, interrupts, soft))) / _TICKS
