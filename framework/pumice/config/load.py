"""Loads a policy from a file, a preset or plain data."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pumice.config.build import Builder
from pumice.config.dialects import translate
from pumice.config.layers import Layer, file_layer
from pumice.config.overrides import env_layers, set_layers, unknown_variables
from pumice.config.policy import Policy
from pumice.config.presets import DEFAULT_PRESET, preset_layer
from pumice.discovery import Catalog
from pumice.errors import PolicyError, PumiceError


def load_policy(
    path: str | os.PathLike[str] | None = None,
    *,
    preset: str | None = None,
    overrides: Sequence[str] = (),
    env: Mapping[str, str] | None = None,
    catalog: Catalog | None = None,
) -> Policy:
    """Read a policy file, or a preset when there is none.

    ``overrides`` are settings like ``plugin.binpack.binpack.weight=5``. They take precedence over
    the environment (``env``, by default the process's), which takes precedence over the file.
    """
    if path is not None and preset is not None:
        raise PumiceError(
            f"the policy is given twice: {path} and the preset {preset!r}",
            hint=f"to start from the preset, write at the top of the file: preset = {preset!r}",
        )
    env = os.environ if env is None else env
    overriding = [*env_layers(env), *set_layers(overrides)]
    layer = preset_layer(preset or DEFAULT_PRESET) if path is None else file_layer(Path(path))
    policy = _build(layer, overriding, catalog)
    unknown = unknown_variables(env)
    return replace(policy, warnings=(*policy.warnings, *unknown)) if unknown else policy


def policy_from_dict(
    data: Mapping[str, Any],
    *,
    where: str = "policy",
    dialect: str = "pumice",
    catalog: Catalog | None = None,
) -> Policy:
    """A policy from plain data in the structure of the TOML file, without overrides.

    :raises MissingParts: the only problem is that parts are not installed.
    """
    if not isinstance(data, Mapping):
        raise PolicyError(where, [f"{where}: a policy should be a table, not {data!r}"])
    translated = translate(data, dialect, where=where, catalog=catalog)
    return _build(Layer(where, translated), [], catalog)


def _build(layer: Layer, overriding: list[Layer], catalog: Catalog | None) -> Policy:
    layers, problem = [layer], ""
    preset = layer.data.get("preset")
    if preset is not None:
        try:
            layers = [preset_layer(preset), layer]
        except PumiceError as error:
            problem = f"{error}; {error.hint}"
    builder = Builder([*layers, *overriding], catalog or Catalog(), layer.name)
    if problem:
        builder.problems.add(layer, ("preset",), problem)
    return builder.build(complete=not problem)
