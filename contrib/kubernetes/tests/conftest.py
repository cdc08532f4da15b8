"""The control plane of the tests, and a cluster on it that is empty when a test begins."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from _control_plane import SCHEDULER, ApiRefusedError, ControlPlane, Kubelet, collection, wait_for
from _crds import CRDS, crd
from _scheduler import RunningScheduler
from binaries import BUILD, NoControlPlaneError, find, find_or_build


@pytest.fixture(scope="session")
def control_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A real kube-apiserver and etcd with the shipped rights of the scheduler."""
    binaries = find()
    if binaries is None:
        if not os.environ.get("REQUIRE_CONTROL_PLANE"):
            pytest.skip(f"no kube-apiserver and etcd here. To build them: {BUILD}")
        try:
            binaries = find_or_build()
        except NoControlPlaneError as error:
            pytest.fail(f"no control plane: {error}. To build one: {BUILD}")
    plane = ControlPlane(binaries, tmp_path_factory.mktemp("control-plane"))
    try:
        plane.start()
        plane.apply_rbac()
        yield plane
    finally:
        plane.stop()


@pytest.fixture
def cluster(control_plane: ControlPlane) -> Iterator[ControlPlane]:
    """The control plane with the namespace ``x`` and nothing else in it."""
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "x"}}
    with suppress(ApiRefusedError):
        control_plane.create(namespace)
    yield control_plane
    clean(control_plane)


def clean(plane: ControlPlane) -> None:
    """Delete what a test has made."""
    for path in (
        "/api/v1/namespaces/x/pods",
        "/api/v1/nodes",
        "/apis/policy/v1/namespaces/x/poddisruptionbudgets",
        "/apis/batch/v1/namespaces/x/jobs",
        "/apis/scheduling.k8s.io/v1alpha2/podgroups",
        "/apis/scheduling.k8s.io/v1alpha2/workloads",
        *(f"/apis/{group}/{version}/{plural}" for group, version, plural, _, _ in CRDS),
    ):
        with suppress(ApiRefusedError):
            for item in plane.get(path)["items"]:
                meta = item["metadata"]
                one = f"{path}/{meta['name']}"
                if "namespace" in meta and "/namespaces/" not in path:
                    root, _, plural = path.rpartition("/")
                    one = f"{root}/namespaces/{meta['namespace']}/{plural}/{meta['name']}"
                with suppress(ApiRefusedError):
                    plane.request("DELETE", one, {"gracePeriodSeconds": 0})
                    if meta.get("finalizers"):  # no controller is there to remove them
                        free = {"metadata": {"finalizers": None}}
                        plane.request("PATCH", one, free, kind="application/merge-patch+json")


@pytest.fixture
def crds(cluster: ControlPlane) -> Callable[[str], None]:
    """Serves the custom resources of an API group."""

    def serve(group: str, *, without: str = "bindrequests") -> None:
        for one in CRDS:
            if one[0] != group or one[2] == without:
                continue
            with suppress(ApiRefusedError):
                cluster.create(crd(*one))
            wait_for(partial(is_served, cluster, f"/apis/{'/'.join(one[:3])}"))

    return serve


def is_served(plane: ControlPlane, path: str) -> bool:
    try:
        plane.get(path)
    except ApiRefusedError:
        return False
    return True


@pytest.fixture
def kubelet(cluster: ControlPlane) -> Iterator[Kubelet]:
    """Lets bound pods run and ends deleted ones."""
    one = Kubelet(cluster)
    yield one
    one.stop()


@pytest.fixture
def schedule(cluster: ControlPlane, tmp_path: Path) -> Iterator[Callable[..., RunningScheduler]]:
    """Starts a scheduler with the shipped rights; it is stopped at the end."""
    running: list[RunningScheduler] = []

    def start(*, token: str = SCHEDULER, **settings: Any) -> RunningScheduler:
        config = cluster.kubeconfig(tmp_path / "kubeconfig", token)
        running.append(RunningScheduler(config, **settings))
        return running[-1]

    yield start
    for one in running:
        one.stop()


@pytest.fixture
def create(cluster: ControlPlane) -> Callable[..., list[Any]]:
    """Creates objects; a status is written, too."""

    def make(*items: dict[str, Any]) -> list[Any]:
        made = []
        for item in items:
            made.append(cluster.create(item))
            if item["kind"] in ("Node", "PodDisruptionBudget") and "status" in item:
                path = f"{collection(item)}/{item['metadata']['name']}/status"
                merge = "application/merge-patch+json"
                cluster.request("PATCH", path, {"status": item["status"]}, kind=merge)
        return made

    return make
