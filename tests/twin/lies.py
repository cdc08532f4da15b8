"""Ways to make a part of a shortcut lie, which the comparison must find."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import pytest

from pumice.model.cursors import RowCursor
from pumice.model.incremental.refresh import CachedCluster
from pumice.model.job import Job
from pumice.model.nodes import NodeTable
from pumice.model.task import Task
from pumice.session.nodes import class_cache
from pumice.session.nodes.class_cache import ClassCache
from pumice.session.nodes.gpu_devices import DeviceFits
from pumice.session.nodes.queries import NodeQueries
from pumice.session.nodes.voters import ScoreVoter
from pumice.session.order import Order
from pumice.session.order_keys import VictimQueues
from pumice.solver import kinds, ranked_jobs, trials
from pumice.solver.queue_branches import Branch, BranchOrder
from pumice.solver.releases import Released
from pumice.solver.steps import Steps
from pumice.solver.task_batches import TaskBatches
from pumice.solver.victim_sequence import VictimSequence
from pumice.verdicts import FitError
from pumice_builtin_actions import solver_action
from pumice_builtin_actions.greedy import pending_work
from pumice_builtin_actions.greedy.queue_lookahead import QueueLookahead
from pumice_builtin_actions.greedy.reachable_nodes import ReachableNodes
from pumice_builtin_actions.greedy.repeated_failure import NoVictims, RepeatedFailure
from pumice_builtin_actions.greedy.victims import Evictable
from pumice_builtin_plugins.fairshare.order import JobQuantities
from pumice_builtin_plugins.fairshare.quantities import NOTHING
from pumice_builtin_plugins.fairshare.reclaim import ReclaimValidator
from pumice_builtin_plugins.kai_predicates.plugin import KaiPredicates
from pumice_builtin_plugins.kube.pod_counts import PodCount
from pumice_builtin_plugins.quota.queue_accounts import QueueAccount
from pumice_builtin_plugins.quota.resource_columns import add_request, subtract_request

Lie = Callable[[pytest.MonkeyPatch], None]


def _stale(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cached answers are not refreshed."""
    _refresh_once(monkeypatch, "refresh", lambda cache: cache.cursor)


def _stale_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scores stay as they were when they were first asked for."""
    _refresh_once(monkeypatch, "refresh_scores", lambda cache: cache.scores_cursor)


def _refresh_once(
    monkeypatch: pytest.MonkeyPatch, method: str, cursor_of: Callable[[ClassCache], RowCursor]
) -> None:
    refresh = getattr(ClassCache, method)

    def once(self: ClassCache, task: Any) -> None:
        if cursor_of(self).version < 0:
            refresh(self, task)

    monkeypatch.setattr(ClassCache, method, once)


def _forgetful_journal(monkeypatch: pytest.MonkeyPatch) -> None:
    """One changed node is not told."""
    told = NodeTable.changed_since
    monkeypatch.setattr(NodeTable, "changed_since", lambda *args: (told(*args) or [])[1:])


def _odd_scalar(monkeypatch: pytest.MonkeyPatch) -> None:
    """The scalar form of a score is another than the vector's."""
    one = ScoreVoter.one
    monkeypatch.setattr(ScoreVoter, "one", lambda *args: one(*args) - 50.0)


