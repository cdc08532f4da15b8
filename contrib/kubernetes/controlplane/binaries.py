"""kube-apiserver and etcd for the tests: those at hand, else built once from the Go module here.

Looks in ``$KUBEBUILDER_ASSETS``, else in the cache. ``python binaries.py`` builds into the cache;
with ``--peer`` the default kube-scheduler, too, which only the benchmark needs.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

HERE = Path(__file__).parent
NAMES = {
    "etcd": "go.etcd.io/etcd/server/v3",
    "kube-apiserver": "k8s.io/kubernetes/cmd/kube-apiserver",
}
"""The binaries of the control plane, and their packages."""
PEER = {"kube-scheduler": "k8s.io/kubernetes/cmd/kube-scheduler"}
"""The scheduler that Pumice is compared with."""
BUILD, BUILD_PEER = "make control-plane", "make kube-scheduler"
GO = (1, 26)


class NoControlPlaneError(Exception):
    """There are no binaries, and they cannot be built here."""


def version() -> str:
    """The version of Kubernetes that the module pins, such as ``v1.36.1``."""
    match = re.search(r"^\s*k8s\.io/kubernetes (v[\d.]+)", (HERE / "go.mod").read_text(), re.M)
    assert match is not None
    return match[1]


def cache() -> Path:
    """Where the binaries are built."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "pumice" / "k8s" / version()


def find(names: Iterable[str] = NAMES) -> Path | None:
    """The folder with the binaries, if there is one."""
    given = os.environ.get("KUBEBUILDER_ASSETS")
    folder = Path(given) if given else cache()
    return folder if all(os.access(folder / name, os.X_OK) for name in names) else None


def find_or_build(packages: Mapping[str, str] = NAMES) -> Path:
    """The folder with the binaries, which are built first if need be.

    :raises NoControlPlaneError: there are none and Go is missing or too old.
    """
    folder = find(packages)
    if folder is None:
        if os.environ.get("KUBEBUILDER_ASSETS"):
            raise NoControlPlaneError(f"$KUBEBUILDER_ASSETS lacks {' or '.join(packages)}")
        build(packages)
    return folder or cache()


def go_version() -> tuple[int, int] | None:
    """The version of Go at hand."""
    go = shutil.which("go")
    if go is None:
        return None
    text = subprocess.run([go, "version"], capture_output=True, text=True, check=False).stdout
    match = re.search(r"go(\d+)\.(\d+)", text)
    return None if match is None else (int(match[1]), int(match[2]))


def build(packages: Mapping[str, str]) -> None:
    """Build binaries into the cache; one process at a time does.

    :raises NoControlPlaneError: Go is missing or too old, or the build fails.
    """
    have = go_version()
    if have is None or have < GO:
        shown = "there is none" if have is None else f"this is {have[0]}.{have[1]}"
        raise NoControlPlaneError(
            f"building {' and '.join(packages)} needs Go {GO[0]}.{GO[1]} ({shown}); "
            "or name a folder with them: KUBEBUILDER_ASSETS=…"
        )
    folder = cache()
    folder.mkdir(parents=True, exist_ok=True)
    tag = version()
    numbers = tag.lstrip("v").split(".")
    module = "k8s.io/component-base/version"
    stamps = {"gitVersion": tag, "gitMajor": numbers[0], "gitMinor": numbers[1]}
    flags = " ".join(["-s -w", *(f"-X {module}.{k}={v}" for k, v in stamps.items())])
    settings = {"CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOFLAGS": "-buildvcs=false -p=2"}
    with open(folder / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for name, package in packages.items():
            target = folder / name
            if target.exists():
                continue
            print(f"building {name} {tag} (minutes, once)", file=sys.stderr, flush=True)
            # A name of its own until it is complete, so that a killed build leaves none behind.
            partial = folder / f".{name}"
            command = ["go", "build", "-trimpath", "-ldflags", flags, "-o", str(partial), package]
            done = subprocess.run(command, cwd=HERE, env={**os.environ, **settings}, check=False)
            if done.returncode:
                raise NoControlPlaneError(f"go build {package} failed")
            partial.rename(target)


if __name__ == "__main__":
    try:
        print(find_or_build({**NAMES, **PEER} if "--peer" in sys.argv[1:] else NAMES))
    except NoControlPlaneError as error:
        sys.exit(f"error: {error}")
