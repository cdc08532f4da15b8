"""Warnings about policies that are valid but unlikely to be meant so."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from pumice import deprecated
from pumice.config.options import describe, values_of
from pumice.config.policy import ActionEntry, PluginEntry, Policy
from pumice.config.sections import Reference

VICTIM_VOTES = ("preemptable", "reclaimable", "unified_evictable")
"""The points on which the first tier that names victims decides."""


def lint(
    policy: Policy, actions: Sequence[Reference], tiers: Sequence[Sequence[Reference]]
) -> Iterator[str]:
    """Warnings about a policy, each with the place of its entry."""
    for entry, reference in zip(policy.actions, actions, strict=True):
        for text in _about_action(entry, policy):
            yield f"{reference.layer.where(reference.path)}: {text}"
    for tier, references in zip(policy.tiers, tiers, strict=True):
        for plugin, reference in zip(tier, references, strict=True):
            for text in _about_plugin(plugin, policy):
                yield f"{reference.layer.where(reference.path)}: {text}"
    for number, text in _about_tiers(policy):
        first = tiers[number][0]
        # A preset matches upstream on purpose.
        if not first.layer.is_preset:
            yield f"{first.layer.where(first.path)}: {text}"


def _about_tiers(policy: Policy) -> Iterator[tuple[int, str]]:
    """What tiers do to votes on victims, each with the number of the tier that it is about."""
    for point in VICTIM_VOTES:
        if not any(point in action.cls.needs for action in policy.actions):
            continue
        voting = [(n, tier) for n, tier in enumerate(policy.voters(point)) if tier]
        for (_, earlier), (number, later) in pairwise(voting):
            overruled = [e.name for e in earlier if not _protects(e)]
            unheard = [e.name for e in later if not _protects(e)]
            names = ", ".join(entry.name for entry in later)
            if overruled:
                yield (
                    number,
                    f"where {', '.join(overruled)} of an earlier tier allows no victim, {point} of "
                    f"{names} is asked independently and may name what was refused; put them "
                    "into one tier, or answer 'protected'",
                )
            if unheard:
                yield (
                    number,
                    f"{point} of {', '.join(unheard)} is not heard where an earlier tier names "
                    "victims; put them into one tier, or answer 'protected'",
                )


def _protects(entry: PluginEntry) -> bool:
    """Whether a plugin's refusal is final in every tier."""
    return "protected" in entry.points and entry.answers("protected")


def _about_action(entry: ActionEntry, policy: Policy) -> Iterator[str]:
    name = entry.name
    before = _first_allocating(policy.actions_before(entry))
    after = _first_allocating(policy.actions_after(entry))
    if entry.cls.evicts and after and not before:
        yield f"{name} runs before {after}, so it evicts for jobs that idle nodes could have taken"
    if entry.cls.admits and before and not after:
        yield f"{name} runs after {before}, so a job that it admits waits for the next cycle"
    for point in map(deprecated.current, entry.cls.needs):
        if not any(policy.voters(point)):
            yield f"{name} has no effect: no plugin of the policy answers {point}"
    yield from _idle_options(entry)
    yield from _own_cautions(entry, policy)


def _first_allocating(entries: Iterable[ActionEntry]) -> str:
    return next((entry.name for entry in entries if entry.cls.allocates), "")


def _about_plugin(entry: PluginEntry, policy: Policy) -> Iterator[str]:
    implemented = {entry.known[point].base for point in entry.points}
    for point in sorted(entry.disable - implemented):
        yield f"disabling {point} has no effect: {entry.name} does not answer it"
    yield from _idle_options(entry)
    yield from _own_cautions(entry, policy)
    companions = {other.name for other in policy.tier_of(entry)} - {entry.name}
    yield from deprecated.old_caution(entry.cls, entry.name, entry.options, companions)


def _idle_options(entry: ActionEntry | PluginEntry) -> Iterator[str]:
    """Options that are set and change nothing."""
    values = values_of(entry.options)
    for option in describe(entry.cls.Options):
        if option.name in entry.cls.Options.without_effect and values[option.name][1]:
            yield f"{option.name} of {entry.name} has no effect. {option.help}"


def _own_cautions(entry: ActionEntry | PluginEntry, policy: Policy) -> Iterator[str]:
    try:
        yield from entry.cls.cautions(entry, policy)  # type: ignore[arg-type]
    except (Exception, SystemExit) as error:
        yield f"{entry.name} could not check the policy: {type(error).__name__}: {error}"
