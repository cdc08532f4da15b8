"""Manifest files: JSON and YAML, lists and directories, one object at a time."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import Raw

from pumice._bounded import TextError, utf8, yaml_documents
from pumice._nearest import read_hint
from pumice.errors import ManifestError
from pumice.manifests.archives import unpacked
from pumice.manifests.json_files import WANTED, inner_items, json_documents, large_list, list_frame

Item = Mapping[str, Any] | Raw
"""An object as a mapping or as its JSON text, which is decoded only as far as needed."""

STDIN = "-"
_MAX_DEPTH = 8
_MAX_BYTES = 2 << 30
_SUFFIXES = frozenset({".json", ".yaml", ".yml"})


def read_paths(paths: Iterable[str | Path]) -> Iterator[tuple[str, Item]]:
    """Every object of the files, with its place; ``-`` is the standard input.

    Directories are read recursively in the order of file names. Lists are split into objects.

    :raises ManifestError: a file cannot be read or is neither JSON nor YAML.
    """
    for where, document in documents(paths):
        yield from flatten(where, document)


def documents(paths: Iterable[str | Path], *, in_blocks: bool = False) -> Iterator[tuple[str, Any]]:
    """As :func:`read_paths`, but lists may still be whole.

    ``in_blocks``: large lists are cut into items that the caller checks.
    """
    for file in manifest_files(paths):
        yield from documents_of(file, in_blocks=in_blocks)


def manifest_files(paths: Iterable[str | Path]) -> Iterator[str | Path]:
    """The files that the paths name or hold, in the order of their names."""
    for path in paths:
        yield from _files(path)


def documents_of(file: str | Path, *, in_blocks: bool = False) -> Iterator[tuple[str, Any]]:
    """The documents of one file."""
    frame = list_frame(file) if in_blocks and str(file).endswith(".json") else None
    if frame is not None:
        return large_list(file, frame)
    return _documents(str(file), _content(file))


def _files(path: str | Path) -> Iterator[str | Path]:
    if path == STDIN or not Path(path).is_dir():
        if str(path).endswith(".toml"):
            raise ManifestError(
                f"{path}: a TOML file is not a manifest", hint="a policy is given with --config"
            )
        yield path
        return
    files = sorted(
        file
        for file in Path(path).rglob("*")
        if file.suffix in _SUFFIXES
        and file.is_file()
        and not any(part.startswith(".") for part in file.relative_to(path).parts)
    )
    if not files:
        raise ManifestError(
            f"{path}: no manifests in this directory", hint="files end in .json, .yaml or .yml"
        )
    yield from files


def _content(file: str | Path) -> bytes:
    try:
        if file == STDIN:
            data = sys.stdin.buffer.read(_MAX_BYTES + 1)
        else:
            with Path(file).open("rb") as opened:
                data = opened.read(_MAX_BYTES + 1)
    except OSError as error:
        raise ManifestError(
            f"{file}: {error.strerror or error}", hint=read_hint(file, error) or WANTED
        ) from None
    if len(data) > _MAX_BYTES:
        raise ManifestError(f"{place_of(file)}: larger than {_MAX_BYTES >> 30} GiB")
    data = unpacked(place_of(file), data, _MAX_BYTES)
    try:
        return utf8(data)
    except TextError as error:
        raise ManifestError(error.at(place_of(file)), hint=error.hint) from None


def place_of(file: str | Path) -> str:
    """How a message names the file."""
    return "standard input" if file == STDIN else str(file)


def _documents(name: str, data: bytes) -> Iterator[tuple[str, Any]]:
    where = place_of(name)
    start = re.match(rb"\s*(.)?", data, re.DOTALL)
    if start is None or start[1] is None:
        return
    flow = start[1] in b"{["
    if flow or name.endswith(".json"):
        try:
            yield from json_documents(where, data)
            return
        except ManifestError:
            # A YAML file may start with a brace, too.
            if name.endswith(".json") or not name.endswith((".yaml", ".yml")):
                raise
    yield from _yaml(where, data)


def _yaml(where: str, data: bytes) -> Iterator[tuple[str, Any]]:
    try:
        for line, document in yaml_documents(data):
            if document is not None:
                yield f"{where}:{line}", document
    except TextError as error:
        raise ManifestError(error.at(where), hint=error.hint or WANTED) from None


def flatten(where: str, item: Any) -> Iterator[tuple[str, Any]]:
    """The objects of a list, including nested lists; anything else as it is."""
    waiting = [(where, item, 0)]
    while waiting:
        where, item, depth = waiting.pop()
        # A YAML list may contain itself.
        inner = _inner(item) if depth < _MAX_DEPTH else None
        if inner is None:
            yield where, item
        else:
            parts = [(f"{where} items[{i}]", part, depth + 1) for i, part in enumerate(inner)]
            waiting += reversed(parts)


def _inner(item: Any) -> list[Any] | None:
    if isinstance(item, Raw):
        return inner_items(item)
    if not isinstance(item, Mapping):
        return None
    kind, items = item.get("kind"), item.get("items")
    if not isinstance(kind, str) or not kind.endswith("List"):
        return None
    if kind == "List" and items is None:
        return []
    if not isinstance(items, list):
        return None
    shared = {"apiVersion": item.get("apiVersion"), "kind": kind.removesuffix("List")}
    if kind == "List":
        return items
    return [
        {**shared, **part} if isinstance(part, Mapping) and "kind" not in part else part
        for part in items
    ]
