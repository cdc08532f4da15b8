"""Layers of configuration: a file, a preset, a dict, an override."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pumice._bounded import TextError, load_toml, text_of
from pumice._nearest import near_file
from pumice.config.lines import KeyPath, index_lines
from pumice.errors import PolicyError


@dataclass(frozen=True, slots=True, eq=False)
class Layer:
    """One source of configuration; a later layer overrides an earlier one."""

    name: str
    data: Mapping[str, Any]
    lines: Mapping[KeyPath, int] = field(default_factory=dict)
    override: bool = False
    """One setting from outside the policy; ``name`` is the setting as written."""
    is_preset: bool = False
    """It ships with the framework."""
    loose: bool = False
    """Keys come from environment variables: case and punctuation are ignored."""

    def line(self, path: KeyPath) -> int:
        """The line of the path or of the innermost enclosing key; 0 when there are no lines."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 0)

    def where(self, path: KeyPath) -> str:
        """The place to name in a message about the path."""
        if self.override:
            return self.name
        if self.lines:
            line = self.line(path)
            return f"{self.name}:{line}" if line else self.name
        return f"{self.name}: {spell(path)}" if path else self.name

    def origin(self, path: KeyPath) -> str:
        """The place that a setting comes from."""
        return f"environment {self.name}" if self.loose else self.where(path)


def spell(path: KeyPath) -> str:
    """A path as text: ``tiers[1].plugins[0]``."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def toml_layer(name: str, text: str) -> Layer:
    """Parse TOML; a syntax error is raised as the only problem of the policy."""
    try:
        data = load_toml(text)
    except TextError as error:
        raise PolicyError(name, [error.at(name)]) from error
    return Layer(name, data, index_lines(text))


def file_layer(path: Path) -> Layer:
    try:
        text = text_of(path.read_bytes())
    except FileNotFoundError as error:
        near = near_file(path)
        text = f"{path}: no such file{near and f'; {near}'}"
        raise PolicyError(str(path), [text]) from error
    except OSError as error:
        raise PolicyError(str(path), [f"{path}: cannot be read: {error.strerror}"]) from error
    except TextError as error:
        problem = f"{error.at(str(path))}; {error.hint}" if error.hint else error.at(str(path))
        raise PolicyError(str(path), [problem]) from error
    return toml_layer(str(path), text)
