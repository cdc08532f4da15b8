"""Warnings about policies that are valid but unlikely to be meant so."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pumice import deprecated
from pumice.config.policy import ActionEntry, PluginEntry, Policy
from pumice.config.sections import Reference


def lint(
    policy: Policy, actions: Sequence[Reference], tiers: Sequence[Sequence[Reference]]
) -> Iterator[str]:
    """Warnings about a policy, each with the place of its entry."""
    order = {entry.name: number for number, entry in enumerate(policy.actions)}
    for entry, reference in zip(policy.actions, actions, strict=True):
        for text in _about_action(policy, entry, order):
            yield f"{reference.layer.where(reference.path)}: {text}"
    for tier, references in zip(policy.tiers, tiers, strict=True):
        for plugin, reference in zip(tier, references, strict=True):
            for text in _about_plugin(plugin, tier, order):
                yield f"{reference.layer.where(reference.path)}: {text}"


def _about_action(policy: Policy, entry: ActionEntry, order: Mapping[str, int]) -> Iterator[str]:
    name = entry.name
    here, allocate = order[name], order.get("allocate", order[name])
    if entry.cls.evicts and here < allocate:
        yield f"{name} runs before allocate, so it evicts for jobs that idle nodes could have taken"
    for point in map(deprecated.current, entry.cls.needs):
        if not any(policy.voters(point)):
            yield f"{name} has no effect: no plugin of the policy answers {point}"
    if name == "backfill" and here < allocate:
        yield "backfill runs before allocate, so its tasks take nodes that gangs may need"
    if name == "enqueue" and here > allocate:
        yield "enqueue runs after allocate, so a job that it admits waits for the next cycle"


def _about_plugin(
    entry: PluginEntry, tier: Sequence[PluginEntry], order: Mapping[str, int]
) -> Iterator[str]:
    implemented = {entry.known[point].base for point in entry.points}
    for point in sorted(entry.disable - implemented):
        yield f"disabling {point} has no effect: {entry.name} does not answer it"
    if entry.name == "gang" and "preempt" in order and _votes(entry, "preemptable"):
        others = [e.name for e in tier if e is not entry and _votes(e, "preemptable")]
        agree = f" and {', '.join(others)} must agree" if others else ""
        yield (
            "gang answers preemptable, so preempt evicts only tasks above their job's minimum"
            f"{agree}: a job that runs at its minimum is never preempted; "
            'disable = ["preemptable"] allows it to evict whole jobs'
        )


def _votes(entry: PluginEntry, point: str) -> bool:
    return point in entry.points and entry.answers(point)
