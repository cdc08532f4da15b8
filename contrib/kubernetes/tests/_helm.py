"""Renders the chart: the few functions of Helm's templates that it uses, and no others."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

_ACTION = re.compile(r"\{\{\s*(.*?)\s*\}\}")
_WORD = re.compile(r'"[^"]*"|\S+')


class Chart:
    """A chart in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.values: dict[str, Any] = yaml.safe_load((folder / "values.yaml").read_text())

    def render(self, namespace: str, **values: Any) -> list[dict[str, Any]]:
        """The objects of a release."""
        context = {"Release": {"Namespace": namespace}, "Values": {**self.values, **values}}
        objects: list[dict[str, Any]] = []
        for file in sorted((self._folder / "templates").glob("*.yaml")):
            text = _ACTION.sub(lambda m: str(self._pipeline(m[1], context)), file.read_text())
            objects += filter(None, yaml.safe_load_all(text))
        return objects

    def _pipeline(self, text: str, context: dict[str, Any]) -> Any:
        value: list[Any] = []
        for stage in text.split("|"):
            name, *words = _WORD.findall(stage)
            arguments = [self._value(word, context) for word in words]
            value = [self._call(name, [*arguments, *value], context)]
        return value[0]

    def _value(self, word: str, context: dict[str, Any]) -> Any:
        if word.startswith('"'):
            return word.strip('"')
        if word.isdigit():
            return int(word)
        value: Any = context
        for part in word.removeprefix(".").split("."):
            value = value[part]
        return value

    def _call(self, name: str, arguments: list[Any], context: dict[str, Any]) -> Any:
        match name, arguments:
            case ".Files.Get", [file]:
                return (self._folder / file).read_text()
            case "replace", [old, new, text]:
                return text.replace(old, new)
            case "quote", [text]:
                return f'"{text}"'
            case "toYaml", [value]:
                return yaml.safe_dump(value).rstrip()
            case "indent" | "nindent", [int(width), text]:
                lines = "\n".join(" " * width + line if line else line for line in text.split("\n"))
                return lines if name == "indent" else "\n" + lines
            case _, []:
                return self._value(name, context)
        raise ValueError(f"{name} with {len(arguments)} arguments is not rendered here")
