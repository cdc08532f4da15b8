"""Text that users give: decoded, and parsed as YAML or TOML within bounds of size and nesting.

The bounds are checked before anything is built, so that no text can exhaust stack or memory.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from typing import Any

import tomli
import yaml

MAX_DEPTH = 100
"""Values inside of each other in YAML and TOML, and the parts of a key in TOML."""
MAX_ALIASED = 100_000
"""Values that the aliases of a YAML text may add to those that are written."""
MAX_DOCUMENTS = 100_000
"""Documents of one YAML text."""
MAX_YAML_BYTES = 64 << 20
MAX_TOML_BYTES = 8 << 20


class TextError(ValueError):
    """A text that cannot be read: what is wrong, and where."""

    def __init__(self, problem: str, line: int = 0, column: int = 0, hint: str = "") -> None:
        super().__init__(problem)
        self.problem = problem
        self.line = line
        """Counted from 1; 0: not known."""
        self.column = column
        self.hint = hint
        """What to do about it; may be empty."""

    def at(self, where: str) -> str:
        """The problem with the place of it."""
        place = "".join(f":{number}" for number in (self.line, self.column) if number)
        return f"{where}{place}: {self.problem}"


def utf8(data: bytes) -> bytes:
    """Text in UTF-8 without a byte order mark; UTF-16 is read if it has one.

    :raises TextError: it is in UTF-16 without a mark, or in another encoding.
    """
    try:
        if data.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
            return data.decode("utf-32").encode()
        # PowerShell redirects output as UTF-16.
        if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            return data.decode("utf-16").encode()
    except UnicodeError as error:
        raise TextError(f"not {getattr(error, 'encoding', 'UTF-16')} text: {error}") from None
    if b"\0" in data[:4]:
        raise TextError(
            "looks like UTF-16 without a byte order mark", hint="save the file as UTF-8"
        )
    return data.removeprefix(codecs.BOM_UTF8)


def text_of(data: bytes) -> str:
    """The same as a string.

    :raises TextError: it is not UTF-8.
    """
    data = utf8(data)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise TextError(
            f"not UTF-8 text: {error.reason}", line, hint="save the file as UTF-8"
        ) from None


# -- TOML

_TOML_TOKEN = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\''
    r"|#[^\n]*|[A-Za-z0-9_-]+|[^\S\n]+|.",
    re.DOTALL,
)


def load_toml(text: str) -> dict[str, Any]:
    """Parse TOML.

    :raises TextError: it is malformed, or beyond the bounds.
    """
    _check_toml(text)
    try:
        return tomli.loads(text)
    except tomli.TOMLDecodeError as error:
        problem = error.msg[:1].lower() + error.msg[1:]
        raise TextError(problem, error.lineno, error.colno) from None
    except (ValueError, RecursionError) as error:
        raise TextError(str(error).splitlines()[0]) from None


def _check_toml(text: str) -> None:
    if len(text) > MAX_TOML_BYTES:
        raise TextError(f"larger than {MAX_TOML_BYTES >> 20} MiB")
    depth = parts = 0
    for match in _TOML_TOKEN.finditer(text):
        token = match.group()
        if token in "[{":
            depth += 1
        elif token in "]}":
            depth -= 1
        elif token == ".":
            parts += 1
        elif token in "=,\n":
            parts = 0
        if depth > MAX_DEPTH or parts > MAX_DEPTH:
            line = text.count("\n", 0, match.start()) + 1
            what = "nested too deeply" if depth > MAX_DEPTH else "a key has too many parts"
            raise TextError(f"{what}: more than {MAX_DEPTH}", line)


# -- YAML

_SafeLoader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def _without_timestamps() -> Any:
    resolvers = {
        first: [(tag, pattern) for tag, pattern in known if not tag.endswith(":timestamp")]
        for first, known in _SafeLoader.yaml_implicit_resolvers.items()
    }
    return type("Loader", (_SafeLoader,), {"yaml_implicit_resolvers": resolvers})


_PlainLoader = _without_timestamps()


def yaml_documents(data: bytes, *, timestamps: bool = False) -> Iterator[tuple[int, Any]]:
    """The documents of a YAML text with their lines, empty ones as None.

    Timestamps stay text, as in JSON, unless asked for.

    :raises TextError: it is malformed, or beyond the bounds.
    """
    line = 1
    try:
        _check_yaml(data)
        loader = (_SafeLoader if timestamps else _PlainLoader)(data)
        while loader.check_node():
            node = loader.get_node()
            line = node.start_mark.line + 1
            yield line, loader.construct_document(node)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = error.problem or error.context or "malformed"
        # libyaml may name the line after the last one.
        last = data.count(b"\n") + 1
        raise TextError(problem, min(mark.line + 1, last) if mark else line) from None
    except TextError:
        raise
    except RecursionError:
        raise TextError("nested too deeply", line) from None
    except (yaml.YAMLError, ValueError) as error:
        raise TextError(str(error).splitlines()[0], line) from None
    except (TypeError, LookupError, AttributeError):
        raise TextError("a value is not of the type that its tag names", line) from None


def _check_yaml(data: bytes) -> None:
    """Check the bounds on the stream of events, of which nothing is kept."""
    if len(data) > MAX_YAML_BYTES:
        raise TextError(
            f"larger than {MAX_YAML_BYTES >> 20} MiB", hint="JSON may be larger, and is faster"
        )
    size, aliased, documents = 0, 0, 0
    open_nodes: list[tuple[str | None, int]] = []
    sizes: dict[str, int] = {}
    event: Any
    for event in yaml.parse(data, _SafeLoader):
        kind = type(event)
        if kind is yaml.ScalarEvent:
            size += 1
            if event.anchor:
                sizes[event.anchor] = 1
        elif kind is yaml.MappingStartEvent or kind is yaml.SequenceStartEvent:
            open_nodes.append((event.anchor, size))
            size += 1
            if event.anchor:
                sizes.pop(event.anchor, None)
            if len(open_nodes) > MAX_DEPTH:
                raise TextError(
                    f"nested too deeply: more than {MAX_DEPTH}", event.start_mark.line + 1
                )
        elif kind is yaml.MappingEndEvent or kind is yaml.SequenceEndEvent:
            anchor, before = open_nodes.pop()
            if anchor:
                sizes[anchor] = size - before
        elif kind is yaml.AliasEvent:
            inside = sizes.get(event.anchor)
            line = event.start_mark.line + 1
            if inside is None and any(anchor == event.anchor for anchor, _ in open_nodes):
                raise TextError(f"alias *{event.anchor} is inside of what it stands for", line)
            size += inside or 1
            aliased += inside or 1
            if aliased > MAX_ALIASED:
                raise TextError(f"aliases stand for more than {MAX_ALIASED:,} values", line)
        elif kind is yaml.DocumentStartEvent:
            sizes = {}
            documents += 1
            if documents > MAX_DOCUMENTS:
                raise TextError(f"more than {MAX_DOCUMENTS:,} documents", event.start_mark.line + 1)
