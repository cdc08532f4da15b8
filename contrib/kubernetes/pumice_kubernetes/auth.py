"""How to reach an API server and who to be there: in a pod, or by a kubeconfig file."""

from __future__ import annotations

import base64
import os
import ssl
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from pumice import PumiceError

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_TOKEN_AGE = 60.0
"""Seconds after which a token file is read again: Kubernetes replaces it within the hour."""


@dataclass
class Connection:
    """The address of an API server, with the certificates to trust and the identity to use."""

    server: str
    """``https://host:port``."""
    ssl: ssl.SSLContext
    """Verifies the server's certificate, and holds that of the client."""
    namespace: str = "default"
    """The namespace that this process belongs to."""
    token: str = ""
    """A fixed bearer token; empty: none."""
    token_file: Path | None = None
    """A file with a bearer token that is replaced from time to time."""
    _read: float = 0.0

    def headers(self) -> dict[str, str]:
        """The headers that say who is asking."""
        if self.token_file is not None and time.monotonic() - self._read > _TOKEN_AGE:
            self.token, self._read = self.token_file.read_text().strip(), time.monotonic()
        return {"Authorization": f"Bearer {self.token}"} if self.token else {}


def connect(kubeconfig: str = "", context: str = "") -> Connection:
    """The connection that a kubeconfig file describes, else that of the pod this runs in.

    :raises PumiceError: there is neither, or the file cannot be used.
    """
    named = kubeconfig or os.environ.get("KUBECONFIG", "")
    in_pod = (SERVICE_ACCOUNT / "token").is_file() and "KUBERNETES_SERVICE_HOST" in os.environ
    if not named and in_pod:
        try:
            return _in_cluster()
        except (OSError, KeyError) as error:
            raise PumiceError(
                f"{SERVICE_ACCOUNT}: the pod's account is incomplete: {error}"
            ) from None
    path = Path(named.split(os.pathsep)[0] or "~/.kube/config").expanduser()
    if not path.is_file():
        raise PumiceError(
            f"there is no cluster to schedule: {path} does not exist and this is no pod of one",
            hint="name a kubeconfig file: --backend-set kubeconfig=FILE",
        )
    return from_kubeconfig(path, context)


def _in_cluster() -> Connection:
    host, port = os.environ["KUBERNETES_SERVICE_HOST"], os.environ["KUBERNETES_SERVICE_PORT"]
    host = f"[{host}]" if ":" in host else host
    return Connection(
        f"https://{host}:{port}",
        ssl.create_default_context(cafile=str(SERVICE_ACCOUNT / "ca.crt")),
        namespace=(SERVICE_ACCOUNT / "namespace").read_text().strip(),
        token_file=SERVICE_ACCOUNT / "token",
    )


def from_kubeconfig(path: Path, context: str = "") -> Connection:
    """The connection that one context of a kubeconfig file describes.

    :raises PumiceError: something is missing, or is not supported.
    """
    try:
        config = yaml.safe_load(path.read_text())
        name = context or config.get("current-context") or ""
        chosen = _named(path, config, "context", name)
        cluster = _named(path, config, "cluster", chosen.get("cluster", ""))
        user = _named(path, config, "user", chosen["user"]) if chosen.get("user") else {}
    except (yaml.YAMLError, OSError, AttributeError, TypeError) as error:
        raise PumiceError(f"{path}: not a kubeconfig file: {error}") from None
    server = str(cluster.get("server", "")).rstrip("/")
    if not server.startswith("https://"):
        raise PumiceError(f"{path}: cluster of context {name!r}: server is no https:// address")
    if cluster.get("insecure-skip-tls-verify"):
        raise PumiceError(
            f"{path}: context {name!r} does not verify the server's certificate",
            hint="give certificate-authority or certificate-authority-data instead",
        )
    for key in ("exec", "auth-provider"):
        if key in user:
            raise PumiceError(
                f"{path}: the user of context {name!r} is authenticated by {key!r}, which is "
                "not supported",
                hint="use the token of a service account: kubectl create token NAME",
            )
    token_file = user.get("tokenFile")
    return Connection(
        server,
        _tls(path, cluster, user),
        namespace=chosen.get("namespace") or "default",
        token=str(user.get("token", "")),
        token_file=None if not token_file else path.parent / token_file,
    )


def _named(path: Path, config: dict[str, Any], kind: str, name: str) -> dict[str, Any]:
    for entry in config.get(f"{kind}s") or ():
        if entry.get("name") == name:
            return dict(entry.get(kind) or {})
    known = ", ".join(str(entry.get("name")) for entry in config.get(f"{kind}s") or ())
    raise PumiceError(f"{path}: there is no {kind} {name!r}", hint=f"there are: {known or 'none'}")


def _tls(path: Path, cluster: dict[str, Any], user: dict[str, Any]) -> ssl.SSLContext:
    try:
        authority = _material(path, cluster, "certificate-authority")
        tls = ssl.create_default_context(cadata=authority.decode() if authority else None)
        certificate = _material(path, user, "client-certificate")
        key = _material(path, user, "client-key")
        if certificate and key:
            # The ssl module reads a client's certificate from files only.
            with tempfile.TemporaryDirectory() as folder:
                both = Path(folder, "client.pem")
                both.touch(mode=0o600)
                both.write_bytes(certificate + b"\n" + key)
                tls.load_cert_chain(both)
    except (OSError, ValueError) as error:
        raise PumiceError(f"{path}: a certificate cannot be used: {error}") from None
    return tls


def _material(path: Path, entry: dict[str, Any], name: str) -> bytes:
    """A certificate or key: inline as ``name-data``, or in the file that ``name`` says."""
    if entry.get(f"{name}-data"):
        return base64.b64decode(entry[f"{name}-data"])
    return (path.parent / entry[name]).read_bytes() if entry.get(name) else b""
