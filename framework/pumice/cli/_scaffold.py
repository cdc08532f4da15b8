"""Renders templates: ``«name»`` in a file, ``NAME`` and ``MODULE`` in its path."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from pumice._replace import replace_file
from pumice.errors import PumiceError

_MARK = re.compile("«([a-z_]+)»")
_SUFFIX = ".tmpl"


def has(*folder: str) -> bool:
    """Whether a folder of templates exists."""
    return _root().joinpath(*folder).is_dir()


def render(folders: Iterable[tuple[str, ...]], words: Mapping[str, str]) -> dict[str, str]:
    """The rendered files of these folders of templates, by path."""
    rendered: dict[str, str] = {}
    for folder in folders:
        for path, template in _files(_root().joinpath(*folder)):
            text = template.read_text(encoding="utf-8")
            if path.endswith(_SUFFIX):
                text = _MARK.sub(lambda mark: words[mark[1]], text)
            rendered[_path(path, words)] = f"{text.strip()}\n" if path.endswith(_SUFFIX) else text
    return rendered


def write(folder: Path, rendered: Mapping[str, str]) -> None:
    """Write the files into a new folder."""
    try:
        folder.mkdir(parents=True)
        for path, text in rendered.items():
            file = folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            replace_file(file, text)
    except FileExistsError:
        raise PumiceError(
            f"{folder} already exists", hint="choose another name, or move it away"
        ) from None
    except OSError as error:
        raise PumiceError(f"{folder}: {error.strerror or error}") from None


def _root() -> Traversable:
    return files("pumice").joinpath("templates")


def _files(folder: Traversable, above: str = "") -> Iterator[tuple[str, Traversable]]:
    for item in sorted(folder.iterdir(), key=lambda item: item.name):
        if item.is_dir():
            yield from _files(item, f"{above}{item.name}/")
        else:
            yield f"{above}{item.name}", item


def _path(path: str, words: Mapping[str, str]) -> str:
    path = path.removesuffix(_SUFFIX)
    path = path.replace("NAME", words["name"]).replace("MODULE", words["module"])
    return "/".join(
        f".{part.removeprefix('dot_')}" if part.startswith("dot_") else part
        for part in path.split("/")
    )