def _others_reasons(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reasons of the last task that failed are taken for those of the next."""
    of_table: WeakKeyDictionary[NodeTable, Any] = WeakKeyDictionary()

    def known(answers: ClassCache) -> Any:
        last = of_table.get(answers.nodes)
        return last and (answers.cursor.version, last[1])

    def note(answers: ClassCache, found: Any) -> None:
        if found is not None:
            of_table[answers.nodes] = found

    monkeypatch.setattr(ClassCache, "fit_errors", property(known, note))


def _rejecting_first_node(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first node is said to reject every task for the whole cycle."""
    monkeypatch.setattr(
        KaiPredicates,
        "static_rejections",
        lambda plugin, task: np.arange(len(plugin.session.nodes)) == 0,
    )


def _keys_by_age(monkeypatch: pytest.MonkeyPatch) -> None:
    """By its key, a job that is younger goes first."""
    monkeypatch.setattr(Order, "job_key", lambda order, job: (-job.created, job.uid))


def _queues_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """By its key, the queue with the smaller name goes first."""

    def named(order: BranchOrder, branch: Branch, job: Job | None) -> str | None:
        return None if job is None else branch.queue.name

    monkeypatch.setattr(BranchOrder, "key_with", named)


def _all_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    """All jobs of a queue are taken to ask for the same."""
    monkeypatch.setattr(kinds, "kind_of", lambda session, job: job.queue)


def _worst_node(monkeypatch: pytest.MonkeyPatch) -> None:
    """A single task gets the last of the nodes that it fits on."""

    def worst(queries: NodeQueries, task: Task, *, among_future: bool) -> int:
        rows = np.flatnonzero(queries.feasible(task) & queries.fits_idle(task))
        return int(rows[-1]) if len(rows) else -1

    monkeypatch.setattr(NodeQueries, "best_idle", worst)


def _lost_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of each queue, the job that ranks last is missing."""
    refresh = ranked_jobs.RankedJobs.refresh

    def lossy(jobs: ranked_jobs.RankedJobs) -> dict[str, list[Any]]:
        return {queue: entries[:-1] for queue, entries in refresh(jobs).items()}

    monkeypatch.setattr(ranked_jobs.RankedJobs, "refresh", lossy)


def _refuse_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every job of two tasks is refused as too large."""
    monkeypatch.setattr(solver_action, "fits_empty_cluster", lambda nodes, tasks: len(tasks) < 2)


def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked alone, the first node takes nobody."""
    predicate = NodeQueries.predicate

    def picky(queries: NodeQueries, task: Any, row: int) -> Any:
        return predicate(queries, task, row) if row else FitError.of("not this one")

    monkeypatch.setattr(NodeQueries, "predicate", picky)


def _roles_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tasks of a role are taken to ask the same."""
    monkeypatch.setattr(pending_work, "_mixed_roles", lambda *args: frozenset())


def _all_fail_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    """After one task has failed, the others of its job are taken to fail, whatever has changed."""

    def covers(failure: RepeatedFailure, task: Any, victims: object = None) -> bool:
        return failure._task is not None and failure._task.job is task.job

    monkeypatch.setattr(RepeatedFailure, "covers", covers)


def _all_jobs_fail_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the plugins allow one job no victim, they are taken to allow none to any."""

    def key(refused: NoVictims, task: Task, victims: object) -> int:
        return id(victims)

    def like(refused: NoVictims, task: Task, victims: object, groups: object) -> Any:
        known = refused._refused.get(id(victims))
        return None if known is None else known.attempt

    monkeypatch.setattr(NoVictims, "_key", key)
    monkeypatch.setattr(NoVictims, "like", like)


def _other_queue_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two queues, the one that loses tasks last is taken to lose them first."""
    before = VictimQueues.before
    monkeypatch.setattr(VictimQueues, "before", lambda *args: not before(*args))


def _no_node_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """A class that has found no node is taken to find none for the rest of the cycle."""
    without = WeakKeyDictionary[NodeTable, set[int]]()

    def known(cache: ClassCache) -> int:
        found = id(cache) in without.get(cache.nodes, ())
        return cache.cursor.version if found else -1

    def note(cache: ClassCache, version: int) -> None:
        if version >= 0:
            without.setdefault(cache.nodes, set()).add(id(cache))

    monkeypatch.setattr(ClassCache, "no_node_version", property(known, note))


def _old_victims(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who is gone may be evicted again."""
    monkeypatch.setattr(Evictable, "refreshed", lambda self: self)


def _nothing_promising(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first node never promises anything."""
    mask = ReachableNodes.mask

    def blind(promising: ReachableNodes, *args: Any) -> np.ndarray:
        found = mask(promising, *args).copy()
        if promising._looks_ahead:
            found[:1] = False
        return found

    monkeypatch.setattr(ReachableNodes, "mask", blind)


def _no_hope(monkeypatch: pytest.MonkeyPatch) -> None:
    """A queue that is full is taken to stay full."""
    monkeypatch.setattr(QueueLookahead, "stays_full", lambda *args: True)


def _old_shares(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a queue gets and gives back is not seen in its share."""
    monkeypatch.setattr(
        QueueAccount, "allocate", lambda account, task: add_request(account.allocated, task)
    )
    monkeypatch.setattr(
        QueueAccount, "deallocate", lambda account, task: subtract_request(account.allocated, task)
    )


def _no_amounts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A job of which it is remembered what it asks for is taken to ask for nothing."""
    next_request = JobQuantities.next_request

    def forgotten(quantities: JobQuantities, job: Any) -> Any:
        known = job is not None and job.uid in quantities._requests and quantities._cached
        return NOTHING if known else next_request(quantities, job)

    monkeypatch.setattr(JobQuantities, "next_request", forgotten)


def _old_tallies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pods that come and go are not counted."""
    monkeypatch.setattr(PodCount, "add", lambda *args: None)


def _fixed_by_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """What depends on a node's facts only is taken to be the node's number."""

    def numbered(task: Any, nodes: NodeTable, voters: Any) -> list[Any]:
        found = [voter for voter, scope in voters if scope == "row"]
        numbers = np.arange(len(nodes)) * 50.0
        return [*found, *[numbers for _, scope in voters if scope == "static"]]

    monkeypatch.setattr(class_cache, "_static_scorers", numbered)


def _old_spans(monkeypatch: pytest.MonkeyPatch) -> None:
    """The least and the most are taken to stay what they were."""
    monkeypatch.setattr(ClassCache, "_spans_hold", lambda *args: True)


def _no_slots(monkeypatch: pytest.MonkeyPatch) -> None:
    """There is never room for more than one task."""
    may_fit = Released.may_fit

    def full(released: Released, wanted: Any, *args: Any) -> bool:
        return sum(wanted.values()) < 2 and may_fit(released, wanted, *args)

    monkeypatch.setattr(Released, "may_fit", full)


def _none_returns(monkeypatch: pytest.MonkeyPatch) -> None:
    """No victim is taken to be placed again."""
    monkeypatch.setattr(TaskBatches, "max_restored", lambda *args: 0)


def _all_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every plan that loses a victim is taken to be refused."""
    monkeypatch.setattr(ReclaimValidator, "refuses", lambda *args: True)


def _same_trials(monkeypatch: pytest.MonkeyPatch) -> None:
    """Trials with victims of the same jobs are taken to be the same, however many they are."""
    monkeypatch.setattr(trials, "trial_key", lambda plan, jobs: tuple(jobs))


def _wrong_prefix(monkeypatch: pytest.MonkeyPatch) -> None:
    """One eviction more than those in common is left."""
    undo_after = Steps._undo_after

    def careless(steps: Steps, count: int) -> None:
        undo_after(steps, min(count + steps._shortcuts, len(steps._evicted)))

    monkeypatch.setattr(Steps, "_undo_after", careless)


def _no_larger_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every plan with a few victims has too many."""
    monkeypatch.setattr(ReclaimValidator, "refuses_more", lambda *args: True)


def _short_walk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the victims that are asked for together, the last is lost."""
    look_ahead = VictimSequence.look_ahead

    def lossy(walk: VictimSequence, count: int) -> bool:
        found = look_ahead(walk, count)
        if found and count > 1:
            walk._visits.pop()
        return found

    monkeypatch.setattr(VictimSequence, "look_ahead", lossy)


def _nothing_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The cluster of the last cycle is that of the next."""
    monkeypatch.setattr(CachedCluster, "refresh", lambda *args, **kwargs: True)


def _old_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which nodes have devices for a share is asked once and for all."""
    ask, masks = DeviceFits.mask, dict[Any, Any]()

    def once(fits: DeviceFits, task: Task, *, idle: bool) -> Any:
        key = (id(fits), task.gpu, idle)
        if key not in masks:
            masks[key] = (fits, ask(fits, task, idle=idle).copy())
        return masks[key][1]

    monkeypatch.setattr(DeviceFits, "mask", once)


LIES: dict[str, tuple[Lie, ...]] = {
    "node_cache": (
        _stale,
        _stale_scores,
        _forgetful_journal,
        _odd_scalar,
        _fixed_by_number,
        _old_spans,
        _others_reasons,
        _impatient,
        _rejecting_first_node,
        _no_node_ever,
        _old_devices,
    ),
    "order_keys": (
        _keys_by_age,
        _queues_by_name,
        _lost_ranks,
        _other_queue_first,
        _all_alike,
    ),
    "solver_search": (
        _refuse_large,
        _no_slots,
        _none_returns,
        _all_refused,
        _same_trials,
        _wrong_prefix,
        _short_walk,
        _no_larger_plan,
    ),
    "single_tasks": (_worst_node,),
    "incremental": (_nothing_changed,),
    "victims": (
        _old_victims,
        _nothing_promising,
        _no_hope,
        _roles_alike,
        _all_fail_alike,
        _all_jobs_fail_alike,
    ),
    "queue_books": (
        _old_shares,
        _no_amounts,
    ),
    "pod_counts": (_old_tallies,),
}
"""By shortcut: how to make each part of it lie. The garbage collector cannot."""
OF_SMALL_JOBS = {_worst_node, _queues_by_name}
"""Found in clusters with many jobs of one task: few of the others have any."""
OF_CROWDS = {_all_alike, _no_larger_plan}
"""Found in clusters where many jobs wait, or many may be evicted."""
