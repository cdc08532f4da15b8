"""Asks an HTTP service of the user, by the protocol of Volcano's extenders."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isfinite

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
from pumice_builtin_plugins.extender.breaker import CircuitBreaker
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
    """Ask an HTTP service, by POST and JSON, each question that its options name a path for.

    When the service fails, ``extender.ignorable`` decides what counts as its answer. Asked task by
    task and node by node: that is the protocol.
    """

    class Options(ExtenderOptions):
        """Where the service is, what it is asked, and what happens when it fails."""

    options: Options

    @hookimpl
    def on_session_open(self) -> None:
        options = self.options
        self._dimensions = self.session.nodes.dimensions
        self._client = ExtenderClient(options.prefix, options.timeout) if options.prefix else None
        self._breaker = self._lasting_breaker()
        try:
            self._ask(options.session_open, self._snapshot)
        except ExtenderError as error:
            self._warn(error)
            if not options.ignorable:
                self._client = None  # it is asked nothing in this cycle

    @hookimpl
    def job_enqueueable(self, job: Job) -> int | None:
        try:
            answer = self._ask(self.options.enqueueable, lambda: self._job(job))
        except ExtenderError as error:
            self._warn(error)
            return PERMIT if self.options.ignorable else REJECT
        status = None if answer is None else answer.get("status")
        return int(status) if isinstance(status, int | float) and isfinite(status) else None

    @hookimpl
    def job_enqueued(self, job: Job) -> None:
        try:
            self._ask(self.options.enqueued, lambda: self._job(job))
        except ExtenderError as error:
            self._warn(error)

    @hookimpl
    def overused(self, queue: Queue) -> bool | None:
        return self._verdict(
            self.options.overused, lambda: {"queue": queue_object(queue)}, "overused"
        )

    def _filter_scope(self, task: Task) -> Scope:
        return "cluster" if self.options.predicate else "static"

    @hookimpl(scope=_filter_scope)
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
        known = _CODES.get(code, Code.ERROR) if isinstance(code, int) else Code.ERROR
        return FitError.of(reason or f"code {code}", known, self.name)

    def _score_scope(self, task: Task) -> Scope:
        return "cluster" if self.options.prioritize else "static"

    @hookimpl(scope=_score_scope)
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
            vector = np.array([float(scores.get(name, 0.0)) for name in nodes.names])
            if not np.isfinite(vector).all():
                raise ExtenderError(f"{self.options.prioritize}: a score is not finite")
            return vector
        except (ExtenderError, AttributeError, TypeError, ValueError, OverflowError) as error:
            if self.options.ignorable:
                return None
            raise ExtenderError(f"no scores for {task.key}: {error}") from error

    @hookimpl
    def preemptable(self, preemptor: Task, candidates: Sequence[Task]) -> Sequence[Task] | None:
        return self._victims(self.options.preemptable, preemptor, candidates)

    @hookimpl
    def reclaimable(self, reclaimer: Task, candidates: Sequence[Task]) -> Sequence[Task] | None:
        return self._victims(self.options.reclaimable, reclaimer, candidates)

    @hookimpl
    def on_allocate(self, task: Task) -> str | None:
        return self._event(self.options.allocate, task)

    @hookimpl
    def on_deallocate(self, task: Task) -> None:
        self._event(self.options.deallocate, task)

    @hookimpl
    def job_ready(self, job: Job) -> bool | None:
        return self._verdict(self.options.ready, lambda: self._job(job), "status")

    @hookimpl
    def on_session_close(self) -> None:
        try:
            self._ask(self.options.session_close, dict)
        except ExtenderError as error:
            self._warn(error)
        if self._client is not None:
            self._client.close()

    # -- helpers

    def _lasting_breaker(self) -> CircuitBreaker:
        """The breaker of earlier cycles, unless the options have changed."""
        fresh = CircuitBreaker(self.options.max_failures, self.options.retry_after)
        known: CircuitBreaker = self.session.memory.setdefault(self.name, fresh)
        if (known.limit, known.pause) != (fresh.limit, fresh.pause):
            known = self.session.memory[self.name] = fresh
        return known

    def _snapshot(self) -> Object:
        session = self.session
        names = enumerate(session.nodes.names)
        return {
            "jobs": {job.uid: job_object(job, self._dimensions) for job in session.jobs.values()},
            "nodes": {name: node_object(session.nodes, row) for row, name in names},
            "queues": {name: queue_object(queue) for name, queue in session.queues.items()},
        }

    def _ask(self, verb: str, body: Callable[[], Object]) -> Object | None:
        """The service's answer; None: the options name no path for the question.

        :raises ExtenderError: it failed, or it has failed too often and is not asked now.
        """
        if not verb or self._client is None:
            return None
        breaker, now = self._breaker, self.session.now
        if breaker.is_open(now):
            wait = f"{breaker.retry_at - now:g}s"
            raise ExtenderError(
                f"not asked for {wait} after {breaker.failures} failures in a row: {breaker.last}"
            )
        try:
            answer = self._client.post(verb, body())
        except ExtenderError as error:
            if breaker.failed(now, str(error)):
                self._client.close()
                pause = self.options.retry_after
                logger.warning("{}: {}; it is not asked for {:g}s", self.name, error, pause)
            raise
        breaker.succeeded()
        return answer

    def _warn(self, error: ExtenderError) -> None:
        logger.warning("{}: {}", self.name, error)

    def _concerns(self, task: Task) -> bool:
        managed = self.options.managed
        return not managed or any(
            amounts.get(name) > 0
            for container in (*task.pod.containers, *task.pod.init_containers)
            for amounts in (container.requests, container.limits)
            for name in managed
        )

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
        except ExtenderError as error:  # as in Volcano a veto, ignorable or not
            self._warn(error)
            return []
        if answer is None or not answer.get("status"):
            return None
        by_uid = {task.uid: task for task in candidates}
        victims = answer.get("victims") or []
        if not isinstance(victims, list):
            self._warn(ExtenderError(f"{verb}: its victims are no list"))
            return []
        uids = [item.get("UID") if isinstance(item, dict) else item for item in victims]
        return [by_uid[uid] for uid in uids if isinstance(uid, str) and uid in by_uid]

    def _verdict(self, verb: str, body: Callable[[], Object], key: str) -> bool | None:
        try:
            answer = self._ask(verb, body)
        except ExtenderError as error:
            self._warn(error)
            # Volcano answers both questions alike: a failure that is not ignorable makes queues
            # overused but jobs ready.
            return not self.options.ignorable
        return None if answer is None else bool(answer.get(key))

    def _job(self, job: Job) -> Object:
        return {"job": job_object(job, self._dimensions)}

    def _event(self, verb: str, task: Task) -> str | None:
        """Why the service refuses the event; None: it does not, or the refusal is ignorable."""
        if not verb or not self._concerns(task):
            return None
        try:
            answer = self._ask(verb, lambda: {"task": task_object(task)}) or {}
            refusal = str(answer.get("errorMessage") or "")
        except ExtenderError as error:
            refusal = str(error)
        if not refusal:
            return None
        logger.warning("{}: {}: {}", self.name, task.key, refusal)
        return None if self.options.ignorable else refusal
