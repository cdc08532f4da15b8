"""Policies: reading them from TOML, checking, overriding and reloading them."""

from __future__ import annotations

from pumice.config.dialects import translate
from pumice.config.duration import Duration
from pumice.config.load import load_policy, policy_from_dict
from pumice.config.policy import ActionEntry, MissingParts, PluginEntry, Policy
from pumice.config.presets import DEFAULT_PRESET, preset_names
from pumice.config.reload import PolicyHolder
from pumice.config.settings import EvictionSettings, SchedulerSettings

__all__ = [
    "DEFAULT_PRESET",
    "ActionEntry",
    "Duration",
    "EvictionSettings",
    "MissingParts",
    "PluginEntry",
    "Policy",
    "PolicyHolder",
    "SchedulerSettings",
    "load_policy",
    "policy_from_dict",
    "preset_names",
    "translate",
]
