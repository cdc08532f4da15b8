"""Settings from outside the policy file: ``--set`` and environment variables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from pumice._bounded import TextError, load_toml
from pumice.config.layers import Layer
from pumice.config.settings import scheduler_environment
from pumice.errors import PolicyError

_SECTIONS = ("plugin", "action")
_SETTINGS = ("scheduler", "evictions")
_NO_SETTINGS = frozenset(
    {
        "PUMICE_RELEASE",
        "PUMICE_REQUIRE_BROWSER",
        "PUMICE_SERVE_TOKEN",
        "PUMICE_SHARED",
        "PUMICE_TEST_SEED",
        "PUMICE_UPDATE_OPERATIONS",
    }
)
"""Variables of the build, the tests and ``pumice serve``."""


def set_layers(settings: Iterable[str]) -> list[Layer]:
    """Settings like ``plugin.nodeorder.leastrequested.weight=5``, in order."""
    layers, problems = [], []
    for setting in settings:
        key, equals, text = setting.partition("=")
        parts = key.strip().split(".", 2)
        wanted = 3 if parts[0] in _SECTIONS else 2 if parts[0] in _SETTINGS else 1
        if not equals or len(parts) < wanted or not all(parts):
            problems.append(f"--set {setting}: write KEY=VALUE, as in plugin.NAME.OPTION=VALUE")
            continue
        if wanted < 3:
            parts = key.strip().split(".", 1)
        layers.append(Layer(f"--set {setting}", _nest(parts, _value(text)), override=True))
    if problems:
        raise PolicyError("--set", problems)
    return layers


def env_layers(env: Mapping[str, str]) -> list[Layer]:
    """Variables like ``PUMICE_PLUGIN__BINPACK__BINPACK__WEIGHT=5``, by name.

    Variables without a double underscore are not settings of a policy.
    """
    scheduler = scheduler_environment(env)
    layers = []
    for name, value in sorted(env.items()):
        section, separator, rest = name.lower().removeprefix("pumice_").partition("__")
        if not name.upper().startswith("PUMICE_") or not separator:
            continue
        data: dict[str, Any]
        if section == "scheduler":
            data = {section: {rest: scheduler.get(rest, value)}}
        elif section == "evictions":
            data = {section: {rest: value}}
        else:
            data = _nest([section, *rest.split("__", 1)], value)
        layers.append(Layer(name, data, override=True, loose=True))
    return layers


def unknown_variables(env: Mapping[str, str]) -> list[str]:
    """Warnings about variables that look like settings and are none."""
    names = sorted(
        name
        for name in env
        if name.startswith("PUMICE_") and "__" not in name and name not in _NO_SETTINGS
    )
    return [
        f"environment {name}: not a setting; those of a policy are PUMICE_SCHEDULER__NAME, "
        "PUMICE_EVICTIONS__NAME, PUMICE_PLUGIN__NAME__OPTION and PUMICE_ACTION__NAME__OPTION"
        for name in names
    ]


def loosely(word: str, known: Iterable[str]) -> str:
    """The known name that matches an environment variable's word, else the word itself."""
    return next((name for name in known if _plain(name) == _plain(word)), word)


def _plain(word: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", word.lower())


def _nest(parts: list[str], value: Any) -> dict[str, Any]:
    for part in reversed(parts):
        value = {part: value}
    nested: dict[str, Any] = value
    return nested


def _value(text: str) -> Any:
    """The text as a TOML value if it is one, else as a string."""
    try:
        parsed = load_toml(f"value = {text}")
    except TextError:
        return text
    return parsed["value"] if len(parsed) == 1 else text
