"""Which small change would let a job run, found by deciding the same cluster again."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from pumice.backends.memory import MemoryBackend
from pumice.explain import changes
from pumice.explain.explanation import Change, Explanation
from pumice.scheduler import Scheduler

if TYPE_CHECKING:
    from pumice.config import Policy
    from pumice.model.facts import Inventory

Progress = Callable[[str], None]
_MOST = 40
"""Changes that are tried at most, whatever the budget."""


class Counterfactuals(NamedTuple):
    """What was found, and what was not tried."""

    found: tuple[Change, ...]
    """One change of each kind, the first that works."""
    tried: int
    """How many changes were tried."""
    not_tried: tuple[str, ...]
    """What the budget did not allow to try."""
    seconds: float
    """How long it took."""

    @property
    def text(self) -> str:
        """What was tried, in one line."""
        changes_ = f"{self.tried} change{'s' * (self.tried != 1)}"
        text = f"Tried {changes_} in {self.seconds:.1f} s"
        if not self.found:
            text += ", none of which lets it run"
        if self.not_tried:
            listed = ", ".join(self.not_tried[:4])
            more = len(self.not_tried) - 4
            text += f"; not tried, as the time ran out: {listed}"
            text += f" and {more} more (--budget gives it more)" if more > 0 else " (see --budget)"
        return f"{text}."


class Trial(NamedTuple):
    """One change to be tried."""

    kind: str
    text: str
    inventory: Inventory
    policy: Policy


def find_changes(
    explanation: Explanation,
    inventory: Inventory,
    policy: Policy,
    *,
    now: float,
    budget: float,
    progress: Progress = lambda text: None,
) -> Counterfactuals:
    """Try small changes to the cluster or the policy until the budget in seconds is spent."""
    start = time.monotonic()
    found: dict[str, Change] = {}
    not_tried: list[str] = []
    tried, longest = 0, 0.0
    for trial in _trials(explanation, inventory, policy):
        if trial.kind in found:
            continue
        spent = time.monotonic() - start
        if tried >= _MOST or spent + longest > budget:
            not_tried.append(trial.text)
            if len(not_tried) > _MOST:
                break
            continue
        progress(trial.text)
        result = _result(explanation.job, trial, now)
        tried += 1
        longest = max(longest, time.monotonic() - start - spent)
        if result:
            found[trial.kind] = Change(trial.text, trial.kind, result)
    return Counterfactuals(tuple(found.values()), tried, tuple(not_tried), time.monotonic() - start)


def _trials(explanation: Explanation, inventory: Inventory, policy: Policy) -> Iterator[Trial]:
    job = explanation.job
    for kind, text, changed in changes.of_cluster(explanation, inventory, job):
        yield Trial(kind, text, changed, policy)
    for text, other in changes.of_policy(explanation, policy):
        yield Trial("vote", text, inventory, other)


def _result(job: str, trial: Trial, now: float) -> str:
    """What becomes of the job after the change; empty: it waits, or the change is not possible."""
    quiet = trial.policy.scheduler.model_copy(update={"on_plugin_error": "isolate"})
    backend = MemoryBackend(trial.inventory, now=now)
    scheduler = Scheduler(backend, replace(trial.policy, scheduler=quiet))
    try:
        decisions = scheduler.run_once()
    finally:
        scheduler.close()
    state = next((state for state in decisions.jobs if state.job == job), None)
    if state is None or state.pending:
        return ""
    evictions = sum(eviction.claimant == job for eviction in decisions.evictions)
    if state.code == "WaitsForRelease":
        what = f"{evictions} eviction{'s' * (evictions != 1)}" if evictions else "pods that end"
        return f"it starts after {what}"
    return "" if state.code else "it starts"
