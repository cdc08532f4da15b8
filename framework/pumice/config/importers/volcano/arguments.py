"""Arguments of Volcano's plugins and actions: which of them it accepts."""

from __future__ import annotations

import types
from collections.abc import Iterator, Mapping
from datetime import date
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, BeforeValidator
from pydantic.fields import FieldInfo

from pumice._nearest import did_you_mean
from pumice.config.duration import parse_duration
from pumice.config.importers._notes import Note
from pumice.config.lines import KeyPath
from pumice.config.options import names

HIERARCHY = "hierarchy"
"""The option for what Volcano switches by a flag of the plugin's entry."""
SHARES_AT_OPEN = "upstreamShares"
"""The option for what Volcano always does in a queue tree under ``capacity``."""
_NOT_ARGUMENTS = (HIERARCHY, SHARES_AT_OPEN)
_TRUE = ("1", "t", "T", "TRUE", "true", "True")
_FALSE = ("0", "f", "F", "FALSE", "false", "False")
_WANTED = {
    int: "a whole number, without quotes",
    float: "a number, without quotes",
    bool: "true or false",
    str: "a string, in quotes",
    parse_duration: "a duration like '1m30s'",
}


class _IgnoredError(Exception):
    """Volcano warns about the value and uses its default."""


def take_arguments(
    arguments: Mapping[Any, Any], options: type[BaseModel], path: KeyPath, notes: list[Note]
) -> dict[str, Any]:
    """The accepted arguments as options; the others are noted."""
    taken: dict[str, Any] = {}
    for key, value, field, inner in _fields(arguments, options):
        place = (*path, key)
        if field is None:
            known = [name for name in names(options) if name not in _NOT_ARGUMENTS]
            notes.append(Note(place, f"Volcano does not know it{did_you_mean(key, known)}"))
            continue
        try:
            taken[key] = _plain(
                _checked(value, field.annotation if inner is None else inner, field)
            )
        except _IgnoredError as error:
            notes.append(Note(place, f"{value!r} {error}, so Volcano uses its default"))
    return taken


def _fields(
    arguments: Mapping[Any, Any], options: type[BaseModel]
) -> Iterator[tuple[str, Any, FieldInfo | None, Any]]:
    """Each argument with its option; for a collected option also the type of a value."""
    fields = {field.alias or name: field for name, field in options.model_fields.items()}
    for name in _NOT_ARGUMENTS:
        fields.pop(name, None)
    collected: Mapping[str, str] = getattr(options, "collected", {})
    for key, value in ((str(key), value) for key, value in arguments.items()):
        prefix = next((p for p in collected if key.startswith(p) and key not in fields), None)
        if prefix is None:
            yield key, value, fields.get(key), None
        else:
            field = options.model_fields[collected[prefix]]
            yield key, value, field, get_args(field.annotation)[1]


def _checked(value: Any, annotation: Any, field: FieldInfo) -> Any:
    kind = _kind(annotation, field.metadata)
    if kind is bool and isinstance(value, str) and value in _TRUE + _FALSE:
        return value in _TRUE
    if kind is parse_duration:
        try:
            fits = isinstance(value, str) and parse_duration(value) is not None
        except ValueError:
            fits = False
    elif kind is float:
        fits = isinstance(value, int | float) and not isinstance(value, bool)
    elif kind is int:
        fits = isinstance(value, int) and not isinstance(value, bool)
    else:
        fits = kind is None or isinstance(value, kind)
    if value is None or not fits:
        raise _IgnoredError(f"should be {_WANTED.get(kind, 'something')}")
    return value


def _kind(annotation: Any, metadata: list[Any]) -> Any:
    """One of the types whose rules are known, ``parse_duration`` for a duration, or None: any."""
    if any(isinstance(m, BeforeValidator) and m.func is parse_duration for m in metadata):
        return parse_duration
    origin, args = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _kind(args[0], list(args[1:]))
    if origin is Literal:
        return type(args[0])
    if origin in (Union, types.UnionType):
        kinds = [_kind(arg, []) for arg in args if arg is not type(None)]
        return kinds[0] if len(kinds) == 1 else None
    return annotation if annotation in (int, float, bool, str) else None


def _plain(value: Any) -> Any:
    """The value as TOML can express it: null is left out, a date becomes a string."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_plain(item) for item in value if item is not None]
    return value.isoformat() if isinstance(value, date) else value
