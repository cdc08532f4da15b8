"""A real kube-apiserver and etcd on the loopback interface, and a kubelet that pretends."""

from __future__ import annotations

import base64
import http.client
import json
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import yaml

DEPLOY = Path(__file__).parent.parent / "deploy"
_GATES = ("GenericWorkload", "GangScheduling", "TopologyAwareWorkloadScheduling")
ADMIN, SCHEDULER, POWERLESS = "admin-token", "scheduler-token", "powerless-token"


class ApiRefusedError(Exception):
    """The API server refused a request of a test."""

    def __init__(self, status: int, content: Any) -> None:
        super().__init__(f"{status}: {content}")
        self.status = status


class ControlPlane:
    """kube-apiserver and etcd in a folder of their own."""

    def __init__(self, binaries: Path, folder: Path) -> None:
        self._binaries = binaries
        self._folder = folder
        self.client_port, self._peer_port, self.port = free_ports(3)
        self._etcd: subprocess.Popen[bytes] | None = None
        self._server: subprocess.Popen[bytes] | None = None
        self._prepare()

    def _prepare(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        (self._folder / "tokens.csv").write_text(
            f'{ADMIN},admin,admin,"system:masters"\n'
            f'{SCHEDULER},system:serviceaccount:pumice-system:pumice,u2,"system:serviceaccounts"\n'
            f"{POWERLESS},powerless,u3\n"
        )
        key = self._folder / "sa.key"
        command = ["openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out"]
        subprocess.run([*command, str(key)], check=True, capture_output=True)
        public = ["openssl", "ec", "-in", str(key), "-pubout", "-out", str(key.with_suffix(".pub"))]
        subprocess.run(public, check=True, capture_output=True)

    def start(self) -> None:
        client, peer = (f"http://127.0.0.1:{p}" for p in (self.client_port, self._peer_port))
        self._etcd = self._spawn(
            "etcd",
            *("--data-dir", str(self._folder / "etcd"), "--unsafe-no-fsync"),
            *("--listen-client-urls", client, "--advertise-client-urls", client),
            *("--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer),
            *("--initial-cluster", f"default={peer}"),
        )
        self.start_server()

    def start_server(self) -> None:
        folder = self._folder
        self._server = self._spawn(
            "kube-apiserver",
            f"--etcd-servers=http://127.0.0.1:{self.client_port}",
            "--bind-address=127.0.0.1",
            f"--secure-port={self.port}",
            f"--cert-dir={folder / 'pki'}",
            f"--token-auth-file={folder / 'tokens.csv'}",
            "--authorization-mode=RBAC",
            f"--service-account-key-file={folder / 'sa.pub'}",
            f"--service-account-signing-key-file={folder / 'sa.key'}",
            "--service-account-issuer=https://kubernetes.default.svc",
            "--service-cluster-ip-range=10.0.0.0/24",
            # Without a controller manager no node would ever lose its taint.
            "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition",
            # Kubernetes' own pod groups are alpha.
            "--runtime-config=scheduling.k8s.io/v1alpha2=true",
            f"--feature-gates={','.join(f'{gate}=true' for gate in _GATES)}",
        )
        wait_for(self._is_ready, 120)

    def _spawn(self, name: str, *arguments: str) -> subprocess.Popen[bytes]:
        with open(self._folder / f"{name}.log", "ab") as log:
            return subprocess.Popen(
                [str(self._binaries / name), *arguments], stdout=log, stderr=log
            )

    def _is_ready(self) -> bool:
        if self._server is not None and self._server.poll() is not None:
            text = (self._folder / "kube-apiserver.log").read_text()[-3000:]
            raise RuntimeError(f"kube-apiserver has ended: {text}")
        try:
            return bool(self.request("GET", "/readyz") == "ok")
        except (OSError, ApiRefusedError, http.client.HTTPException):
            return False

    @property
    def pids(self) -> list[int]:
        """The processes of the API server and etcd."""
        return [one.pid for one in (self._server, self._etcd) if one is not None]

    def kill_server(self) -> None:
        """Kill the API server, as a crash would."""
        if self._server is not None:
            self._server.kill()
            self._server.wait()

    def stop(self) -> None:
        self.kill_server()
        if self._etcd is not None:
            self._etcd.kill()
            self._etcd.wait()

    def compact(self) -> None:
        """Let etcd forget old versions; after a restart, watches from before have expired."""
        version = int(self.get("/api/v1/pods?limit=1")["metadata"]["resourceVersion"])
        connection = http.client.HTTPConnection("127.0.0.1", self.client_port, timeout=10)
        body = json.dumps({"revision": version, "physical": True})
        connection.request("POST", "/v3/kv/compaction", body)
        assert connection.getresponse().status == 200

    # -- requests of the tests

    @property
    def authority(self) -> Path:
        """The certificate of the server, which signed itself."""
        return self._folder / "pki" / "apiserver.crt"

    def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        token: str = ADMIN,
        kind: str = "application/json",
    ) -> Any:
        tls = ssl.create_default_context(cafile=str(self.authority))
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, context=tls, timeout=30)
        headers = {"Authorization": f"Bearer {token}", "Content-Type": kind}
        data = None if body is None else msgspec.json.encode(body)
        try:
            connection.request(method, path, data, headers)
            response = connection.getresponse()
            text = response.read()
        finally:
            connection.close()
        if path in ("/readyz", "/healthz"):
            return text.decode()
        if response.status >= 300:
            raise ApiRefusedError(response.status, text.decode())
        return json.loads(text)

    def get(self, path: str) -> Any:
        return self.request("GET", path)

    def create(self, item: dict[str, Any], *, dry_run: bool = False) -> Any:
        """Create an object of any kind."""
        query = "?dryRun=All" if dry_run else ""
        return self.request("POST", collection(item) + query, item)

    def apply_rbac(self) -> None:
        """Give the scheduler the rights that are shipped."""
        for name in ("namespace.yaml", "rbac.yaml"):
            for item in yaml.safe_load_all((DEPLOY / name).read_text()):
                self.create(item)

    def kubeconfig(self, path: Path, token: str = SCHEDULER) -> Path:
        """A kubeconfig file of an identity."""
        authority = base64.b64encode(self.authority.read_bytes()).decode()
        server = f"https://127.0.0.1:{self.port}"
        cluster = {"server": server, "certificate-authority-data": authority}
        context = {"cluster": "c", "user": "u", "namespace": "pumice-system"}
        config = {
            "current-context": "test",
            "contexts": [{"name": "test", "context": context}],
            "clusters": [{"name": "c", "cluster": cluster}],
            "users": [{"name": "u", "user": {"token": token}}],
        }
        path.write_text(yaml.safe_dump(config))
        return path


