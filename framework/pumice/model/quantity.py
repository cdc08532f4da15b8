"""Kubernetes quantities (``100m``, ``1.5``, ``4Gi``) and the units that resources count in."""

from __future__ import annotations

import math
import re
from functools import lru_cache
from typing import Any

PODS = "pods"
"""The name of the resource that counts pods."""

_QUANTITY = re.compile(
    r"([+-]?)(?:(\d+)(?:\.(\d*))?|\.(\d+))(?:[eE]([+-]?\d{1,9})|([KMGTPE]i|[numkMGTPE]))?",
    re.ASCII,
)
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}

# Kubernetes' rule for an extended resource: a DNS subdomain, a slash, a qualified name.
_EXTENDED = re.compile(
    r"(?=.{1,253}/)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
    r"/(?=.{1,63}$)([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]",
    re.ASCII,
)

_SIZES = {
    **{suffix: 10**power for suffix, power in _DECIMAL.items() if power >= 3},
    **{suffix: 2**power for suffix, power in _BINARY.items()},
}
_SHORT = 7
"""Longest exact form that people are shown."""

_LONGEST = 64
_LARGEST = 2**63 - 1
# Beyond this exponent the answer no longer depends on the digits, and the power would be huge.
_EXPONENT = 2 * _LONGEST


_IN_UNITS = ("memory", PODS, "ephemeral-storage")
# Bytes of disks in milli-units would leave 64 bits when a large cluster is summed up.


def amount(name: str, value: Any) -> int:
    """A quantity in the unit that the resource is counted in: bytes, whole pods, else milli.

    Names of quotas (``requests.memory``) have the unit of what they bound.

    :raises ValueError: malformed, outside 64 bits or negative; the message names the resource.
    """
    try:
        number = units(value) if _is_in_units(name) else milli(value)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None
    if number < 0:
        raise ValueError(f"{name}: {value} is negative")
    return number


def _is_in_units(name: str) -> bool:
    return name.removeprefix("requests.").removeprefix("limits.") in _IN_UNITS


def is_counted(name: str) -> bool:
    """Whether scheduling counts the resource: Volcano's and kube-scheduler's rule on names."""
    if name in ("cpu", "memory", PODS, "ephemeral-storage"):
        return True
    if name.startswith(("count/", "requests.")):
        return False
    if name.startswith(("hugepages-", "attachable-volumes-")) or "kubernetes.io/" in name:
        return True
    return _EXTENDED.fullmatch(name) is not None


def shown(name: str, value: float) -> str:
    """An amount of a resource for people."""
    if name in ("memory", "ephemeral-storage"):
        return show_bytes(value)
    if name == PODS:
        return show_number(value)
    if name.startswith("hugepages-"):
        return show_bytes(value / 1000)
    return show_number(value / 1000)


def quantity_of(name: str, value: float) -> str:
    """The quantity that an amount of a resource was read from."""
    number = int(value)
    if _is_in_units(name):
        return str(number)
    return f"{number}m" if number % 1000 else str(number // 1000)


def milli(value: Any) -> int:
    """The quantity in thousandths, rounded away from zero.

    :raises ValueError: not a quantity, or outside 64 bits.
    """
    return _scaled(_text(value), 3)


def units(value: Any) -> int:
    """The quantity in whole units, rounded away from zero.

    :raises ValueError: not a quantity, or outside 64 bits.
    """
    return _scaled(_text(value), 0)


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if value is None:
        raise ValueError("null is not a quantity")
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"{value!r} is not a quantity")
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{value!r} is not a quantity")
    if isinstance(value, int) and value.bit_length() > _LONGEST:
        raise ValueError("the quantity is too large")
    return repr(value)


@lru_cache(maxsize=65536)
def _scaled(text: str, places: int) -> int:
    match = _QUANTITY.fullmatch(text.strip()) if len(text) <= _LONGEST else None
    if match is None:
        shown = text if len(text) <= _LONGEST else text[:_LONGEST] + "…"
        raise ValueError(f"{shown!r} is not a quantity (examples: 500m, 2, 1.5, 4Gi)")
    sign, whole, fraction, only_fraction, exponent, suffix = match.groups(default="")
    fraction = fraction or only_fraction
    number = int(whole + fraction)
    if suffix in _BINARY:
        number <<= _BINARY[suffix]
        power = 0
    else:
        power = int(exponent) if exponent else _DECIMAL[suffix]
    power = max(-_EXPONENT, min(_EXPONENT, power)) + places - len(fraction)
    size: int = number * 10**power if power >= 0 else -(-number // 10**-power)
    if size > _LARGEST:
        raise ValueError(f"{text!r} is too large")
    return -size if sign == "-" else size


def show_number(value: float) -> str:
    """A number for people: at most three decimals, none that say nothing."""
    if math.isinf(value):
        return "unlimited" if value > 0 else "-unlimited"
    text = f"{value:.3f}"
    return text.rstrip("0").rstrip(".")


def show_bytes(value: float) -> str:
    """An amount of bytes for people: exact where that is short (``8Gi``, ``20G``), else rounded."""
    if math.isinf(value) or abs(value) < 1000:
        return show_number(value)
    number = round(value)
    exact = [
        f"{number // size}{suffix}"
        for suffix, size in _SIZES.items()
        if number % size == 0 and abs(number) >= size
    ]
    shortest = min(exact, key=len, default="")
    if exact and len(shortest) <= _SHORT:
        return shortest
    for suffix, power in reversed(_BINARY.items()):
        if abs(number) >= 2**power:
            return show_number(round(number / 2**power, 1)) + suffix
    return str(number)
