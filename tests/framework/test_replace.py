"""Files that are replaced in one step."""

import os
import stat

import pytest

from pumice._replace import replace_file
from pumice.errors import PumiceError


def test_a_file_is_written_and_replaced(tmp_path):
    file = tmp_path / "out.json"
    replace_file(file, "old")
    replace_file(file, "new é\n")
    assert file.read_bytes() == "new é\n".encode()
    assert os.listdir(tmp_path) == ["out.json"]


def test_permissions_are_those_of_the_file_before(tmp_path):
    file = tmp_path / "out"
    file.write_text("old")
    file.chmod(0o640)
    replace_file(file, b"new")
    assert stat.S_IMODE(file.stat().st_mode) == 0o640


@pytest.mark.parametrize("dangling", [False, True])
def test_a_symbolic_link_is_refused_and_nothing_behind_it_changes(tmp_path, dangling):
    target, link = tmp_path / "target", tmp_path / "link"
    if not dangling:
        target.write_text("old")
    link.symlink_to(target)
    with pytest.raises(PumiceError, match=r"link: .*symbolic link to .*target") as raised:
        replace_file(link, "new")
    assert raised.value.hint
    assert link.is_symlink()
    assert target.exists() is not dangling
    assert dangling or target.read_text() == "old"


def test_a_link_made_in_between_is_replaced_and_not_followed(tmp_path, monkeypatch):
    target, file = tmp_path / "target", tmp_path / "out"
    target.write_text("old")
    monkeypatch.setattr("pumice._replace.check_target", lambda path: path.symlink_to(target))
    replace_file(file, "new")
    assert target.read_text() == "old"
    assert not file.is_symlink()
    assert file.read_text() == "new"


@pytest.mark.parametrize("name, reason", [("", "no regular file"), ("none/out", "no folder")])
def test_what_cannot_be_replaced_is_named(tmp_path, name, reason):
    with pytest.raises(PumiceError, match=reason) as raised:
        replace_file(tmp_path / name, "new")
    assert str(tmp_path / name) in str(raised.value)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("step", ["os.fsync", "os.replace"])
def test_a_failure_at_any_step_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, step):
    file = tmp_path / "out"
    file.write_text("old")

    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(step, full)
    with pytest.raises(PumiceError, match="out: cannot be written: No space left"):
        replace_file(file, "new")
    assert file.read_text() == "old"
    assert os.listdir(tmp_path) == ["out"]


def test_the_content_reaches_the_disk_before_it_takes_the_name(tmp_path, monkeypatch):
    steps = []
    fsync, rename = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda fd: (steps.append("sync"), fsync(fd)))
    monkeypatch.setattr(os, "replace", lambda a, b: (steps.append("replace"), rename(a, b)))
    replace_file(tmp_path / "out", "new")
    assert steps == ["sync", "replace", "sync"]