class Kubelet:
    """Lets bound pods run and ends those that are deleted, as the kubelets of all nodes would."""

    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane
        self._stop = threading.Event()
        self.paused = threading.Event()
        """While set, terminating pods go on."""
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._stop.wait(0.1):
            try:
                for item in self._plane.get("/api/v1/pods")["items"]:
                    self._tend(item)
            except (OSError, ApiRefusedError, http.client.HTTPException, ValueError):
                continue

    def _tend(self, item: dict[str, Any]) -> None:
        meta, spec = item["metadata"], item["spec"]
        path = f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}"
        if not spec.get("nodeName"):
            return
        try:
            if meta.get("deletionTimestamp"):
                if not self.paused.is_set():
                    self._plane.request("DELETE", path, {"gracePeriodSeconds": 0})
            elif item["status"].get("phase") == "Pending":
                started = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
                # A disruption budget does not count pods that are not Ready.
                ready = {"type": "Ready", "status": "True", "lastTransitionTime": started}
                status = {"phase": "Running", "startTime": started, "conditions": [ready]}
                merge = "application/strategic-merge-patch+json"
                self._plane.request("PATCH", f"{path}/status", {"status": status}, kind=merge)
        except ApiRefusedError as error:
            if error.status not in (404, 409):
                raise

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()


_PLURALS = {"PriorityClass": "priorityclasses"}
_NAMESPACED = {
    "Pod", "PodGroup", "PodDisruptionBudget", "ServiceAccount", "Role", "RoleBinding", "ConfigMap",
    "Deployment", "Job", "ResourceQuota", "Lease", "Workload", "BindRequest",
}  # fmt: skip


def collection(item: dict[str, Any]) -> str:
    """The path of all objects of a kind."""
    version, kind = item["apiVersion"], item["kind"]
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    plural = _PLURALS.get(kind, f"{kind.lower()}s")
    if kind in _NAMESPACED:
        return f"{root}/namespaces/{item['metadata']['namespace']}/{plural}"
    return f"{root}/{plural}"


def free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def wait_for(check: Callable[[], Any], seconds: float = 30.0) -> Any:
    """Wait for something to become true."""
    end = time.monotonic() + seconds
    while True:
        outcome = check()
        if outcome:
            return outcome
        if time.monotonic() > end:
            raise AssertionError(f"not within {seconds} s: {check}")
        time.sleep(0.05)
