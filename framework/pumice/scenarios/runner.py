"""Runs scenarios: a policy on an embedded cluster for some cycles, then the check."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Raw

from pumice._bounded import TextError, load_toml, text_of
from pumice.config import MissingParts, Policy, load_policy, policy_from_dict
from pumice.decisions import Decisions
from pumice.discovery import Catalog
from pumice.errors import PumiceError, ScenarioError
from pumice.explain.explanation import Explanation
from pumice.explain.job import run_explained
from pumice.model.build import task_status
from pumice.model.facts import Inventory
from pumice.scenarios import cluster
from pumice.scenarios.backend import ScenarioBackend
from pumice.scenarios.facts import add_facts, with_sharding
from pumice.scenarios.files import read_file
from pumice.scenarios.outcome import Mismatch, Outcome, Result, State, mismatches
from pumice.scenarios.params import with_params
from pumice.scenarios.scenario import Extra, Scenario, parse
from pumice.scheduler import Scheduler


class _Names(msgspec.Struct):
    id: Any = None
    title: Any = None


class Runner:
    """Runs scenarios with what one catalog has; policies that recur are loaded once."""

    def __init__(
        self, catalog: Catalog | None = None, *, check: bool = False, plain: Sequence[str] = ()
    ) -> None:
        """``plain`` names shortcuts to do without (see :mod:`pumice.shortcuts`)."""
        self._catalog = catalog or Catalog()
        self._check = check
        self._plain = plain
        self._policies: dict[bytes, Policy | MissingParts] = {}

    def run_file(self, file: Path, word: str = "") -> Iterator[Result]:
        """Run the scenarios of a file whose id, title or path has the word in it.

        What is wrong with a scenario, or with the whole file, is a result as well.
        """
        try:
            texts = read_file(file)
        except ScenarioError as error:
            if _chosen(word, str(file)):
                yield Result(str(file), str(file), "", "error", error=_text(error))
            return
        for number, text in enumerate(texts):
            name = str(file) if len(texts) == 1 else f"{file}[{number}]"
            id, title = names_of(text)
            if _chosen(word, name, id, title):
                yield self.run_text(text, file, id or name, title)

    def run_text(self, text: Raw | bytes, file: Path, id: str, title: str = "") -> Result:
        """Run one scenario given as JSON text."""
        blank = Result(id, str(file), title, "error")
        try:
            return self._run(parse(text, str(file)), file, blank)
        except MissingParts as missing:
            parts = [("plugin", name) for name in missing.plugins]
            parts += [("action", name) for name in missing.actions]
            return replace(blank, verdict="skipped", missing=tuple(parts))
        except PumiceError as error:
            return replace(blank, error=_text(error))
        except Exception as error:  # a faulty plugin or action fails its scenario only
            return replace(blank, error=f"{type(error).__name__}: {error}{_place(error)}")

    def scheduler(
        self, scenario: Scenario, file: Path, policy: Policy | None = None
    ) -> tuple[Scheduler, ScenarioBackend]:
        """A scheduler before its first cycle on the scenario's cluster, and that cluster.

        ``policy`` replaces the scenario's own.
        """
        policy = policy or self._policy(scenario, file)
        extra = scenario.facts()
        queue = policy.scheduler.default_queue
        inventory = cluster.read(scenario, file, default_queue=queue)
        now = _clock(inventory, extra, queue)
        add_facts(inventory, extra, now=now)
        policy = with_sharding(policy, inventory, extra)
        backend = ScenarioBackend(
            inventory,
            now=now,
            between=extra.between_cycles,
            eviction_takes=extra.eviction_takes,
            deleted_jobs=[uid for uid, job in extra.jobs.items() if job.delete_job_in_test],
        )
        return Scheduler(backend, policy, verify=self._check), backend

    def _run(self, scenario: Scenario, file: Path, blank: Result) -> Result:
        scheduler, backend = self.scheduler(scenario, file)
        extra, now = scenario.facts(), backend.now()
        queue = scheduler.policy.scheduler.default_queue
        explanations: dict[str, Explanation] = {}
        for number in range(1, scenario.cycles + 1):
            if number > 1:
                backend.advance()
            added = extra.add_before_cycle.get(number)
            if added:
                known = backend.snapshot()
                grown = cluster.with_objects(known, added, default_queue=queue)
                add_facts(grown, extra, now=now, known=known)
                backend.replace(grown)
            actions = extra.cycle_actions[number - 1] if extra.cycle_actions else None
            if number == scenario.cycles and scenario.expect.explain:
                cycle = run_explained(scheduler, actions=actions)
                jobs = [job for job in scenario.expect.explain if job in cycle.session.jobs]
                explanations = {job: cycle.explain(job) for job in jobs}
            else:
                scheduler.run_once(actions)
        scheduler.close()
        outcome = replace(_outcome(backend, extra), explanations=explanations)
        wrong = mismatches(scenario.expect, outcome)
        return replace(
            blank,
            verdict="failed" if wrong else "passed",
            mismatches=tuple(wrong),
            reasons=_reasons(wrong, backend.history[-1]),
            warnings=tuple(str(problem) for problem in backend.snapshot().problems),
        )

    def _policy(self, scenario: Scenario, file: Path) -> Policy:
        config = scenario.config
        params = scenario.facts().scheduler_params if scenario.dialect == "kai" else None
        key = msgspec.json.encode(
            [scenario.dialect, str(file.parent) if isinstance(config, str) else "", config, params]
        )
        loaded = self._policies.get(key)
        if loaded is None:
            try:
                policy = self._load(config, scenario.dialect, file, params)
                loaded = fatal(policy).without(self._plain)
            except MissingParts as missing:
                loaded = missing
            self._policies[key] = loaded
        if isinstance(loaded, MissingParts):
            raise loaded.with_traceback(None)
        return loaded

    def _load(
        self,
        config: dict[str, Any] | str | None,
        dialect: str,
        file: Path,
        params: dict[str, Any] | None,
    ) -> Policy:
        if config is None:
            return load_policy(env={}, catalog=self._catalog)
        where = "config"
        if isinstance(config, str):
            path = file.parent / config
            if dialect == "pumice":
                return load_policy(path, env={}, catalog=self._catalog)
            try:
                config, where = load_toml(text_of(path.read_bytes())), str(path)
            except TextError as error:
                raise ScenarioError(f"config: {error.at(str(path))}", hint=error.hint) from None
            except OSError as error:
                raise ScenarioError(f"config: {path}: {error}") from None
        if params is not None:
            config = with_params(config, params)
        return policy_from_dict(config, where=where, dialect=dialect, catalog=self._catalog)


def fatal(policy: Policy) -> Policy:
    """The policy, under which a plugin that raises ends the run unless it says otherwise."""
    if "on_plugin_error" in policy.raw.get("scheduler", {}):
        return policy
    settings = policy.scheduler.model_copy(update={"on_plugin_error": "raise"})
    return replace(policy, scheduler=settings)


def _clock(inventory: Inventory, extra: Extra, queue: str) -> float:
    later = [item for objects in extra.add_before_cycle.values() for item in objects]
    added = cluster.with_objects(Inventory(), later, default_queue=queue) if later else None
    return cluster.clock(inventory, extra, added)


def _outcome(backend: ScenarioBackend, extra: Extra) -> Outcome:
    inventory, last = backend.snapshot(), backend.history[-1]
    ended = last.task_states
    if extra.between_cycles == "recreate":
        backend.advance()
        inventory = backend.snapshot()
        pods = inventory.pods.values()
        ended = {pod.key: (task_status(pod).label, pod.node_name) for pod in pods}
    pod_of = {pod.key: pod for pod in inventory.pods.values()}
    return Outcome(
        binds=[(bind.task, bind.node) for cycle in backend.history for bind in cycle.binds],
        evictions=[
            task
            for cycle in backend.history
            for task in dict.fromkeys(eviction.task for eviction in cycle.evictions)
        ],
        pipelined={task.task: task.node for task in last.pipelined},
        phases={group.uid: group.phase for group in inventory.groups.values()}
        | {state.job: state.counted_phase for state in last.jobs},
        states={
            task: State(status, node, pod_of[task].group, bool(pod_of[task].gates))
            for task, (status, node) in ended.items()
        },
    )


def _reasons(wrong: list[Mismatch], last: Decisions) -> tuple[tuple[str, str], ...]:
    jobs = {mismatch.job for mismatch in wrong}
    waiting = (state for state in last.jobs if state.reason and state.job in jobs)
    return tuple((state.job, state.reason) for state in waiting)


def names_of(text: Raw) -> tuple[str, str]:
    """Id and title of a scenario that may have anything wrong with it."""
    try:
        names = msgspec.json.decode(text, type=_Names)
    except msgspec.DecodeError:
        return "", ""
    return str(names.id or ""), str(names.title or "")


def _chosen(word: str, *names: str) -> bool:
    return any(word.casefold() in name.casefold() for name in names)


def _text(error: PumiceError) -> str:
    return f"{error} ({error.hint})" if error.hint else str(error)


def _place(error: Exception) -> str:
    """Where an unforeseen error happened."""
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    if traceback is None:
        return ""
    return f" ({traceback.tb_frame.f_code.co_filename}:{traceback.tb_lineno})"
