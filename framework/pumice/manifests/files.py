"""Manifest files: JSON and YAML, lists and directories, one object at a time."""

from __future__ import annotations

import codecs
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import yaml
from msgspec import Raw

from pumice._nearest import near_file
from pumice.errors import ManifestError
from pumice.manifests.wire import MalformedError, head_of

Item = Mapping[str, Any] | Raw
"""An object as a mapping or as its JSON text, which is decoded only as far as needed."""

STDIN = "-"
_WANTED = "a file holds what 'kubectl get … -o json' or '-o yaml' prints"
_MAX_DEPTH = 8
_SUFFIXES = frozenset({".json", ".yaml", ".yml"})


class Listing(msgspec.Struct, rename="camel", gc=False):
    api_version: str | None = None
    kind: str | None = None
    items: list[Raw] | None = None


_SYNTAX = msgspec.json.Decoder(Raw)
_LISTING = msgspec.json.Decoder(Listing)
_RAW_LIST: msgspec.json.Decoder[list[Raw]] = msgspec.json.Decoder(list[Raw])


def read_paths(paths: Iterable[str | Path]) -> Iterator[tuple[str, Item]]:
    """Every object of the files, with its place; ``-`` is the standard input.

    Directories are read recursively in the order of file names. Lists are split into objects.

    :raises ManifestError: a file cannot be read or is neither JSON nor YAML.
    """
    for where, document in documents(paths):
        yield from flatten(where, document)


def documents(paths: Iterable[str | Path]) -> Iterator[tuple[str, Any]]:
    """As :func:`read_paths`, but lists may still be whole."""
    for path in paths:
        for file in _files(path):
            yield from _documents(str(file), _content(file))


def _files(path: str | Path) -> Iterator[str | Path]:
    if path == STDIN or not Path(path).is_dir():
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
        data = sys.stdin.buffer.read() if file == STDIN else Path(file).read_bytes()
    except OSError as error:
        raise ManifestError(
            f"{file}: {error.strerror or error}", hint=near_file(file) or _WANTED
        ) from None
    # PowerShell redirects output as UTF-16.
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16", "replace").encode()
    return data.removeprefix(codecs.BOM_UTF8)


def _documents(name: str, data: bytes) -> Iterator[tuple[str, Any]]:
    where = "standard input" if name == STDIN else name
    start = re.match(rb"\s*(.)?", data, re.DOTALL)
    if start is None or start[1] is None:
        return
    flow = start[1] in b"{["
    if flow or name.endswith(".json"):
        try:
            yield from _json(where, data)
            return
        except ManifestError:
            # A YAML file may start with a brace, too.
            if name.endswith(".json") or not name.endswith((".yaml", ".yml")):
                raise
    yield from _yaml(where, data)


def _json(where: str, data: bytes) -> Iterator[tuple[str, Any]]:
    try:
        parts = _json_parts(data)
    except msgspec.DecodeError as error:
        raise ManifestError(_json_error(where, data, str(error)), hint=_WANTED) from None
    except UnicodeDecodeError as error:
        raise ManifestError(f"{where}: not UTF-8: {error.reason}") from None
    except RecursionError:
        raise ManifestError(f"{where}: nested too deeply") from None
    if parts is None:
        yield where, Raw(data)
        return
    for i, part in enumerate(parts):
        yield f"{where} items[{i}]", part


def _json_parts(data: bytes) -> list[Raw] | None:
    try:
        if data.lstrip().startswith(b"["):
            return _RAW_LIST.decode(data)
        return _listed(_LISTING.decode(data))
    except msgspec.ValidationError:
        _SYNTAX.decode(data)  # well-formed JSON of another shape: the reader reports it
        return None


def _json_error(where: str, data: bytes, message: str) -> str:
    match = re.search(r"\s*\(byte (\d+)\)", message)
    position = int(match[1]) if match else len(data)
    text = message[: match.start()] if match else message
    line = data.count(b"\n", 0, position) + 1
    return f"{where}:{line}: {text.removeprefix('JSON is malformed: ')}"


def _loader() -> Any:
    """The safe loader, in C if available; timestamps stay text, as in JSON."""
    base = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    resolvers = {
        first: [(tag, pattern) for tag, pattern in known if not tag.endswith(":timestamp")]
        for first, known in base.yaml_implicit_resolvers.items()
    }
    return type("Loader", (base,), {"yaml_implicit_resolvers": resolvers})


_Loader = _loader()


def _yaml(where: str, data: bytes) -> Iterator[tuple[str, Any]]:
    line = 1
    try:
        loader = _Loader(data)
        while loader.check_node():
            node = loader.get_node()
            line = node.start_mark.line + 1
            document = loader.construct_document(node)
            if document is not None:
                yield f"{where}:{line}", document
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else line
        raise ManifestError(
            f"{where}:{line}: {error.problem or error.context}", hint=_WANTED
        ) from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ManifestError(f"{where}:{line}: {str(error).splitlines()[0]}", hint=_WANTED) from None


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
        return _inner_raw(item)
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


def _inner_raw(raw: Raw) -> list[Raw] | None:
    try:
        kind = head_of(raw).kind
        return _listed(_LISTING.decode(raw)) if kind and kind.endswith("List") else None
    except (ValueError, RecursionError):
        return None


def _listed(listing: Listing) -> list[Raw] | None:
    kind, items = listing.kind, listing.items
    if kind == "List":
        return items or []
    if kind is None or items is None or not kind.endswith("List"):
        return None
    # The API server omits kind and apiVersion in the items of a PodList.
    head = {"apiVersion": listing.api_version, "kind": kind.removesuffix("List")}
    opening = msgspec.json.encode(head).removesuffix(b"}")
    return [_with_kind(part, opening) for part in items]


def _with_kind(raw: Raw, opening: bytes) -> Raw:
    text = bytes(raw)
    try:
        if not text.startswith(b"{") or head_of(raw).kind is not None:
            return raw
    except MalformedError:
        return raw
    rest = text[1:].lstrip()
    return Raw(opening + rest if rest == b"}" else opening + b"," + rest)
