"""KAI's scheduler parameters: flags there, options of actions and plugins here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pumice.config.importers.kai.translate import ACTIONS

Place = tuple[str, str, str]
"""``action`` or ``plugin``, its name in the dialect, the option."""

_PLACES: dict[str, tuple[Any, tuple[Place, ...]]] = {
    "useSchedulingSignatures": (
        False,
        tuple(
            ("action", name, "useSchedulingSignatures")
            for name in ("consolidation", "reclaim", "preempt")
        ),
    ),
    "maxNumberConsolidationPreemptees": (
        0,
        (("action", "consolidation", "maxNumberConsolidationPreemptees"),),
    ),
    "allowConsolidatingReclaim": (False, (("action", "reclaim", "allowConsolidatingReclaim"),)),
    "globalDefaultStalenessGracePeriod": (
        "0s",
        (("action", "stalegangeviction", "defaultStalenessGracePeriod"),),
    ),
    "restrictSchedulingNodes": (False, (("plugin", "predicates", "restrictNodeScheduling"),)),
    "queueLabelKey": ("kai.scheduler/queue", (("plugin", "dynamicresources", "queueLabelKey"),)),
}


def with_params(config: Mapping[str, Any], params: Mapping[str, Any]) -> dict[str, Any]:
    """A policy in KAI's names with the options that the parameters stand for.

    A parameter that is not among those given is off or zero, as upstream's own tests have it.
    Options that the policy gives itself stay.
    """
    result = dict(config)
    listed = {"action": _listed_actions(config), "plugin": _listed_plugins(config)}
    for name, (absent, places) in _PLACES.items():
        value = params.get(name, absent)
        for part, of, option in places:
            if of in listed[part]:
                tables = dict(result.get(part) or {})
                tables[of] = {option: value, **(tables.get(of) or {})}
                result[part] = tables
    return result


def _listed_actions(config: Mapping[str, Any]) -> set[str]:
    listed = config.get("actions") or list(ACTIONS)
    if isinstance(listed, str):
        listed = [name.strip() for name in listed.split(",")]
    return {name for name in listed if isinstance(name, str)}


def _listed_plugins(config: Mapping[str, Any]) -> set[str]:
    names = (
        entry.get("name") if isinstance(entry, Mapping) else entry
        for tier in config.get("tiers") or ()
        if isinstance(tier, Mapping)
        for entry in tier.get("plugins") or ()
    )
    return {name for name in names if isinstance(name, str)}
