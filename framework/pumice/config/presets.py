"""The policies that ship with the framework."""

from __future__ import annotations

from dataclasses import replace
from importlib.resources import files

from pumice._nearest import did_you_mean
from pumice.config.layers import Layer, toml_layer
from pumice.errors import PumiceError

DEFAULT_PRESET = "pumice"
_FOLDER = files("pumice").joinpath("presets")


def preset_names() -> list[str]:
    return sorted(
        item.name.removesuffix(".toml") for item in _FOLDER.iterdir() if item.name.endswith(".toml")
    )


def preset_layer(name: str) -> Layer:
    names = preset_names()
    if name not in names:
        raise PumiceError(
            f"there is no preset {name!r}{did_you_mean(name, names)}",
            hint=f"presets: {', '.join(names)}",
        )
    text = _FOLDER.joinpath(f"{name}.toml").read_text(encoding="utf-8")
    return replace(toml_layer(f"preset {name}", text), is_preset=True)
