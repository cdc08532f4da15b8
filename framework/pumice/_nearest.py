"""The name that was probably meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path


def nearest(word: object, known: Iterable[str]) -> str | None:
    """The known name most like ``word``, letter case aside; None when nothing is near."""
    folded = {name.casefold(): name for name in known}
    matches = get_close_matches(str(word).casefold(), folded, n=1)
    return folded[matches[0]] if matches else None


def did_you_mean(word: object, known: Iterable[str]) -> str:
    """A clause to append to an error message; empty when nothing is near."""
    near = nearest(word, known)
    return f"; did you mean {near!r}?" if near else ""


def near_file(path: str | Path) -> str:
    """A hint at the file beside ``path`` that has nearly its name; empty when there is none."""
    path = Path(path)
    try:
        near = nearest(path.name, (file.name for file in path.parent.iterdir()))
    except OSError:
        return ""
    return f"did you mean {path.with_name(near)}?" if near and near != path.name else ""


def read_hint(path: str | Path, error: object) -> str:
    """What to do about a file that cannot be read; empty where nothing is known."""
    if isinstance(error, FileNotFoundError):
        return near_file(path) or "name a file that exists"
    return "name one file in it" if isinstance(error, IsADirectoryError) else ""
