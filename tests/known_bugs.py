"""Bugs that are known of batch schedulers: what is right, what shows it, and what it is without.

The issues are those of volcano-sh/volcano (volcano), NVIDIA/KAI-Scheduler (kai),
kubernetes-sigs/kueue (kueue), kubernetes/kubernetes (kubernetes), armadaproject/armada (armada) and
apache/yunikorn-core (yunikorn).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests import without


@dataclass(frozen=True)
class Row:
    """One bug, and the scenario or test that shows the right behaviour."""

    right: str
    """The right behaviour, in a sentence."""
    seen: str
    """Where the bug was seen."""
    shown: str
    """A scenario of ``tests/scenarios/known-bugs``, or the id of a test."""
    mechanism: str
    """What makes it right, in the words of the table."""
    policy: Mapping[str, Any] = field(default_factory=dict)
    """A policy without the mechanism, which is put over that of the scenario."""
    replaced: tuple[str, str] | None = None
    """A text of the scenario, and what stands there without the mechanism."""
    patches: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    """Functions of the mechanism as ``module:Class.name``, and what stands there instead."""
    arguments: tuple[Any, ...] = ()
    """What the test is called with."""
    contained: bool = False
    """Whether the hasty action does no harm with the mechanism."""


ROWS = [
    Row(
        "Nothing is evicted for a gang of which not all members that it needs can be placed",
        "volcano#5011, volcano#5022, volcano#5026",
        "no_eviction_for_half_a_gang",
        "`evictions.atomic`",
        policy=without.hasty(atomic=False, minimal=False, protected=False),
        contained=True,
    ),
    Row(
        "The pods of a node that was tried and given up stay",
        "volcano#5067, volcano#3673",
        "victims_of_an_abandoned_node_stay",
        "`evictions.minimal`",
        policy=without.hasty(minimal=False),
        contained=True,
    ),
    Row(
        "A victim that is not needed in the end is spared",
        "volcano#1255, volcano#5984, volcano#5994",
        "no_more_victims_than_needed",
        "`evictions.minimal`",
        policy=without.hasty(minimal=False),
        contained=True,
    ),
    Row(
        "Victims are enough when all filters accept the claimant, not when the sums do",
        "volcano#4926",
        "the_pod_that_holds_the_port_goes",
        "`evictions.atomic`",
        policy=without.hasty(atomic=False, minimal=False),
        contained=True,
    ),
    Row(
        "Finished pods of a gang free nothing",
        "volcano#4637",
        "finished_pods_free_nothing",
        "`evictions.atomic`",
        policy=without.hasty(atomic=False, minimal=False),
        contained=True,
    ),
    Row(
        "A gang uses idle nodes before it takes the place of pods",
        "volcano#3291, volcano#5521",
        "idle_node_before_a_victim",
        "`evictions.minimal`",
        policy=without.hasty(minimal=False),
        contained=True,
    ),
    Row(
        "What was freed for a job is held for it",
        "volcano#4947, kueue#13662",
        "freed_room_is_held_for_its_claimant",
        "`evictions.reserved`",
        policy={"evictions": {"reserved": False}},
    ),
    Row(
        "Queues that cannot be equal do not reclaim in turns",
        "volcano#3729, volcano#561",
        "two_queues_do_not_reclaim_in_turns",
        "`evictions.monotone`",
        policy=without.hasty(monotone=False, protected=False),
    ),
    Row(
        "Nothing is evicted for an equal",
        "volcano#377",
        "equals_do_not_evict_each_other",
        "`solve_preempt` takes victims of strictly lower priority",
        policy=without.hasty(monotone=False),
    ),
    Row(
        "Nothing is evicted for a job that cannot run anyway",
        "kueue#6947, kai#1502",
        "no_eviction_beyond_the_limit_of_the_queue",
        "`evictions.atomic` asks for the limits of queues",
        policy=without.hasty(atomic=False, minimal=False, protected=False),
        contained=True,
    ),
    Row(
        "A job that can never run blocks no other",
        "kueue#6947, kueue#6970",
        "an_impossible_job_blocks_no_other",
        "the next job of the queue is tried in the same cycle",
        policy={"action": {"solve_reclaim": {"queueDepth": 1}}},
    ),
    Row(
        "Admission does not keep a job from taking back its share",
        "volcano#991, volcano#569, volcano#4817",
        "a_full_cluster_does_not_close_the_gate",
        "no plugin of the preset compares with idle resources before admitting a job",
        policy={"preset": "volcano"},
    ),
    Row(
        "A protected pod is no victim, whatever the tiers are",
        "volcano#3332, volcano#2034",
        "a_system_pod_is_never_a_victim",
        "`evictions.protected`",
        policy=without.hasty(protected=False),
        contained=True,
    ),
    Row(
        "The request counts when a queue is compared with its share",
        "volcano#2547, volcano#2232",
        "the_request_counts_before_reclaiming",
        "`fairshare` compares shares with the request",
        policy={"evictions": {"protected": False}},
        patches={
            "pumice_builtin_plugins.fairshare.plugin:may_reclaim": without.always,
            "pumice_builtin_plugins.fairshare.plugin:ReclaimValidator.allows": without.always,
            "pumice_builtin_plugins.fairshare.plugin:ReclaimValidator.refuses": without.never,
        },
    ),
    Row(
        "No limit is not a limit of 0",
        "volcano#1485, volcano#3536, yunikorn#636, yunikorn#639",
        "a_resource_without_a_limit_is_unlimited",
        "what is absent is read as absent",
        replaced=("capability: {cpu: '2'}", "capability: {cpu: '2', nvidia.com/gpu: '0'}"),
    ),
    Row(
        "Weight 0 means leftovers only, and huge weights are exact",
        "volcano#1083, volcano#2549, kueue#6925, kueue#6617",
        "a_queue_of_weight_0_has_only_leftovers",
        "0 is read as 0, not as the default of 1",
        replaced=("weight: 0", "weight: 1000000000"),
    ),
    Row(
        "A node with more pods than resources stops nothing",
        "volcano#2364",
        "tests/framework/model/test_resources.py::test_subtracting_goes_below_zero_without_complaint",
        "amounts may go below zero",
        patches={"pumice.model.resources:Resource.sub": without.refuse},
    ),
    Row(
        "The search goes on behind a candidate that may not go",
        "volcano#3003, yunikorn#1164",
        "a_protected_victim_does_not_end_the_search",
        "each candidate is asked about on its own",
        patches={"pumice.session.evictions.guard:EvictionGuard.objection": without.stop},
    ),
    Row(
        "A job that has its minimum evicts nothing to grow",
        "volcano#3951",
        "the_surplus_of_a_job_evicts_nothing",
        "`preemptForSurplus` of `solve_preempt`",
        policy={"action": {"solve_preempt": {"preemptForSurplus": True}}},
    ),
    Row(
        "The least important pods go, not those of the first node",
        "kubernetes#128307, kubernetes#129136",
        "the_least_important_victims_go",
        "victims are taken in the order of jobs over all nodes",
        policy={"preset": "volcano"},
    ),
    Row(
        "A disruption budget counts the evictions of the same cycle",
        "kubernetes#91492",
        "a_budget_counts_the_evictions_of_the_cycle",
        "`evictions.protected`",
        policy={"evictions": {"protected": False}},
    ),
    Row(
        "A nomination is dropped when the node does not fit any more",
        "kubernetes#106780, kubernetes#92600, kubernetes#95752, volcano#5131",
        "a_nomination_to_an_unfit_node_is_dropped",
        "the nominated node is filtered like any other",
        replaced=("unschedulable: true", "unschedulable: false"),
    ),
    Row(
        "A node is nominated only if a pod was evicted for it",
        "volcano#3681",
        "tests/framework/backends/test_memory.py::test_a_pipelined_task_nominates_its_node_if_a_task_was_evicted_for_it",
        "the decision states whether an eviction occurred",
        patches={"pumice.backends.memory:MemoryBackend._nominate": without.nominate_always},
        arguments=(False, ""),
    ),
    Row(
        "What an abandoned statement did is undone",
        "volcano#5044, volcano#1617",
        "tests/test_known_bugs.py::test_a_statement_without_a_commit_leaves_nothing",
        "leaving the block of a statement rolls it back",
        patches={"pumice.session.statement:Statement.__exit__": without.nothing},
    ),
    Row(
        "The room of a terminating pod comes later",
        "volcano#394, volcano#2943",
        "the_room_of_a_terminating_pod_comes_later",
        "terminating is a status of its own; `evictions.terminating` can limit the wait",
        patches={"pumice.solver.task_placement:TaskPlacer._fits_idle": without.always},
    ),
    Row(
        "A gang at its minimum goes as a whole",
        "volcano#4950",
        "a_gang_is_evicted_as_a_whole",
        "`evictions.atomic`",
        policy=without.hasty(atomic=False, minimal=False),
        contained=True,
    ),
    Row(
        "A gang below its minimum is released after its grace period",
        "kai#2208, armada#4232",
        "a_gang_below_its_minimum_is_released",
        "the action `evict_stale_gangs`",
        policy={"actions": ["fair_allocate"]},
    ),
    Row(
        "A queue is safe from outsiders while its parent is within its share",
        "volcano#5107, volcano#3932, volcano#3989",
        "a_parent_within_its_share_is_no_victim",
        "`fairshare` compares queues below their common ancestor; `proportion` knows no tree",
        policy={"preset": "volcano"},
    ),
    Row(
        "A queue moves nobody to grow above its share",
        "kai#1565",
        "a_queue_above_its_share_moves_nobody",
        "`fairshare` protects the tasks of other queues from moves for it",
        patches={
            "pumice_builtin_plugins.fairshare.plugin:FairShare._objection_to_move": without.nothing
        },
    ),
    Row(
        "Shares are counted anew after each plan",
        "kueue#14122",
        "shares_are_counted_anew_after_each_plan",
        "`fairshare` follows every placement",
        patches={"pumice_builtin_plugins.fairshare.plugin:FairShare.on_allocate": without.nothing},
    ),
    Row(
        "Jobs that differ in what they require of nodes fail apart",
        "kai#761",
        "jobs_that_differ_in_a_selector_fail_apart",
        "all constraints are part of the signature",
        patches={"pumice.solver.failed_jobs:signature": without.nothing},
    ),
    Row(
        "A pod is bound only where all that it requests is idle",
        "KAI 0.7.5 and 0.7.7",
        "idle_in_every_resource_or_not_bound",
        "idle and future idle are compared in every resource",
        patches={"pumice.solver.task_placement:TaskPlacer._fits_idle": without.always},
    ),
    Row(
        "GPU memory is counted as a part of its device",
        "KAI 0.8.2, 0.12 and 0.13",
        "gpu_memory_is_a_part_of_one_device",
        "shares of devices are counted device by device",
        replaced=("gpu-memory: '8000'", "gpu-memory: '16000'"),
    ),
    Row(
        "Two jobs of a cycle do not count on the same victim",
        "kueue#1866",
        "one_victim_serves_one_job",
        "the second job sees what is promised to the first",
        patches={"pumice.model.nodes.table:NodeTable._count": without.forget_promises},
    ),
    Row(
        "The state of a job says what its tasks are, once",
        "volcano#457, volcano#2925, volcano#3749, volcano#2685",
        "tests/framework/test_status.py::test_a_running_job_below_its_minimum_is_unknown",
        "the phase is made of the tasks and conditions, not the stored one",
        patches={"tests.framework.test_status:shown_phase": without.stored_phase},
        arguments=(
            {"type": "Unschedulable", "status": "True", "transitionID": "now"},
            "Unknown",
        ),
    ),
    Row(
        "An eviction that does not happen frees nothing",
        "kubernetes#126644",
        "an_eviction_that_does_not_happen_frees_nothing",
        "a pod holds its resources until it is gone",
        patches={
            "pumice.solver.task_placement:TaskPlacer._fits_idle": without.always,
            "pumice.session.evictions.reservations:fits": without.always,
        },
    ),
    Row(
        "A bad queue stops no other",
        "volcano#4818, volcano#4819, volcano#4076",
        "a_bad_queue_stops_no_other",
        "a queue that cannot be linked is left out with a warning",
        policy={
            "actions": ["enqueue", "allocate"],
            "tiers": [{"plugins": ["gang", "predicates", "capacity"]}],
            "plugin": {"capacity": {"hierarchy": True}},
        },
    ),
    Row(
        "An unknown action, plugin or argument is an error with its line and the nearest name",
        "volcano#4660",
        "tests/test_known_bugs.py::test_a_policy_with_unknown_names_is_refused",
        "the policy is checked as a whole before it is used",
        patches={"pumice.config.problems:Problems.raise_any": without.nothing},
    ),
]


def table() -> str:
    """The rows as the page docs/known-bugs.md shows them."""
    lines = ["| right | seen in | because of | shown by |", "|---|---|---|---|"]
    for row in ROWS:
        shown = row.shown if "::" in row.shown else f"tests/scenarios/known-bugs/{row.shown}.yaml"
        lines.append(f"| {row.right} | {row.seen} | {row.mechanism} | {shown} |")
    return "\n".join(lines) + "\n"
