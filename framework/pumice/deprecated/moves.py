"""Modules, names and attributes that moved, by the version that moved them."""

from __future__ import annotations

from typing import NamedTuple


class Moves(NamedTuple):
    """What one minor version moved; the next one drops the old names."""

    since: str
    """The version that moved them, as in ``0.2``."""
    modules: dict[str, str]
    """Old module → new module. Its names have the same names there unless ``names`` says other."""
    names: dict[tuple[str, str], tuple[str, str]]
    """(old module, name) → (new module, name)."""
    attributes: dict[tuple[str, str, str], str]
    """(module, class, old attribute) → new attribute; module and class as they are called now."""
    keywords: dict[tuple[str, str, str], str]
    """(module, class, old keyword of its constructor) → new keyword."""
    removed: dict[tuple[str, str], str]
    """(old module, name or ``Class.attribute``) without a successor → what to use instead."""


_V0_2 = Moves(
    since="0.2",
    modules={
        "pumice.config.advice": "pumice.config.lint",
        "pumice.config.holder": "pumice.config.reload",
        "pumice.config.shape": "pumice.config.sections",
        "pumice.fit": "pumice.fit_errors",
        "pumice.invariants": "pumice.model.invariants",
        "pumice.labels": "pumice.kube.labels",
        "pumice.likeness": "pumice.model.incremental.compare",
        "pumice.model.as_found": "pumice.model.incremental.restore",
        "pumice.model.describe": "pumice.model.build",
        "pumice.model.difference": "pumice.model.incremental.diff",
        "pumice.model.findings": "pumice.model.incremental.snapshot_cache",
        "pumice.model.gpu_request": "pumice.model.gpu.request",
        "pumice.model.gpus": "pumice.model.gpu.shares",
        "pumice.model.kai_nodes": "pumice.model.families.kai.nodes",
        "pumice.model.kai_task": "pumice.model.families.kai.tasks",
        "pumice.model.kept": "pumice.model.incremental.column_cache",
        "pumice.model.node_upkeep": "pumice.model.incremental.initial_nodes",
        "pumice.model.pod_sets": "pumice.model.families.kai.pod_sets",
        "pumice.model.renewal": "pumice.model.incremental.refresh",
        "pumice.model.sub_jobs": "pumice.model.families.volcano.sub_jobs",
        "pumice.model.upkeep": "pumice.model.incremental.keeper",
        "pumice.nodeaffinity": "pumice.kube.node_affinity",
        "pumice.session.answers": "pumice.session.nodes.class_cache",
        "pumice.session.chunks": "pumice.solver.task_batches",
        "pumice.session.classes": "pumice.session.nodes.classes",
        "pumice.session.hyper_sets": "pumice.session.domains",
        "pumice.session.questions": "pumice.session.nodes.queries",
        "pumice.session.queue_tree": "pumice.solver.queue_tree",
        "pumice.session.ranked": "pumice.solver.ranked_jobs",
        "pumice.session.room": "pumice.session.nodes.gpu_devices",
        "pumice.session.voices": "pumice.session.nodes.voters",
        "pumice.session.whole_jobs": "pumice.solver.gang_placement",
        "pumice.solver.failed": "pumice.solver.failed_jobs",
        "pumice.solver.filters": "pumice.solver.plan_filters",
        "pumice.solver.room": "pumice.solver.gpu_counts",
        "pumice.solver.scenario": "pumice.solver.plan",
        "pumice.solver.slots": "pumice.solver.capacity_bound",
        "pumice.solver.walk": "pumice.solver.victim_sequence",
        "pumice.testing.draw": "pumice.testing.random_clusters",
        "pumice.testing.examine": "pumice.testing.contract_checks",
        "pumice.testing.photo": "pumice.testing.session_state",
    },
    names={
        ("pumice.decisions", "Promise"): ("pumice", "PipelinedTask"),
        ("pumice.config.duration", "seconds"): ("pumice.config.duration", "parse_duration"),
        ("pumice.config.importers.kai", "KNOWN_PLUGINS"): (
            "pumice.config.importers.kai.policy",
            "KNOWN_PLUGINS",
        ),
        ("pumice.config.importers.volcano", "ACTIONS"): (
            "pumice.config.importers.volcano.policy",
            "ACTIONS",
        ),
        ("pumice.config.importers.volcano", "PLUGINS"): (
            "pumice.config.importers.volcano.policy",
            "PLUGINS",
        ),
        ("pumice.config.shape", "Seat"): ("pumice.config.sections", "Reference"),
        ("pumice.model.describe", "Describer"): ("pumice.model.build", "ModelBuilder"),
        ("pumice.model.findings", "Findings"): (
            "pumice.model.incremental.snapshot_cache",
            "SnapshotCache",
        ),
        ("pumice.model.kept", "KeptColumns"): (
            "pumice.model.incremental.column_cache",
            "ColumnCache",
        ),
        ("pumice.model.node_upkeep", "FoundNodes"): (
            "pumice.model.incremental.initial_nodes",
            "InitialNodes",
        ),
        ("pumice.model.renewal", "KeptCluster"): (
            "pumice.model.incremental.refresh",
            "CachedCluster",
        ),
        ("pumice.model.resources", "MIN"): ("pumice.model.resources", "MIN_RESOURCE"),
        ("pumice.session.answers", "ClassAnswers"): (
            "pumice.session.nodes.class_cache",
            "ClassCache",
        ),
        ("pumice.session.chunks", "Chunks"): ("pumice.solver.task_batches", "TaskBatches"),
        ("pumice.session.chunks", "job_active_count"): (
            "pumice.solver.task_batches",
            "active_count",
        ),
        ("pumice.session.dispatch", "Seated"): ("pumice.session.dispatch", "BoundPlugin"),
        ("pumice.session.questions", "NodeQuestions"): (
            "pumice.session.nodes.queries",
            "NodeQueries",
        ),
        ("pumice.session.shard", "OUTSIDE"): ("pumice.session.shard", "NOT_IN_SHARD"),
        ("pumice.session.voices", "Filter"): ("pumice.session.nodes.voters", "FilterVoter"),
        ("pumice.session.voices", "Scorer"): ("pumice.session.nodes.voters", "ScoreVoter"),
        ("pumice.session.voices", "gather_filters"): (
            "pumice.session.nodes.voters",
            "filter_voters",
        ),
        ("pumice.session.voices", "gather_scorers"): (
            "pumice.session.nodes.voters",
            "score_voters",
        ),
        ("pumice.session.whole_jobs", "WholeJobs"): ("pumice.solver.gang_placement", "GangPlacer"),
        ("pumice.solver", "Scenario"): ("pumice.solver.plan", "Plan"),
        ("pumice.solver.filters", "Filters"): ("pumice.solver.plan_filters", "PlanFilters"),
        ("pumice.solver.filters", "ScenarioFilter"): ("pumice.solver.plan_filters", "PlanFilter"),
        ("pumice.solver.scenario", "Scenario"): ("pumice.solver.plan", "Plan"),
        ("pumice.solver.slots", "Slots"): ("pumice.solver.capacity_bound", "CapacityBound"),
        ("pumice.solver.walk", "VictimWalk"): ("pumice.solver.victim_sequence", "VictimSequence"),
        ("pumice.model.describe", "parse_bool"): (
            "pumice.model.families.volcano.family",
            "parse_bool",
        ),
        ("pumice.model.describe", "revocable_zone"): (
            "pumice.model.families.volcano.family",
            "revocable_zone",
        ),
        ("pumice.model.kai_nodes", "describe_kai_nodes"): (
            "pumice.model.families.kai.nodes",
            "count_kai_gpus",
        ),
        ("pumice.model.kai_nodes", "describe_kai_rows"): (
            "pumice.model.families.kai.nodes",
            "count_kai_gpus_of",
        ),
        ("pumice.model.kai_nodes", "is_kai"): ("pumice.model.families.kai.nodes", "has_kai_jobs"),
        ("pumice.model.kai_task", "describe_kai_task"): (
            "pumice.model.families.kai.tasks",
            "read_kai_task",
        ),
        ("pumice.session.chunks", "has_pending"): ("pumice.model.gang", "has_pending"),
        ("pumice.session.chunks", "is_elastic"): ("pumice.model.gang", "is_elastic"),
        ("pumice.session.chunks", "is_gang_satisfied"): ("pumice.model.gang", "is_gang_satisfied"),
        ("pumice.session.chunks", "is_ready_to_schedule"): (
            "pumice.model.gang",
            "is_ready_to_schedule",
        ),
        ("pumice.session.chunks", "used_count"): ("pumice.model.gang", "used_count"),
        ("pumice.session.chunks", "job_used_count"): ("pumice.model.gang", "used_count"),
        ("pumice.config.advice", "advise"): ("pumice.config.lint", "lint"),
        ("pumice.discovery", "Found"): ("pumice.discovery", "Installed"),
        ("pumice.discovery", "Listed"): ("pumice.discovery", "CatalogEntry"),
        ("pumice.discovery.catalog", "Found"): ("pumice.discovery.catalog", "Installed"),
        ("pumice.discovery.catalog", "Listed"): ("pumice.discovery.catalog", "CatalogEntry"),
        ("pumice.session.questions", "PATIENCE"): ("pumice.session.nodes.best_rows", "FEW_TRIES"),
        ("pumice.shortcuts", "SHORTCUTS"): ("pumice.shortcuts", "FRAMEWORK"),
        ("pumice.solver.filters", "Room"): ("pumice.solver.plan_filters", "FreeGpus"),
        ("pumice.solver.room", "gpu_room"): ("pumice.solver.gpu_counts", "gpus_in"),
        ("pumice.solver.slots", "Asked"): ("pumice.solver.capacity_bound", "Request"),
        ("pumice.solver.slots", "Demand"): ("pumice.solver.capacity_bound", "RequestCounts"),
        ("pumice.solver.slots", "asked_by"): ("pumice.solver.capacity_bound", "request_of"),
        ("pumice.testing.draw", "SHUNNED"): ("pumice.testing.random_clusters", "SOFT_TAINT"),
        ("pumice.testing.photo", "books"): ("pumice.testing.session_state", "accounts"),
        ("pumice.testing.photo", "photograph"): ("pumice.testing.session_state", "session_state"),
        ("pumice.model.nodes", "Held"): ("pumice.model.nodes", "NodeTask"),
        ("pumice.model.nodes", "GpuBooks"): ("pumice.model.nodes", "DeviceCounts"),
        ("pumice.model.gpus", "told_gpu_count"): (
            "pumice.model.gpu.shares",
            "labelled_gpu_count",
        ),
        ("pumice.model.as_found", "note_job"): ("pumice.model.incremental.restore", "record_job"),
        ("pumice.model.as_found", "restore_books"): (
            "pumice.model.incremental.restore",
            "restore_counts",
        ),
        ("pumice.scenarios.outcome", "judge"): ("pumice.scenarios.outcome", "mismatches"),
    },
    attributes={
        ("pumice.model.members", "Members", "sort_anew"): "sort_by_status",
        ("pumice.model.nodes", "NodeTable", "gpu_books"): "device_counts",
        ("pumice.model.nodes", "NodeTable", "reset_gpu_books"): "restore_device_counts",
        ("pumice.model.nodes", "NodeTable", "tells_changes"): "reports_changes",
        ("pumice.session.operations", "Operation", "gpu_books"): "device_counts",
        ("pumice.session.operations", "Operation", "aside"): "returns",
        ("pumice.discovery.catalog", "Catalog", "found"): "installed",
        ("pumice.session.nodes.queries", "NodeQueries", "able"): "feasible",
        ("pumice.session.nodes.queries", "NodeQueries", "asks_every_time"): "has_live_filters",
        ("pumice.session.nodes.queries", "NodeQueries", "hopeful"): "future_scores",
        ("pumice.session.nodes.queries", "NodeQueries", "remembered_ok"): "cached_ok",
        ("pumice.session.order", "Order", "victims_in_turn"): "evicted_in_order",
        ("pumice.testing.outcome", "Outcome", "promised"): "pipelined",
        ("pumice.model.cluster", "Cluster", "found"): "snapshot_cache",
        ("pumice.model.job", "Job", "found"): "initial",
        ("pumice.model.job", "SubJob", "found"): "initial",
        ("pumice.model.task", "Task", "found"): "initial",
        ("pumice.session.dispatch", "Dispatch", "seat"): "position",
        ("pumice.session.session", "Session", "questions"): "queries",
        ("pumice.solver.gang_placement", "GangPlacer", "chunks"): "batches",
        ("pumice.solver.search", "Solver", "chunk"): "batch",
        ("pumice.solver.search", "Solver", "leaves_ghosts"): "leaves_stale_releases",
    },
    keywords={
        ("pumice.solver.search", "Solver", "ghosts"): "stale_releases",
    },
    removed={
        ("pumice.model.as_found", "note_task"): "use pumice.model.incremental.restore.record_tasks",
        ("pumice.manifests.nodes", "NodeWire"): "pumice.manifests.metadata.ObjectDecoder",
        ("pumice.manifests.others", "BudgetWire"): "pumice.manifests.metadata.ObjectDecoder",
        ("pumice.manifests.others", "QuotaWire"): "pumice.manifests.metadata.ObjectDecoder",
        ("pumice.manifests.podwire", "PodWire"): "pumice.manifests.metadata.ObjectDecoder",
        ("pumice.status", "job_reason"): "JobState.reason, or pumice.explain.explain_job",
        ("pumice.session.room", "has_room"): "session.queries.fits_idle or fits_future",
        ("pumice.model.cluster", "Cluster.extra"): "typed fields of Inventory",
        ("pumice.model.facts", "Inventory.extra"): (
            "feature_gates, node_usage, queue_usage, min_node_gpu_memory, scheduler_params"
        ),
        ("pumice.model.facts", "Node.extra"): "max_pods, labels",
        ("pumice.model.facts", "Pod.extra"): "status_override, gpu_groups, created, labels",
        ("pumice.model.facts", "PodGroup.extra"): (
            "priority, preemptibility, created, last_start, stale_since, quota_min_resources"
        ),
        ("pumice.model.facts", "Queue.extra"): "created",
        ("pumice.model.kai_task", "describe_whole_gpus"): "pumice.model.gpu.request",
        ("pumice.plugin", "Plugin.caution"): "cautions; a class that has it is still asked",
        ("pumice.model.pod_sets", "depends_on_time"): "times of pod groups are absolute",
        ("pumice.model.pod_sets", "describe_kai_job"): "pumice.model.families.kai.family.Kai",
        ("pumice.model.pod_sets", "tell_times"): "Job.read_status",
        ("pumice.model.topology", "HyperNodeTree.from_tiers"): "HyperNode objects",
        ("pumice.scenarios.cluster", "build"): "pumice.scenarios.cluster.read",
        ("pumice.scenarios.cluster", "grown"): "pumice.scenarios.cluster.with_objects",
        ("pumice.scenarios.scenario", "Scenario.all_facts"): "Scenario.facts",
    },
)

MOVES: tuple[Moves, ...] = (_V0_2,)
"""In the order of the versions. One whose next minor version is out must be removed."""
