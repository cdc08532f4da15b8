"""Scenario files: which they are, and the scenarios in them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Raw, Struct

from pumice._bounded import TextError, load_toml, utf8, yaml_documents
from pumice._nearest import near_file
from pumice.errors import ScenarioError

SUFFIXES = (".json", ".yaml", ".yml", ".toml")
_OTHER = "not a scenario file"
_WANTED = "a scenario has 'expect', a file of several has them in a list 'scenarios'"
_MARKS = ("expect", "scenarios", "objects", "cluster")
_WORDS = re.compile(rb"|".join(mark.encode() for mark in _MARKS))


class _Top(Struct):
    """As much of a file as shows whether it has scenarios."""

    expect: Raw = Raw()
    scenarios: Raw = Raw()
    objects: Raw = Raw()
    cluster: Raw = Raw()


class _Several(Struct, forbid_unknown_fields=True):
    scenarios: list[Raw]


def find_files(paths: Iterable[str | Path]) -> Iterator[Path]:
    """The scenario files that the paths name or hold, in the order of their names.

    In a directory, files that are something else (manifests, policies) are passed over.

    :raises ScenarioError: a path is not there, or a file that is named is no scenario file.
    """
    for path in map(Path, paths):
        if path.is_dir():
            yield from (file for file in _candidates(path) if _is_scenario(file))
        elif path.is_file():
            if path.suffix not in SUFFIXES or not _is_scenario(path):
                raise ScenarioError(f"{path}: {_OTHER}", hint=_WANTED)
            yield path
        else:
            raise ScenarioError(
                f"{path}: there is no such file or directory",
                hint=near_file(path) or "name scenario files, or directories that hold some",
            )


def is_scenario_file(path: str | Path) -> bool:
    """Whether a file has scenarios with an expectation, so that it is no manifest."""
    file = Path(path)
    if file.suffix not in SUFFIXES or not file.is_file():
        return False
    # A dump may be large: it is parsed here only if it has the word.
    return b"expect" in _content(file) and _is_scenario(file)


def read_file(path: Path) -> list[Raw]:
    """The scenarios of a file, each as JSON text.

    :raises ScenarioError: the file cannot be read, or holds something else.
    """
    text = _as_json(path, _content(path))
    try:
        top = msgspec.json.decode(text, type=_Top)
    except msgspec.ValidationError:
        top = _Top()
    if not any(bytes(getattr(top, mark)) for mark in _MARKS):
        raise ScenarioError(f"{path}: {_OTHER}", hint=_WANTED)
    if not bytes(top.scenarios):
        return [Raw(text)]
    try:
        return msgspec.json.decode(text, type=_Several).scenarios
    except msgspec.ValidationError as error:
        raise ScenarioError(
            f"{path}: {str(error)[:1].lower()}{str(error)[1:]}",
            hint="beside a list 'scenarios' a file has nothing else",
        ) from None


def _candidates(folder: Path) -> list[Path]:
    return sorted(
        file
        for file in folder.rglob("*")
        if file.suffix in SUFFIXES
        and file.is_file()
        and not any(part.startswith(".") for part in file.relative_to(folder).parts)
    )


def _is_scenario(file: Path) -> bool:
    """Whether the file is meant as one: a file with a mistake in it must be reported."""
    text = _content(file)
    if not _WORDS.search(text):
        return False
    try:
        top = msgspec.json.decode(_as_json(file, text), type=_Top)
    except ScenarioError:
        return b"expect" in text or b"scenarios" in text
    except msgspec.ValidationError:
        return False
    return any(bytes(getattr(top, mark)) for mark in _MARKS)


def _content(path: Path) -> bytes:
    try:
        return utf8(path.read_bytes())
    except OSError as error:
        raise ScenarioError(f"{path}: {error.strerror or error}") from None
    except TextError as error:
        raise ScenarioError(error.at(str(path)), hint=error.hint) from None


def _as_json(path: Path, text: bytes) -> bytes:
    """The content as JSON, whatever it is written in."""
    try:
        if path.suffix == ".json":
            msgspec.json.decode(text, type=Raw)
            return text
        return msgspec.json.encode(_plain(path, text))
    except UnicodeDecodeError as error:
        raise ScenarioError(f"{path}: not UTF-8: {error.reason}") from None
    except msgspec.DecodeError as error:
        raise ScenarioError(f"{path}{_json_place(text, str(error))}") from None
    except TextError as error:
        raise ScenarioError(error.at(str(path)), hint=error.hint) from None
    except RecursionError:
        raise ScenarioError(f"{path}: nested too deeply") from None
    except (ValueError, TypeError) as error:
        raise ScenarioError(f"{path}: {str(error).splitlines()[0]}") from None


def _plain(path: Path, text: bytes) -> Any:
    if path.suffix == ".toml":
        return load_toml(text.decode())
    documents = [document for _, document in yaml_documents(text, timestamps=True)]
    # Several documents are a stream of manifests.
    return documents[0] if len(documents) == 1 else documents


def _json_place(text: bytes, message: str) -> str:
    match = re.search(r"\s*\(byte (\d+)\)", message)
    if match is None:
        return f": {message}"
    line = text.count(b"\n", 0, int(match[1])) + 1
    return f":{line}: {message[: match.start()]}"
