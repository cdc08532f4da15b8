"""JSON manifests: the objects of a file as their texts; a large list is read block by block."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

import msgspec
from msgspec import Raw, Struct

from pumice.errors import ManifestError
from pumice.manifests.archives import snapshot_lists
from pumice.manifests.wire import MalformedError, head_of

WANTED = "a file holds what 'kubectl get … -o json' or '-o yaml' prints"
BLOCK = 1 << 20
"""Bytes of a large list that are read at a time."""
_END_BYTES = 4096
SnapshotLists = dict[str, list[Raw] | None]


class Listing(Struct, rename="camel", gc=False):
    api_version: str | None = None
    kind: str | None = None
    items: list[Raw] | None = None
    raw_objects: SnapshotLists | None = None
    """The lists of a snapshot of KAI's scheduler."""


_SYNTAX = msgspec.json.Decoder(Raw)
_LISTING = msgspec.json.Decoder(Listing)
_RAW_LIST: msgspec.json.Decoder[list[Raw]] = msgspec.json.Decoder(list[Raw])


def json_documents(where: str, data: bytes) -> Iterator[tuple[str, Raw]]:
    """The objects of a JSON text, with their places.

    :raises ManifestError: it is not JSON.
    """
    try:
        parts = _parts(data)
    except msgspec.DecodeError as error:
        raise ManifestError(_syntax_error(where, data, str(error)), hint=WANTED) from None
    except UnicodeDecodeError as error:
        raise ManifestError(f"{where}: not UTF-8: {error.reason}") from None
    except RecursionError:
        raise ManifestError(f"{where}: nested too deeply") from None
    if parts is None:
        yield where, Raw(data)
        return
    if isinstance(parts, dict):
        yield from _snapshot(where, parts)
        return
    for i, part in enumerate(parts):
        yield f"{where} items[{i}]", part


def _snapshot(where: str, lists: SnapshotLists) -> Iterator[tuple[str, Raw]]:
    for place, item, known in snapshot_lists(lists):
        raw = item if known is None else _with_kind(item, _kind_opening(*known))
        yield f"{where} {place}", raw


def _parts(data: bytes) -> list[Raw] | SnapshotLists | None:
    try:
        if data.lstrip().startswith(b"["):
            return _RAW_LIST.decode(data)
        listing = _LISTING.decode(data)
        if listing.kind is None and listing.raw_objects is not None:
            return listing.raw_objects
        return listed(listing)
    except msgspec.ValidationError:
        _SYNTAX.decode(data)  # well-formed JSON of another shape: the reader reports it
        return None


def _syntax_error(where: str, data: bytes, message: str) -> str:
    match = re.search(r"\s*\(byte (\d+)\)", message)
    position = int(match[1]) if match else len(data)
    text = message[: match.start()] if match else message
    line = data.count(b"\n", 0, position) + 1
    return f"{where}:{line}: {text.removeprefix('JSON is malformed: ')}"


class ListFrame(NamedTuple):
    """What is around the items of a list in a file, and where the items are."""

    api_version: str
    kind: str
    start: int
    end: int
    opening: bytes
    """How the first item begins, from the bracket to its first key."""


def _pattern(text: str) -> re.Pattern[bytes]:
    """A pattern of JSON in which ``_`` is white space and TEXT a string without escapes."""
    metadata = r'("metadata"_:_\{[^{}\[\]\\]*\})'
    text = text.replace("METADATA", metadata).replace("TEXT", r'"([^"\\\x00-\x1f]*)"')
    return re.compile(text.replace("_", r"[ \t\r\n]*").encode())


_OPENING = _pattern(
    r'_\{_(?:"apiVersion"_:_TEXT_,_)?(?:"kind"_:_TEXT_,_)?(?:METADATA_,_)?"items"_:_\['
    r'(_\{_"[^"\\]*")'
)
_ENDING = _pattern(r'\]_(?:,_"kind"_:_TEXT_)?(?:,_METADATA_)?\}_')


