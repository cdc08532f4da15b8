"""Options of plugins and actions: dotted names, validation, descriptions."""

from __future__ import annotations

import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

from pumice._nearest import did_you_mean
from pumice.config.lines import KeyPath

M = TypeVar("M", bound=BaseModel)
REQUIRED = "required"
MAX_NUMBER = 2**53
"""Larger numbers would overflow where they are multiplied in 64 bits."""


@dataclass(frozen=True, slots=True)
class Option:
    """One option as its documentation shows it."""

    name: str
    type: str
    default: Any
    required: bool
    help: str


def describe(model: type[BaseModel]) -> list[Option]:
    """Every option of a model, by the names that a policy uses."""
    prefixes = {field: prefix for prefix, field in _collected(model).items()}
    return [
        Option(
            name=f"{prefixes[name]}NAME" if name in prefixes else field.alias or name,
            type=_spell_type(field.annotation),
            default=None if field.is_required() else field.get_default(call_default_factory=True),
            required=field.is_required(),
            help=field.description or "",
        )
        for name, field in model.model_fields.items()
    ]


def values_of(options: BaseModel) -> dict[str, tuple[Any, bool]]:
    """The value of every option in effect, and whether it differs from the default."""
    described = describe(type(options))
    fields = type(options).model_fields
    return {
        option.name: (value, option.required or value != option.default)
        for option, name in zip(described, fields, strict=True)
        for value in [getattr(options, name)]
    }


def names(model: type[BaseModel]) -> list[str]:
    return [field.alias or name for name, field in model.model_fields.items()]


def flatten(table: Mapping[str, Any], model: type[BaseModel]) -> Iterator[tuple[str, Any, KeyPath]]:
    """Flatten nested tables to dotted keys, as Volcano writes options.

    A table that is the value of an option stays whole.
    """
    whole = {
        name
        for name in (*names(model), *model.model_fields)
        if not any(prefix.startswith(f"{name}.") for prefix in _collected(model))
    }

    def values(key: str, value: Any, path: KeyPath) -> Iterator[tuple[str, Any, KeyPath]]:
        if isinstance(value, Mapping) and value and key not in whole:
            for part, inner in value.items():
                yield from values(f"{key}.{part}", inner, (*path, part))
        else:
            yield key, value, path

    for part, value in table.items():
        yield from values(str(part), value, (part,))


def validate(
    model: type[M], values: Mapping[str, Any], what: str, noun: str = "option"
) -> tuple[M | None, list[tuple[str | None, str]]]:
    """The validated model, or the problems, each with the key of its value."""
    try:
        validated = model.model_validate(dict(values))
        large: list[tuple[str | None, str]] = [
            (
                _key_of(model, (field.alias or name,), values),
                f"{what}: {noun} {field.alias or name!r} should be at most 2**53",
            )
            for name, field in model.model_fields.items()
            if _is_large(getattr(validated, name))
        ]
        return (None, large) if large else (validated, [])
    except ValidationError as error:
        return None, [
            (key, _problem(model, dict(details), key, what, noun))
            for details in error.errors(include_url=False)
            for key in [_key_of(model, details["loc"], values)]
        ]
    except (Exception, SystemExit) as error:  # a validator raised no ValueError
        return None, [(None, f"{what}: its Options failed: {type(error).__name__}: {error}")]


def _is_large(value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(map(_is_large, value.values()))
    return isinstance(value, int) and abs(value) > MAX_NUMBER


def _problem(
    model: type[BaseModel], details: dict[str, Any], key: str | None, what: str, noun: str
) -> str:
    if details["type"] == "extra_forbidden" and len(details["loc"]) > 1:
        return f"{what}: {noun} {key!r} has no entry {_spell_location(details['loc'][1:])!r}"
    if details["type"] == "extra_forbidden":
        known = names(model)
        hint = did_you_mean(key, known) or (
            f"; known: {', '.join(known)}" if known else "; it has none"
        )
        return f"{what} has no {noun} {key!r}{hint}"
    if details["type"] == "missing":
        return f"{what} needs the {noun} {_spell_location(details['loc'])!r}"
    message = str(details["msg"]).removeprefix("Value error, ").removeprefix("Input ")
    message = message[:1].lower() + message[1:]
    if key is None:
        return f"{what}: {message}"
    inner = _spell_location(details["loc"][1:])
    place = f"{noun} {key!r}" + (f" at {inner!r}" if inner and not key.endswith(inner) else "")
    return f"{what}: {place} {message}, not {details['input']!r}"


def _key_of(
    model: type[BaseModel], location: tuple[int | str, ...], values: Mapping[str, Any]
) -> str | None:
    """The policy's key for a pydantic error location."""
    if not location:
        return None
    first = str(location[0])
    if first in values:
        return first
    for prefix, name in _collected(model).items():
        if first in (name, model.model_fields[name].alias) and len(location) > 1:
            return f"{prefix}{location[1]}"
    return next(
        (n for n, f in model.model_fields.items() if f.alias == first and n in values), None
    )


def _collected(model: type[BaseModel]) -> Mapping[str, str]:
    return getattr(model, "collected", {})


def _spell_location(location: tuple[int | str, ...]) -> str:
    return ".".join(str(part) for part in location)


def _spell_type(annotation: Any) -> str:
    origin, args = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _spell_type(args[0])
    if origin is Literal:
        return " | ".join(repr(value) for value in args)
    if origin in (Union, types.UnionType):
        return " | ".join(_spell_type(arg) for arg in args)
    if annotation is type(None):
        return "None"
    if isinstance(annotation, type) and not args:
        return annotation.__name__
    if isinstance(origin, type) and args:
        inner = ("..." if arg is Ellipsis else _spell_type(arg) for arg in args)
        return f"{origin.__name__}[{', '.join(inner)}]"
    return str(annotation).replace("typing.", "").replace("collections.abc.", "")
