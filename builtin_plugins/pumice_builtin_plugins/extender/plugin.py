"""Lets an HTTP service of one's own answer for a plugin, as Volcano's extenders do."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from loguru import logger

from pumice import (
    PERMIT,
    REJECT,
    Code,
    FitError,
    Job,
    NodeHandle,
    NodeView,
    Plugin,
    Queue,
    Scope,
    Task,
    hookimpl,
)
from pumice_builtin_plugins.extender.http import ExtenderClient, ExtenderError
from pumice_builtin_plugins.extender.options import ExtenderOptions
from pumice_builtin_plugins.extender.wire import (
    Object,
    job_object,
    node_object,
    queue_object,
    task_object,
)

_CODES = {int(code): code for code in Code if code is not Code.OK}


class Extender(Plugin):
    """Ask an HTTP service, by POST and JSON, whatever its options name a path for.

    When the service fails, ``extender.ignorable`` decides what its answer counts as. Asked task
    by task and node by node: that is what the service takes.
    """

    class Options(ExtenderOptions):
        """Where the service is, what it is asked, and whether it matters when it fails."""

    options: Options

    @hookimpl
    def on_session_open(self) -> None:
        options = self.options
        self._dimensions = self.session.nodes.dimensions
        self._client = ExtenderClient(options.prefix, options.timeout) if options.prefix else None
        try:
            self._ask(options.session_open, self._everything)
        except ExtenderError as error:
            self._tell(error)
            if not options.ignorable:  # then it is not asked anything in this cycle
                self._client = None

    def _everything(self) -> Object:
        session = self.session
        names = enumerate(session.nodes.names)
        return {
            "jobs": {job.uid: job_object(job, self._dimensions) for job in session.jobs.values()},
            "nodes": {name: node_object(session.nodes, row) for row, name in names},
            "queues": {name: queue_object(queue) for name, queue in session.queues.items()},
        }

    @hookimpl
    def on_session_close(self) -> None:
        try:
            self._ask(self.options.session_close, dict)
        except ExtenderError as error:
            self._tell(error)
        if self._client is not None:
            self._client.close()

    def _ask(self, verb: str, body: Callable[[], Object]) -> Object | None:
        """The service's answer; None where it is not to be asked this."""
        return self._client.post(verb, body()) if verb and self._client is not None else None

    def _tell(self, error: ExtenderError) -> None:
        logger.warning("{}: {}", self.name, error)

    def _concerns(self, task: Task) -> bool:
        managed = self.options.managed
        return not managed or any(
            amounts.get(name) > 0
            for container in (*task.pod.containers, *task.pod.init_containers)
            for amounts in (container.requests, container.limits)
            for name in managed
        )

    # -- nodes

    def _filters(self, task: Task) -> Scope:
        return "cluster" if self.options.predicate else "static"

    @hookimpl(scope=_filters)
    def predicate(self, task: Task, node: NodeHandle, job: Job | None) -> FitError | None:
        if not self._concerns(task):
            return None
        try:
            answer = self._ask(
                self.options.predicate,
                lambda: {"task": task_object(task), "node": node_object(node.table, node.row)},
            )
        except ExtenderError as error:
            if self.options.ignorable:
                return None
            return FitError.of(str(error), Code.ERROR, self.name)
        if answer is None:
            return None
        reason, code = str(answer.get("status") or ""), answer.get("code") or 0
        if not reason and not code:
            return None
        meant = _CODES.get(code, Code.ERROR) if isinstance(code, int) else Code.ERROR
        return FitError.of(reason or f"code {code}", meant, self.name)

    def _scores(self, task: Task) -> Scope:
        return "cluster" if self.options.prioritize else "static"

    @hookimpl(scope=_scores)
    def batch_node_order(self, task: Task, nodes: NodeView) -> np.ndarray | None:
        if not self._concerns(task):
            return None
        try:
            answer = self._ask(
                self.options.prioritize,
                lambda: {
                    "task": task_object(task),
                    "nodes": [node_object(nodes.table, row) for row in nodes.rows.tolist()],
                },
            )
            if answer is None:
                return None
            if answer.get("errorMessage"):
                raise ExtenderError(f"{self.options.prioritize}: {answer['errorMessage']}")
            scores = answer.get("nodeScore") or {}
            return np.array([float(scores.get(name, 0.0)) for name in nodes.names])
        except (ExtenderError, AttributeError, TypeError, ValueError) as error:
            if self.options.ignorable:
                return None
            raise ExtenderError(f"no scores for {task.key}: {error}") from error

    # -- victims

    @hookimpl
    def preemptable(self, preemptor: Task, candidates: Sequence[Task]) -> Sequence[Task] | None:
        return self._victims(self.options.preemptable, preemptor, candidates)

    @hookimpl
    def reclaimable(self, reclaimer: Task, candidates: Sequence[Task]) -> Sequence[Task] | None:
        return self._victims(self.options.reclaimable, reclaimer, candidates)

    def _victims(
        self, verb: str, evictor: Task, candidates: Sequence[Task]
    ) -> Sequence[Task] | None:
        if not self._concerns(evictor):
            return None
        try:
            answer = self._ask(
                verb,
                lambda: {
                    "evictor": task_object(evictor),
                    "evictees": [task_object(task) for task in candidates],
                },
            )
        except ExtenderError as error:  # a veto, ignorable or not
            self._tell(error)
            return []
        if answer is None or not answer.get("status"):
            return None
        by_uid = {task.uid: task for task in candidates}
        victims = answer.get("victims") or []
        uids = [item.get("UID") if isinstance(item, dict) else item for item in victims]
        return [by_uid[uid] for uid in uids if isinstance(uid, str) and uid in by_uid]

    # -- jobs and queues

    @hookimpl
    def overused(self, queue: Queue) -> bool | None:
        return self._verdict(
            self.options.overused, lambda: {"queue": queue_object(queue)}, "overused"
        )

    @hookimpl
    def job_ready(self, job: Job) -> bool | None:
        return self._verdict(self.options.ready, lambda: self._job(job), "status")

    def _verdict(self, verb: str, body: Callable[[], Object], key: str) -> bool | None:
        try:
            answer = self._ask(verb, body)
        except ExtenderError as error:
            self._tell(error)
            # Upstream has it this way round for both questions, so that a failure that matters
            # stops queues but makes jobs ready.
            return not self.options.ignorable
        return None if answer is None else bool(answer.get(key))

    @hookimpl
    def job_enqueueable(self, job: Job) -> int | None:
        try:
            answer = self._ask(self.options.enqueueable, lambda: self._job(job))
        except ExtenderError as error:
            self._tell(error)
            return PERMIT if self.options.ignorable else REJECT
        status = None if answer is None else answer.get("status")
        return int(status) if isinstance(status, int | float) else None

    @hookimpl
    def job_enqueued(self, job: Job) -> None:
        try:
            self._ask(self.options.enqueued, lambda: self._job(job))
        except ExtenderError as error:
            self._tell(error)

    def _job(self, job: Job) -> Object:
        return {"job": job_object(job, self._dimensions)}

    # -- what happens

    @hookimpl
    def on_allocate(self, task: Task) -> str | None:
        return self._event(self.options.allocate, task)

    @hookimpl
    def on_deallocate(self, task: Task) -> None:
        self._event(self.options.deallocate, task)

    def _event(self, verb: str, task: Task) -> str | None:
        """What the service objects to; nothing where that does not matter."""
        if not verb or not self._concerns(task):
            return None
        try:
            answer = self._ask(verb, lambda: {"task": task_object(task)}) or {}
            objection = str(answer.get("errorMessage") or "")
        except ExtenderError as error:
            objection = str(error)
        if not objection:
            return None
        logger.warning("{}: {}: {}", self.name, task.key, objection)
        return None if self.options.ignorable else objection
