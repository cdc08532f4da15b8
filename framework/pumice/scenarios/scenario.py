"""The shape of a scenario: a cluster, a policy, and what must be decided."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Raw, Struct

from pumice._nearest import did_you_mean
from pumice.backends.memory import Between
from pumice.errors import ScenarioError
from pumice.explain.codes import CODES
from pumice.model.task import TaskStatus

Count = Annotated[int, Meta(ge=0)]
STATUSES = (*(status.label for status in TaskStatus), "Gated")


class TaskState(Struct, frozen=True, forbid_unknown_fields=True):
    """The state that a task must end in."""

    status: str
    node: str | None = None


class ExpectedReason(Struct, frozen=True, forbid_unknown_fields=True):
    """How ``pumice explain`` must explain a job after the last cycle. None is not looked at."""

    verdict: Literal["pending", "never", "running", "evicted"] | None = None
    code: str | None = None
    binding: str | None = None
    """A part of the text."""
    level: str | None = None
    """A level that the job did not pass (or an eviction)."""
    plugin: str | None = None
    """The plugin that decided: at that level if one is given, else at any, or about a victim."""
    hook: str | None = None
    """The extension point at which it did."""
    spared: list[str] | None = None
    """Tasks that were considered as victims and spared."""


class Expect(Struct, frozen=True, forbid_unknown_fields=True):
    """What must be decided. What is None is not looked at."""

    binds: dict[str, str] | None = None
    bind_count: Count | None = None
    evictions: list[str] | None = None
    evict_count: Count | None = None
    max_evictions: Count | None = None
    max_evictions_per_task: Count | None = None
    pipelined: dict[str, list[str]] | None = None
    pipeline_count: Count | None = None
    phases: dict[str, str] | None = None
    task_counts: dict[str, dict[str, Count]] | None = None
    jobs: dict[str, TaskState] | None = None
    tasks: dict[str, TaskState] | None = None
    explain: dict[str, ExpectedReason] | None = None

    def can_fail(self) -> bool:
        """Whether there is anything that could turn out otherwise."""
        named = (
            self.pipelined, self.phases, self.task_counts, self.jobs, self.tasks, self.explain,
        )  # fmt: skip
        given = (
            self.binds, self.bind_count, self.evictions, self.evict_count, self.max_evictions,
            self.max_evictions_per_task, self.pipeline_count,
        )  # fmt: skip
        return any(named) or any(value is not None for value in given)

    def statuses(self) -> list[str]:
        """Every status that is named."""
        states = [*(self.jobs or {}).values(), *(self.tasks or {}).values()]
        counted = [status for counts in (self.task_counts or {}).values() for status in counts]
        return [state.status for state in states] + counted


class TaskFacts(Struct, frozen=True):
    """``extra.tasks``: facts of a pod."""

    state: str = ""
    node: str | None = None
    gpu_groups: list[str] = []
    index: float | None = None
    subgroup: str = ""
    task_order_priority: int | str | None = None
    is_legacy_mig: bool = False


class JobFacts(Struct, frozen=True):
    """``extra.jobs``: facts of a pod group."""

    priority: int | None = None
    preemptibility: str | None = None
    creation_order: float | None = None
    min_available: dict[str, int] | None = None
    last_start_seconds_ago: float | None = None
    stale_seconds: float | None = None
    delete_job_in_test: bool = False


class QueueFacts(Struct, frozen=True):
    """``extra.queues``: facts of a queue."""

    index: float | None = None


class NodeFacts(Struct, frozen=True):
    """``extra.nodes``: facts of a node."""

    max_task_num: int | None = None
    memory_of_every_gpu_on_node: int | None = None
    gpu_memory_synced: bool = True


class HyperNodeTiers(Struct, frozen=True):
    """``extra.hypernodes``: a tree of hypernodes without the objects."""

    by_tier: dict[int, list[str]] = {}
    real_nodes: dict[str, list[str]] = {}


class Extra(Struct, frozen=True):
    """The facts outside the manifests; keys that are not listed here are ignored."""

    now: str | float | None = None
    between_cycles: Between = "settle"
    eviction_takes: Count = 0
    cycle_actions: list[list[str]] | None = None
    add_before_cycle: dict[int, list[Raw]] = {}
    tasks: dict[str, TaskFacts] = {}
    jobs: dict[str, JobFacts] = {}
    queues: dict[str, QueueFacts] = {}
    nodes: dict[str, NodeFacts] = {}
    scheduler_params: dict[str, Any] | None = None
    min_node_gpu_memory: int | None = None
    feature_gates: dict[str, Any] = {}
    node_usage: dict[str, Any] = {}
    queue_usage: dict[str, dict[str, float]] | None = None
    hypernodes: HyperNodeTiers | None = None
    nominated_hypernodes: dict[str, str] = {}
    sharding_mode: Literal["none", "soft", "hard"] | None = None
    nodes_in_shard: list[str] | None = None


class Scenario(Struct, frozen=True, forbid_unknown_fields=True):
    """One scenario as it is written."""

    expect: Expect
    id: str = ""
    title: str = ""
    dialect: Literal["pumice", "volcano", "kai"] = "pumice"
    config: dict[str, Any] | str | None = None
    objects: list[Raw] | None = None
    cluster: str | list[str] | None = None
    extra: Raw = Raw(b"{}")
    cycles: Annotated[int, Meta(ge=1)] = 1

    def facts(self) -> Extra:
        """What ``extra`` states."""
        return _EXTRA.decode(self.extra)


_SCENARIO = msgspec.json.Decoder(Scenario)
_EXTRA = msgspec.json.Decoder(Extra)


def parse(text: Raw | bytes, where: str) -> Scenario:
    """A scenario from its JSON text.

    :raises ScenarioError: it does not keep to the format; the message names the key.
    """
    try:
        scenario = _SCENARIO.decode(text)
        problem = _problem(scenario, _extra(scenario))
    except msgspec.ValidationError as error:
        raise ScenarioError(f"{where}: {_explain(str(error))}") from None
    if problem:
        raise ScenarioError(f"{where}: {problem}")
    return scenario


def _extra(scenario: Scenario) -> Extra:
    try:
        return scenario.facts()
    except msgspec.ValidationError as error:
        text = str(error)
        raise msgspec.ValidationError(
            text.replace("`$", "`$.extra", 1) if "`$" in text else f"{text} - at `$.extra`"
        ) from None


def _problem(scenario: Scenario, extra: Extra) -> str:
    """What is wrong with a scenario whose every value has the right type."""
    if not scenario.expect.can_fail():
        return "expect: nothing is expected, so the scenario cannot fail"
    for status in scenario.expect.statuses():
        if status not in STATUSES:
            hint = did_you_mean(status, STATUSES) or f"; known: {', '.join(STATUSES)}"
            return f"expect: no status is named {status!r}{hint}"
    for reason in (scenario.expect.explain or {}).values():
        if reason.code is not None and reason.code not in CODES:
            hint = did_you_mean(reason.code, CODES) or f"; known: {', '.join(CODES)}"
            return f"expect: no reason code is named {reason.code!r}{hint}"
    if (scenario.objects is None) == (scenario.cluster is None):
        given = "neither" if scenario.objects is None else "both"
        return f"the cluster is either 'objects' or 'cluster'; {given} is given"
    actions = extra.cycle_actions
    if actions is not None and len(actions) != scenario.cycles:
        return f"extra.cycle_actions: {len(actions)} lists for {scenario.cycles} cycles"
    late = [number for number in extra.add_before_cycle if not 1 <= number <= scenario.cycles]
    if late:
        return f"extra.add_before_cycle: there is no cycle {late[0]}, only {scenario.cycles}"
    return ""


_UNKNOWN = re.compile(r"Object contains unknown field `(?P<key>.*)`")
_AT = re.compile(r"(?P<what>.*?)(?: - at `(?:key in )?\$\.?(?P<path>.*)`)?", re.DOTALL)
_TYPES = {
    "array": "a list", "object": "a table", "str": "a text", "int": "a whole number",
    "float": "a number", "bool": "true or false", "null": "nothing",
}  # fmt: skip


def _explain(message: str) -> str:
    """The decoder's message in the words of the scenario format."""
    match = _AT.fullmatch(message)
    what, path = (match["what"], match["path"] or "") if match else (message, "")
    unknown = _UNKNOWN.match(what)
    if unknown:
        shape: type[Struct] = Expect if path else Scenario
        if path.count("[") or "." in path:
            shape = ExpectedReason if path.startswith("expect.explain") else TaskState
        known = shape.__struct_fields__
        hint = did_you_mean(unknown["key"], known) or f"; known: {', '.join(known)}"
        what = f"there is no key {unknown['key']!r}{hint}"
    elif what.startswith("Object missing required field `expect`"):
        what = "there is no 'expect', so the scenario cannot fail"
    else:
        what = re.sub(r"`([a-z]+(?: \| [a-z]+)*)`", _type_names, what)
        what = what[:1].lower() + what[1:]
    return f"{path}: {what}" if path else what


def _type_names(match: re.Match[str]) -> str:
    names = match[1].split(" | ")
    return " or ".join(_TYPES.get(name, name) for name in names if name != "null")
