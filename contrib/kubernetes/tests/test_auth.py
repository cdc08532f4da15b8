"""Kubeconfig files and the service account of a pod."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any

import pytest
import yaml

from pumice import PumiceError
from pumice_kubernetes import auth


def config(folder: Path, cluster: dict[str, Any], user: dict[str, Any]) -> Path:
    path = folder / "config"
    content = {
        "current-context": "one",
        "contexts": [
            {"name": "one", "context": {"cluster": "c", "user": "u", "namespace": "team"}},
            {"name": "two", "context": {"cluster": "c"}},
        ],
        "clusters": [{"name": "c", "cluster": {"server": "https://host:6443", **cluster}}],
        "users": [{"name": "u", "user": user}],
    }
    path.write_text(yaml.safe_dump(content))
    return path


def test_the_current_context_counts(tmp_path: Path) -> None:
    connection = auth.connect(str(config(tmp_path, {}, {"token": "secret"})))
    assert connection.server == "https://host:6443"
    assert connection.namespace == "team"
    assert connection.headers() == {"Authorization": "Bearer secret"}
    assert connection.ssl.verify_mode.name == "CERT_REQUIRED"
    assert connection.ssl.check_hostname


def test_another_context_without_a_user(tmp_path: Path) -> None:
    connection = auth.connect(str(config(tmp_path, {}, {"token": "secret"})), "two")
    assert (connection.namespace, connection.headers()) == ("default", {})


def test_a_token_file_is_read_again(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("first\n")
    connection = auth.connect(str(config(tmp_path, {}, {"tokenFile": "token"})))
    assert connection.headers()["Authorization"] == "Bearer first"
    (tmp_path / "token").write_text("second\n")
    connection._read = float("-inf")
    assert connection.headers()["Authorization"] == "Bearer second"


@pytest.mark.parametrize(
    "cluster, user, text",
    [
        ({"insecure-skip-tls-verify": True}, {}, "does not verify the server's certificate"),
        ({"server": "http://host"}, {}, "server is no https:// address"),
        ({}, {"exec": {"command": "aws"}}, "authenticated by 'exec', which is not supported"),
        ({"certificate-authority": "none.crt"}, {}, "a certificate cannot be used"),
    ],
    ids=["insecure", "http", "exec", "no file"],
)
def test_what_cannot_be_used_is_named(
    tmp_path: Path, cluster: dict[str, Any], user: dict[str, Any], text: str
) -> None:
    path = config(tmp_path, cluster, user)
    with pytest.raises(PumiceError, match=text) as error:
        auth.connect(str(path))
    assert str(path) in str(error.value)


def test_an_unknown_context_names_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(PumiceError, match="no context 'three'") as error:
        auth.connect(str(config(tmp_path, {}, {})), "three")
    assert error.value.hint == "there are: one, two"


def test_no_cluster_at_all(tmp_path: Path) -> None:
    with pytest.raises(PumiceError, match="there is no cluster to schedule"):
        auth.connect(str(tmp_path / "none"))


def test_in_a_pod_the_service_account_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "token").write_text("mounted")
    (tmp_path / "namespace").write_text("pumice-system")
    monkeypatch.setattr(auth, "SERVICE_ACCOUNT", tmp_path)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "fd00::1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    monkeypatch.delenv("KUBECONFIG", raising=False)
    with pytest.raises(PumiceError, match="the pod's account is incomplete"):
        auth.connect()
    (tmp_path / "ca.crt").write_text(_some_certificate())
    connection = auth.connect()
    assert connection.server == "https://[fd00::1]:443"
    assert connection.namespace == "pumice-system"
    assert connection.headers() == {"Authorization": "Bearer mounted"}


def _some_certificate() -> str:
    trusted = ssl.create_default_context().get_ca_certs(binary_form=True)
    if not trusted:
        pytest.skip("this machine trusts no authority")
    return ssl.DER_cert_to_PEM_cert(trusted[0])
