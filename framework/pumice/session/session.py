"""The session: what actions and plugins work with during one cycle."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pumice.combine import Compare, fail, plugin_error
from pumice.decisions import Bind, Decisions, Eviction
from pumice.errors import DeadlinePassed, PluginError
from pumice.faults import FaultLog
from pumice.log import announce, logger
from pumice.model.facts import EvictionLog, Queue
from pumice.model.job import Job, SubJob
from pumice.model.task import Task, TaskStatus
from pumice.model.topology import ROOT
from pumice.session.containment import Turn, make_plugins, open_plugins
from pumice.session.dispatch import Dispatch
from pumice.session.evictions import EvictionGuard
from pumice.session.fact_check import FactCheck
from pumice.session.nodes.queries import NodeQueries
from pumice.session.order import Order
from pumice.session.shard import Shard
from pumice.session.statement import Statement
from pumice.status import eviction_reason
from pumice.telemetry import CycleTelemetry
from pumice.verdicts import BindContext, Refusal

if TYPE_CHECKING:
    from pumice.config import Policy
    from pumice.deadline import Deadline
    from pumice.ledger import Ledger
    from pumice.model.cluster import Cluster
    from pumice.model.nodes import NodeTable
    from pumice.model.topology import HyperNodeTree
NOTES = "pumice.notes"
"""The name in ``job.state`` under which :meth:`Session.note` stores."""
_BIND_POINTS = ("setup_bind_context", "pre_bind", "bind_request_mutate")
_BINDING = TaskStatus.BINDING
_PENDING = TaskStatus.PENDING


class Session:
    """One cycle: the cluster, the compiled extension points, and the decisions so far.

    ``ask`` has every extension point as one function, ``order`` the orders of queues, jobs and
    tasks, ``queries`` which nodes can take a task; :meth:`statement` begins a transaction.
    """

    def __init__(
        self,
        cluster: Cluster,
        policy: Policy,
        *,
        uid: str = "cycle-1",
        ledger: Ledger | None = None,
        verify: bool = False,
        memory: dict[str, Any] | None = None,
        eviction_log: EvictionLog | None = None,
        deadline: Deadline | None = None,
        gives_reasons: bool = True,
    ) -> None:
        self.cluster = cluster
        """The cluster of the cycle."""
        self.policy = policy
        """The policy in force."""
        self.uid = uid
        """The name of the cycle."""
        self.ledger = ledger
        """What records the cycle, if anything does."""
        self.gives_reasons = gives_reasons
        """Whether the decisions say why jobs wait; a backend may have no reader for it."""
        self.records_reasons = gives_reasons or ledger is not None
        """Whether anybody reads why the actions do nothing for a job."""
        self.reads_fit_errors = self.records_reasons or any(
            entry.cls.reads_fit_errors for entry in policy.actions
        )
        """Whether anybody reads why no node takes a task."""
        self.now = cluster.now
        """Epoch seconds of the cycle."""
        self.nodes: NodeTable = cluster.nodes
        """The node table."""
        self.jobs: dict[str, Job] = cluster.jobs
        """The jobs by uid."""
        self.queues: dict[str, Queue] = cluster.queues
        """The queues by name."""
        self.hyper_nodes: HyperNodeTree = cluster.hyper_nodes
        """The tree of hypernodes."""
        self.decisions = Decisions()
        """The decisions so far."""
        self.current_action = ""
        """The name of the action that runs."""
        self.plugin_errors: list[PluginError] = []
        """What plugins and actions did wrong in this cycle, each fault once."""
        self.pipelined: dict[str, Task] = {}
        """By uid: the tasks that statements pipelined, in that order; some may be undone since."""
        self._fault_log = FaultLog(self.decisions.faults)
        self.telemetry = CycleTelemetry()
        """What is measured; the queues only for a backend that asks for it."""
        self.left_out: dict[str, PluginError] = {}
        """Plugins that could not be opened and take no part in the cycle, with the reason."""
        self._deadline = deadline
        """When the cycle must end; None: it may take as long as it likes."""
        self._deadline_reported = False
        """Whether a fault says where the cycle was when its deadline passed."""
        self._is_broken = False
        """Whether what an action did could not be undone."""
        self.refused_binds: dict[str, str] = {}
        """By task uid: why a plugin refused its bind."""
        self.queue_notes: dict[tuple[str, str], tuple[str, str]] = {}
        """By queue and action: the reason code and text why the action skipped the queue."""
        self.state: dict[str, Any] = {}
        """What actions store for later actions of the cycle, by name."""
        self.memory: dict[str, Any] = {} if memory is None else memory
        """What plugins and actions store for later cycles, by their name; the scheduler owns it."""
        self.admits_jobs = any(entry.cls.admits for entry in policy.actions)
        """Whether the policy has an action that admits pending jobs into their queues."""
        self._open_statements: list[Statement] = []
        self._hyper_rows: dict[str, np.ndarray] = {}
        self.shard = Shard.of(cluster, policy.scheduler)
        """The nodes that this scheduler is responsible for."""
        self._fact_check = FactCheck(cluster.inventory) if verify else None
        """With ``--check``: finds who changes facts."""
        tiers = make_plugins(self)
        self.plugins = {entry.name: plugin for tier in tiers for entry, plugin in tier}
        """The plugin instances by name."""
        self.ask = Dispatch(
            tiers,
            on_error=self._abstained,
            ledger=ledger,
            points=policy.points,
            cluster=cluster,
            not_open=self.left_out,
            fact_check=self._fact_check,
        )
        """Every extension point as one function."""
        self.order: Order = self._orders()
        """Which queue, job or task goes first."""
        self.nodes.reports_changes = self.uses("node_cache")
        if open_plugins(self):
            self.ask.compile(tiers, self.left_out)
            self.order = self._orders()
        if self._fact_check is not None:
            self._fact_check.compare("the plugins were opened")
        self.evictions = EvictionGuard(self, eviction_log or EvictionLog())
        """What evictions must satisfy, and what earlier ones reserved."""
        cluster.snapshot_cache.close()
        # After on_session_open, because a plugin's scope may depend on what it did there.
        self.queries = NodeQueries(self, verify=verify)
        """Which nodes can take a task, and which is best."""
        self._is_logged = announce(f"{uid} begins")
        """Whether anybody gets a line for every bind."""
        self._prepares_binds = ledger is not None or any(map(self.ask.has, _BIND_POINTS))
        """Whether anybody prepares binds, or records who does."""
        self._mutates_binds = ledger is not None or self.ask.has("bind_request_mutate")
        self._pre_bind = [impl for tier in self.ask.voters["pre_bind"] for impl, _ in tier]
        self._pre_bind_rollback = {
            impl.plugin: impl for tier in self.ask.voters["pre_bind_rollback"] for impl, _ in tier
        }

    def _orders(self) -> Order:
        return Order(
            self.ask,
            on_error=self._abstained,
            journal=self.cluster.job_journal,
            by_keys=self.uses("order_keys"),
        )

    # -- what the policy says

    def runs(self, action: str) -> bool:
        """Whether the policy lists an action."""
        return any(entry.name == action for entry in self.policy.actions)

    def provides(self, feature: str) -> bool:
        """Whether a plugin of the policy declares that it ``provides`` something."""
        return self.policy.provides(feature)

    def uses(self, shortcut: str) -> bool:
        """Whether a shortcut is taken; the policy may do without (see :mod:`pumice.shortcuts`)."""
        return self.policy.uses(shortcut)

    @property
    def is_over(self) -> bool:
        """Whether no action may run any more: the deadline has passed, or the state is broken."""
        return self._is_broken or (self._deadline is not None and self._deadline.passed)

    # -- jobs and sub-jobs

    def queue_of(self, job: Job) -> Queue:
        """The queue of a job."""
        return self.queues[job.queue]

    def sub_job_ready(self, sub_job: SubJob) -> bool:
        """Whether a sub-job is ready; without a sub-group policy, whether its job is."""
        if sub_job.job.has_sub_job_policy:
            return self.ask.sub_job_ready(sub_job)
        return self.ask.job_ready(sub_job.job)

    def sub_job_pipelined(self, sub_job: SubJob) -> bool:
        """As :meth:`sub_job_ready`, tasks that wait for releasing resources included."""
        if sub_job.job.has_sub_job_policy:
            return self.ask.sub_job_pipelined(sub_job)
        return self.ask.job_pipelined(sub_job.job)

    # -- changing

    def statement(self) -> Statement:
        """A new transaction."""
        return Statement(self)

    def turn(self, job: Job | None = None) -> Turn:
        """A block that decides about one job: whatever is raised ends the block and no more.

        The statements opened in the block are discarded, and the job's reason names the plugin or
        action. ``job`` is None for a decision about no job in particular. The block may be entered
        again for another ``job``, which is set on it.
        """
        return Turn(self, job)

    def report(self, error: PluginError) -> None:
        """Record a fault that is not raised; raise it where the policy says so."""
        if self._fault_log.add(error):
            self.plugin_errors.append(error)
            if self.ledger is not None:
                self.ledger.record(
                    "plugin_error", point=error.point, plugin=error.plugin, text=str(error)
                )
            logger.debug("{}", error)
        if isinstance(error.__cause__, DeadlinePassed):
            self._deadline_reported = True
        if self.policy.scheduler.on_plugin_error == "raise":
            raise error

    def _abstained(self, error: PluginError) -> None:
        """Report a fault in an answer that the combination rule can do without."""
        self.report(error)
        point = self.policy.points.get(error.point)
        if self._deadline is not None and point is not None and isinstance(point.rule, Compare):
            self._deadline.check()  # an undo, where other rules report, must not be cut short

    def _leave_out(self, error: PluginError) -> None:
        """A plugin could not be opened: it takes no part in the cycle.

        What it would have been asked to allow is refused, so that nothing is decided that it would
        have forbidden; its orders and scores are left out.
        """
        self.left_out[error.plugin] = error
        self.report(error)

    def note(self, job: Job, code: str, text: str) -> None:
        """Record why the action that runs does nothing for a job: a reason code and a sentence.

        ``pumice run`` and ``pumice explain`` report it if the job waits at the end of the cycle.
        """
        if not self.records_reasons:
            return
        notes: dict[tuple[str, str], str] = job.state.setdefault(NOTES, {})
        if (self.current_action, code) not in notes:
            notes[self.current_action, code] = text
            if self.ledger is not None:
                self.ledger.note(job, self.current_action, code, text)

    def note_queue(self, queue: Queue, code: str, text: str) -> None:
        """Record why the action that runs skips a queue, for all its jobs that wait."""
        self.queue_notes[queue.name, self.current_action] = (code, text)

    def undone(self, objection: object) -> None:
        """Take what plugins answered to an undo, which they cannot refuse; errors are reported."""
        if isinstance(objection, PluginError):
            self.report(objection)

    def decide_eviction(self, task: Task, row: int, reason: str, claimant: Job | None) -> None:
        """Record an eviction as a decision of the cycle; the task is Releasing already."""
        gains = claimant.uid if claimant is not None else ""
        action = self.current_action
        reason = eviction_reason(task, claimant, reason, action)
        self.decisions.evictions.append(
            Eviction(
                task.key,
                task.uid,
                self.nodes.names[row],
                action,
                gains,
                reason,
                task.job.uid if task.job is not None else "",
            )
        )
        logger.info("evict {} from {} for {}: {}", task.key, task.node, gains or "no job", reason)

    def decide_bind(self, task: Task, row: int) -> str | None:
        """Record a bind as a decision of the cycle; answers why not, if a plugin refuses."""
        assert task.job is not None
        node = self.nodes.names[row]
        annotations: dict[str, str] = {}
        if self._prepares_binds:
            context = BindContext(task, node, annotations)
            refusal = self._refusal_of_bind(context, task.job)
            if refusal is not None:
                self.refused_binds[task.uid] = refusal
                logger.warning("bind of {} to {} refused: {}", task.key, node, refusal)
                return refusal
            annotations = context.annotations
        self.nodes.recount(row, task, _BINDING)
        task.job.set_status(task, _BINDING)
        self.decisions.binds.append(
            Bind(task.key, task.uid, node, annotations, task.gpu_groups, task.job.uid)
        )
        if self.ledger is not None and self.ledger.statements:
            self.ledger.record("bind", task=task.key, node=node)
        if self._is_logged:
            logger.info("bind {} to {}", task.key, node)
        return None

    def _refusal_of_bind(self, context: BindContext, job: Job) -> str | None:
        """Let the plugins prepare a bind; why one refuses or fails, which the job is told."""
        try:
            refusal = self._prepare_bind(context)
        except PluginError as error:
            self.report(error)
            job.plugin_errors.append(str(error))
            return str(error)
        if refusal is not None:
            text = f"the bind of {context.task.key} to {context.node} was refused: {refusal}"
            job.refusals.append(Refusal("BindRefused", text))
        return refusal

    def _prepare_bind(self, context: BindContext) -> str | None:
        """Let the plugins prepare a bind; if one refuses, those before it undo theirs."""
        self.ask.setup_bind_context(context.task, context)
        prepared: list[str] = []
        try:
            for impl in self._pre_bind:
                try:
                    refusal = impl.fn(context)
                    if refusal is not None:
                        refusal = impl.check(refusal, (context,))
                except BaseException as exc:
                    fail("pre_bind", impl, exc, (context,))
                if refusal is not None:
                    self._unprepare_bind(context, prepared)
                    return f"{impl.plugin}: {refusal}"
                prepared.append(impl.plugin)
            if self._mutates_binds:
                added = self.ask.bind_request_mutate(context.task, context.node)
                context.annotations.update(added)
        except PluginError:
            self._unprepare_bind(context, prepared)
            raise
        return None

    def _unprepare_bind(self, context: BindContext, prepared: list[str]) -> None:
        for plugin in reversed(prepared):
            impl = self._pre_bind_rollback.get(plugin)
            if impl is not None:
                try:
                    impl.fn(context)
                except BaseException as exc:
                    self.report(plugin_error("pre_bind_rollback", impl, exc, (context,)))

    def unplace(self, task: Task) -> None:
        """Undo a placement that an earlier statement kept."""
        assert task.job is not None
        self.nodes.remove(self.nodes.row_of[task.node], task)
        task.job.set_status(task, _PENDING)
        self.undone(self.ask.on_deallocate(task))
        task.node, task.eviction_occurred = "", False

    # -- hypernodes

    def rows_of(self, hyper_node: str) -> np.ndarray | None:
        """The rows of a hypernode's nodes; None for all nodes of the session."""
        if hyper_node == ROOT:
            return None
        rows = self._hyper_rows.get(hyper_node)
        if rows is None:
            row_of = self.nodes.row_of
            rows = self._hyper_rows[hyper_node] = np.array(
                sorted(
                    row_of[n] for n in self.hyper_nodes.nodes.get(hyper_node, ()) if n in row_of
                ),
                dtype=np.intp,
            )
        return rows

    # -- fit errors of earlier actions

    def resolvable_rows(self, task: Task) -> np.ndarray | None:
        """The rows whose recorded fit error an eviction may resolve; None: all rows."""
        errors = task.job.fit_errors.get(task.uid) if task.job is not None else None
        if errors is None or errors.is_resolvable:
            return None
        return np.flatnonzero(~errors.unresolvable(len(self.nodes)))
