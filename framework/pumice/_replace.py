"""Writes files so that a reader sees the old content or the new one, never a part of it."""

from __future__ import annotations

import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path

from pumice.errors import PumiceError


def check_target(path: Path) -> None:
    """Refuse what cannot be replaced, before any work is done for it.

    :raises PumiceError: the path is a symbolic link or no regular file, or its folder is missing.
    """
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        if not path.parent.is_dir():
            raise PumiceError(
                f"{path}: cannot be written: there is no folder {path.parent}",
                hint="make the folder first",
            ) from None
        mode = stat.S_IFREG
    except OSError as error:
        raise PumiceError(f"{path}: cannot be written: {error.strerror or error}") from None
    if stat.S_ISLNK(mode):
        raise PumiceError(
            f"{path}: cannot be written: it is a symbolic link to {os.readlink(path)}",
            hint="name the file itself, or remove the link",
        )
    if not stat.S_ISREG(mode):
        raise PumiceError(
            f"{path}: cannot be written: it is no regular file", hint="name another file"
        )
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise PumiceError(
            f"{path}: cannot be written: no file can be made in the folder {path.parent}",
            hint="name a file in another folder, or change the permissions",
        )


def replace_file(path: Path, content: str | bytes) -> None:
    """Write a file, or replace one, in one step that survives a crash.

    The content goes to a new file beside it, reaches the disk, and then takes the name. A file that
    is replaced keeps its permissions.

    :raises PumiceError: it cannot be written; what was there before is untouched.
    """
    check_target(path)
    data = content.encode() if isinstance(content, str) else content
    beside = path.with_name(f".{path.name[:200]}.{secrets.token_hex(4)}.tmp")
    try:
        _write_new(beside, data, path)
        os.replace(beside, path)
        _sync_folder(path.parent)
    except OSError as error:
        raise PumiceError(f"{path}: cannot be written: {error.strerror or error}") from None
    finally:
        with suppress(OSError):
            beside.unlink()


def _write_new(beside: Path, data: bytes, path: Path) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
    with os.fdopen(os.open(beside, flags, 0o666), "wb") as file:
        with suppress(FileNotFoundError):
            os.chmod(beside, stat.S_IMODE(path.lstat().st_mode))
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    """Make the new name last; some file systems cannot, and the content is safe without it."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
