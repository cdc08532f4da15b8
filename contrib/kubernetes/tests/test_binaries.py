"""Where the control plane of the tests comes from."""

from __future__ import annotations

from pathlib import Path

import binaries
import pytest


@pytest.fixture(autouse=True)
def _nothing_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)


def put(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name in binaries.NAMES:
        (folder / name).touch(mode=0o755)
    return folder


def test_the_cache_is_by_version(tmp_path: Path) -> None:
    folder = put(tmp_path / "pumice" / "k8s" / binaries.version())
    assert binaries.find_or_build() == folder


def test_binaries_that_are_named_come_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path / "pumice" / "k8s" / binaries.version())
    named = put(tmp_path / "named")
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(named))
    assert binaries.find_or_build() == named


def test_a_named_folder_that_lacks_one_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (put(tmp_path / "named") / "etcd").unlink()
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(tmp_path / "named"))
    with pytest.raises(binaries.NoControlPlaneError, match="KUBEBUILDER_ASSETS lacks"):
        binaries.find_or_build()


def test_without_go_the_error_says_what_to_do() -> None:
    with pytest.raises(binaries.NoControlPlaneError, match=r"needs Go 1\.26 \(there is none\)"):
        binaries.find_or_build()


def test_an_old_go_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binaries, "go_version", lambda: (1, 19))
    with pytest.raises(binaries.NoControlPlaneError, match=r"this is 1\.19"):
        binaries.find_or_build()
