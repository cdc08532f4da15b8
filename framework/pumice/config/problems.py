"""Collects the problems of a policy so that they are reported together."""

from __future__ import annotations

from collections.abc import Sequence

from pumice.config.layers import Layer
from pumice.config.lines import KeyPath
from pumice.config.policy import MissingParts
from pumice.discovery import Catalog, Kind
from pumice.errors import PolicyError


class Problems:
    """Problems with their places, reported by layer and line."""

    def __init__(self, layers: Sequence[Layer]) -> None:
        self._layers = list(layers)
        self._lines: list[tuple[int, int, str]] = []
        self._missing: dict[Kind, list[str]] = {"plugin": [], "action": []}
        self._others = False
        self.warnings: list[str] = []
        """Warnings do not make the policy unusable."""

    def add(self, layer: Layer, path: KeyPath, text: str) -> None:
        self._record(layer, path, text)
        self._others = True

    def warn(self, layer: Layer, path: KeyPath, text: str) -> None:
        self.warnings.append(f"{layer.where(path)}: {text}")

    def add_missing(
        self, kind: Kind, name: str, layer: Layer, path: KeyPath, catalog: Catalog
    ) -> None:
        """Report a name that is not installed."""
        other: Kind = "action" if kind == "plugin" else "plugin"
        near = catalog.nearest(kind, name)
        if name in catalog.names(other):
            hint = f"; it is {'an' if other == 'action' else 'a'} {other}"
        elif near:
            hint = f"; did you mean {near!r} ({catalog.label(kind, near)})?"
        else:
            hint = f"; 'pumice {kind}s' lists the installed ones"
        self._record(layer, path, f"no {kind} named {name!r} is installed{hint}")
        self._missing[kind].append(name)

    def _record(self, layer: Layer, path: KeyPath, text: str) -> None:
        place = (self._layers.index(layer), layer.line(path))
        self._lines.append((*place, f"{layer.where(path)}: {text}"))

    def raise_any(self, where: str) -> None:
        if not self._lines:
            return
        lines = [text for _, _, text in sorted(self._lines, key=lambda line: line[:2])]
        lines = list(dict.fromkeys(lines))
        if self._others:
            raise PolicyError(where, lines)
        raise MissingParts(
            where, lines, plugins=self._missing["plugin"], actions=self._missing["action"]
        )
