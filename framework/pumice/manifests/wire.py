"""What all kinds have in common in JSON, and error messages for values of a wrong type."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Annotated, Any, NamedTuple, TypeVar

import msgspec
from msgspec import Meta, Raw, Struct

T = TypeVar("T")

Int32 = Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)]
Count = Annotated[int, Meta(ge=0, le=2**31 - 1)]
Object = dict[str, Any]

_ANYTHING: msgspec.json.Decoder[Any] = msgspec.json.Decoder()
ANY_OBJECT: msgspec.json.Decoder[Object] = msgspec.json.Decoder(Object)


class MalformedError(ValueError):
    """An object that cannot be used; the message explains it to the user."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint
        """What to write instead."""


class HeadWire(Struct, rename="camel", gc=False):
    api_version: str | None = None
    kind: str | None = None


class Head(NamedTuple):
    """API group, version and kind of an object; empty: not stated."""

    group: str
    api_version: str
    kind: str


HEAD = msgspec.json.Decoder(HeadWire)
# The API server writes these two first, so that the rest need not be decoded.
_OPENING = re.compile(rb'\s*\{\s*"apiVersion":\s*"([^"\\]+)",\s*"kind":\s*"([^"\\]+)"')


def head_of(raw: Raw) -> Head:
    """Version and kind of an object.

    :raises MalformedError: it is not an object.
    """
    match = _OPENING.match(raw)
    if match is not None:
        return _head(match[1], match[2])
    wire = decode(HEAD, "", raw)
    return _head((wire.api_version or "").encode(), (wire.kind or "").encode())


@lru_cache(maxsize=256)
def _head(api_version: bytes, kind: bytes) -> Head:
    version = api_version.decode("utf-8", "replace")
    group, slash, _ = version.partition("/")
    return Head(group if slash else "", version, kind.decode("utf-8", "replace"))


def decode(decoder: msgspec.json.Decoder[T], at: str, text: Raw | bytes) -> T:
    """Decode one object, or the part of it ``at`` a path.

    :raises MalformedError: some value has the wrong type.
    """
    try:
        return decoder.decode(text)
    except msgspec.ValidationError as error:
        raise explained(error, at) from None
    except msgspec.DecodeError as error:
        raise MalformedError(f"is not valid JSON: {error}") from None
    except UnicodeDecodeError:
        raise MalformedError("holds text that is not UTF-8") from None
    except RecursionError:
        raise MalformedError("is nested too deeply") from None


def decode_checked(check: msgspec.json.Decoder[Any], at: str, text: bytes) -> Any:
    """Decode a part to plain values after its shape has been checked."""
    decode(check, at, text)
    return decode(_ANYTHING, at, text)


_ERROR = re.compile(r"(?P<text>.*?)(?: - at `(?:key in )?\$?(?P<path>.*)`)?", re.DOTALL)
_TYPES = {
    "array": "a list",
    "object": "an object",
    "str": "a string",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "null": "nothing",
    "datetime": "a time",
}
_UNQUOTED = re.compile("expected a string, got (a whole number|a number|true or false)")
_TYPE_NAMES = re.compile(r"`([a-z]+(?: \| [a-z]+)*)`")


def explained(error: msgspec.ValidationError, at: str) -> MalformedError:
    """The error in terms of manifests: YAML types and the path of the field."""
    match = _ERROR.fullmatch(str(error))
    text, path = (match["text"], match["path"] or "") if match else (str(error), "")
    text = _TYPE_NAMES.sub(_type_names, text)
    where = (at + path).lstrip(".")
    text = text[:1].lower() + text[1:]
    hint = "quote the value" if _UNQUOTED.fullmatch(text) else ""
    return MalformedError(f"{where}: {text}" if where else text, hint)


def _type_names(match: re.Match[str]) -> str:
    names = match[1].split(" | ")
    if len(names) > 1:
        names = [name for name in names if name != "null"]
    return " or ".join(_TYPES.get(name, f"`{name}`") for name in names)


_DURATION = re.compile(r"([+-]?)((?:(?:\d+\.?\d*|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+|0)", re.ASCII)
_STEP = re.compile(r"([\d.]+)(ns|us|µs|μs|ms|s|m|h)")
_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1, "m": 60, "h": 3600}


def duration(text: str, at: str) -> float:
    """A Go duration (``1h30m``) in seconds."""
    match = _DURATION.fullmatch(text)
    if match is None:
        raise MalformedError(f"{at}: {text!r} is not a duration", "examples: 30s, 5m, 1h30m")
    seconds = sum(float(number) * _SECONDS[unit] for number, unit in _STEP.findall(match[2]))
    return -seconds if match[1] == "-" else seconds