def list_frame(path: str | Path) -> ListFrame | None:
    """The frame of a large file that holds one list; None where it is small or anything else."""
    try:
        # A pipe can be read only once.
        size = Path(path).stat().st_size if Path(path).is_file() else 0
        if size <= BLOCK:
            return None
        with Path(path).open("rb") as file:
            opening = _OPENING.match(file.read(_END_BYTES))
            file.seek(max(0, size - _END_BYTES))
            tail = file.read()
    except OSError:
        return None
    ending = _ENDING.fullmatch(tail, max(0, tail.rfind(b"]")))
    if opening is None or ending is None:
        return None
    twice = (opening[2] and ending[1]) or (opening[3] and ending[2])
    kind = opening[2] or ending[1] or b""
    if twice or not kind.endswith(b"List"):
        return None
    try:
        for metadata in filter(None, (opening[3], ending[2])):
            _SYNTAX.decode(b"{" + metadata + b"}")
        api_version = (opening[1] or b"").decode()
        end = size - len(tail) + ending.start()
        return ListFrame(api_version, kind.decode(), opening.start(4), end, opening[4])
    except ValueError:
        return None


def large_list(path: str | Path, frame: ListFrame) -> Iterator[tuple[str, Raw]]:
    """The items of a large list, so that the whole file is never in memory.

    The text is cut wherever an item seems to begin. If every item is a complete JSON value, it
    was cut in the right places; :func:`check_complete` shows it for an item that is not decoded.
    """
    with Path(path).open("rb") as file:
        file.seek(frame.start)
        pieces = _pieces(file, frame)
        if frame.kind != "List":
            opening = _kind_opening(frame.api_version or None, frame.kind)
            pieces = (_with_kind(piece, opening) for piece in pieces)
        where = str(path)
        for number, piece in enumerate(pieces):
            yield f"{where} items[{number}]", piece


def _pieces(file: BinaryIO, frame: ListFrame) -> Iterator[Raw]:
    cut = b"," + frame.opening
    left = frame.end - frame.start
    rest = b""
    while left > 0:
        text = rest + file.read(min(max(BLOCK, len(rest)), left))
        left -= (len(text) - len(rest)) or left
        start, end = 0, text.find(cut)
        while end >= 0:
            yield Raw(text[start:end])
            start = end + 1
            end = text.find(cut, start)
        rest = text[start:]
    yield Raw(rest)


class CutError(Exception):
    """A large list was cut in a wrong place, or is not JSON."""


def check_complete(raw: Raw) -> None:
    """Check the syntax of an item of a large list.

    :raises CutError: it is not one complete JSON value.
    """
    try:
        _SYNTAX.decode(raw)
    except (msgspec.DecodeError, RecursionError):
        raise CutError from None


def inner_items(raw: Raw) -> list[Raw] | None:
    """The items of an object that is a list; None for any other."""
    try:
        is_list = head_of(raw).kind.endswith("List")
        return listed(_LISTING.decode(raw)) if is_list else None
    except (ValueError, RecursionError):
        return None


def listed(listing: Listing) -> list[Raw] | None:
    """The items of a list, with the kind that a typed list gives them."""
    kind, items = listing.kind, listing.items
    if kind == "List":
        return items or []
    if kind is None or items is None or not kind.endswith("List"):
        return None
    opening = _kind_opening(listing.api_version, kind)
    return [_with_kind(part, opening) for part in items]


def _kind_opening(api_version: str | None, kind: str) -> bytes:
    """The start of an item, for the API server omits kind and apiVersion in those of a PodList."""
    head = {"apiVersion": api_version, "kind": kind.removesuffix("List")}
    return msgspec.json.encode(head).removesuffix(b"}")


def _with_kind(raw: Raw, opening: bytes) -> Raw:
    text = bytes(raw).lstrip()
    try:
        if not text.startswith(b"{") or head_of(raw).kind:
            return raw
    except MalformedError:
        return raw
    rest = text[1:].lstrip()
    return Raw(opening + rest if rest == b"}" else opening + b"," + rest)
