"""Durations as text: ``500ms``, ``1s``, ``1m30s``."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import BeforeValidator

_UNITS = {
    "ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3,
    "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0,
}  # fmt: skip
_PART = re.compile(rf"(\d+(?:\.\d*)?|\.\d+)({'|'.join(_UNITS)})")


def parse_duration(value: Any) -> Any:
    """Seconds from text with units; other values are left to the field's own validation."""
    if not isinstance(value, str):
        return value
    text = value.strip()
    body = text.removeprefix("-")
    parts = _PART.findall(body)
    if not parts or "".join(number + unit for number, unit in parts) != body:
        try:
            return float(text)
        except ValueError:
            raise ValueError("should be a duration like '500ms', '1s' or '1m30s'") from None
    total = sum(float(number) * _UNITS[unit] for number, unit in parts)
    return -total if text.startswith("-") else total


Duration = Annotated[float, BeforeValidator(parse_duration)]
"""Seconds, for options that are written as a duration; a plain number is seconds."""
