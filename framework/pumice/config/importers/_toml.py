"""A policy as the text of a TOML file, with notes as comments above it."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import tomli_w

_WIDTH = 100
_BARE = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)


def write_toml(policy: Mapping[str, Any], title: str, notes: Iterable[object] = ()) -> str:
    """The policy's text; it reads back as the same policy."""
    blocks = [_comment(title, list(notes))]
    blocks += [_pair(key, policy[key]) for key in ("preset", "actions") if key in policy]
    blocks += [
        f"[[tiers]]\n{_pair('plugins', tier['plugins'])}" for tier in policy.get("tiers", ())
    ]
    for kind in ("plugin", "action"):
        blocks += [
            _table(f"{kind}.{_key(name)}", options)
            for name, options in policy.get(kind, {}).items()
        ]
    blocks += [
        _table(section, policy[section])
        for section in ("scheduler", "evictions")
        if policy.get(section)
    ]
    return "\n\n".join(blocks) + "\n"


def _comment(title: str, notes: Sequence[object]) -> str:
    lines = [title]
    if notes:
        lines += ["", "Not imported as it is:"]
    for note in notes:
        lines += _wrapped(str(note))
    return "\n".join(f"# {line}".rstrip() for line in lines)


def _wrapped(text: str) -> Iterator[str]:
    for number, line in enumerate(text.splitlines()):
        first = "- " if number == 0 else "    "
        yield from textwrap.wrap(
            line,
            _WIDTH - 2,
            initial_indent=first,
            subsequent_indent="  ",
            break_long_words=False,
            break_on_hyphens=False,
        )


def _table(name: str, options: Mapping[str, Any]) -> str:
    return "\n".join([f"[{name}]", *(_pair(key, value) for key, value in options.items())])


def _pair(key: str, value: Any) -> str:
    line = f"{_key(key)} = {_inline(value)}"
    if len(line) <= _WIDTH or not isinstance(value, list):
        return line
    items = "".join(f"    {_inline(item)},\n" for item in value)
    return f"{_key(key)} = [\n{items}]"


def _inline(value: Any) -> str:
    """A value on one line; tomli_w would use several."""
    if isinstance(value, Mapping):
        pairs = ", ".join(f"{_key(key)} = {_inline(item)}" for key, item in value.items())
        return f"{{ {pairs} }}" if pairs else "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_inline, value))}]"
    return tomli_w.dumps({"v": value}).removeprefix("v = ").removesuffix("\n")


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _inline(key)
