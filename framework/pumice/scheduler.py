"""The cycle: snapshot, session, actions, close, apply."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from time import perf_counter
from typing import TYPE_CHECKING, Any

from pumice import status
from pumice._gc import collect_if_due, gc_paused
from pumice.config import Policy, PolicyHolder
from pumice.deadline import Deadline
from pumice.decisions import Decisions
from pumice.faults import FaultHistory
from pumice.log import logger
from pumice.model.facts import EvictionLog
from pumice.model.incremental.keeper import ClusterKeeper
from pumice.model.invariants import check
from pumice.session.containment import run_action
from pumice.session.dispatch import prepare
from pumice.session.evictions import honour_reservations
from pumice.session.session import Session
from pumice.telemetry import TelemetryBackend, queue_usage

if TYPE_CHECKING:
    from pumice.action import Action
    from pumice.backends import Backend
    from pumice.ledger import Ledger


class Scheduler:
    """Runs cycles of one policy on one backend."""

    def __init__(
        self,
        backend: Backend,
        policy: Policy | PolicyHolder,
        *,
        ledger: Ledger | None = None,
        verify: bool = False,
        fresh: bool = False,
    ) -> None:
        self.backend = backend
        """Where the facts come from and the decisions go."""
        self.holder = policy if isinstance(policy, PolicyHolder) else PolicyHolder(lambda: policy)
        """Holds the policy and replaces it on a reload."""
        self.ledger = ledger
        """What records the cycles, if anything does."""
        self.verify = verify
        """Check the accounts after every action, and every cached answer."""
        self.keeper = ClusterKeeper(verify=verify)
        """Makes each cycle's cluster from that of the last one, unless ``fresh``."""
        self._fresh = fresh
        self.cycle = 0
        """The number of the last cycle that was opened."""
        self._eviction_log = EvictionLog()
        self.memory: dict[str, Any] = {}
        """What plugins and actions store for later cycles, by name."""
        self.faults = FaultHistory()
        """Which plugins and actions had faults in the last cycles."""
        self.set_aside: frozenset[str] = frozenset()
        """The plugins that had too many faults; a reload of the policy gives them another try."""
        self._last_policy = self.policy
        prepare(self.policy)

    @property
    def policy(self) -> Policy:
        """The policy in force; a reload takes effect with the next cycle."""
        return self.holder.policy

    def run_once(self, actions: Sequence[str] | None = None) -> Decisions:
        """One cycle. ``actions`` limits it to these of the policy's actions."""
        return self.run_session(actions).decisions

    def run_session(self, actions: Sequence[str] | None = None) -> Session:
        """As :meth:`run_once`; answers the session, to be read until the next one is opened."""
        with self._gc_paused():
            session = self.open_session()
            for action in self.holder.actions:
                if session.is_over:
                    break
                if actions is None or action.name in actions:
                    self.run_action(session, action)
            self.finish(session)
        self._collect_garbage()
        return session

    def open_session(self) -> Session:
        """Begin a cycle.

        The cluster of the last finished session becomes that of the new one, so that only its
        decisions may be used from now on. An unfinished session stays valid.
        """
        self.cycle += 1
        if self.policy is not self._last_policy:
            self._last_policy, self.set_aside = self.policy, frozenset()
            self.faults = FaultHistory()
        policy = self.policy.excluding(self.set_aside)
        self.keeper.fresh = self._fresh or not self.policy.uses("incremental")
        with self._gc_paused():
            inventory = self.backend.snapshot()
            cluster = self.keeper.cluster(
                inventory,
                now=self.backend.now(),
                scheduler_names=self.policy.scheduler.scheduler_names,
            )
            log = inventory.eviction_log
            deadline = Deadline.of(policy)
            if self.ledger is not None:
                self.ledger.begin(self.cycle)
            with _watched(deadline):
                session = Session(
                    cluster,
                    policy,
                    uid=f"cycle-{self.cycle}",
                    ledger=self.ledger,
                    verify=self.verify,
                    memory=self.memory,
                    eviction_log=self._eviction_log if log is None else log,
                    deadline=deadline,
                    gives_reasons=getattr(self.backend, "reads_reasons", True),
                )
                session.current_action = "reservations"
                honour_reservations(session)
            session.decisions.set_aside = tuple(sorted(self.set_aside))
            return session

    def run_action(self, session: Session, action: Action) -> None:
        """Run one action on an open session."""
        session.current_action = action.name
        if self.ledger is not None:
            self.ledger.record("action", name=action.name)
        logger.debug("cycle {} action {}", self.cycle, action.name)
        started = perf_counter()
        with self._gc_paused(), _watched(session._deadline):
            run_action(session, action)
        seconds = session.telemetry.actions
        seconds[action.name] = seconds.get(action.name, 0.0) + perf_counter() - started
        if session._fact_check is not None:
            session._fact_check.compare(f"the action {action.name} ran")
        if self.verify:
            check(session)

    def finish(self, session: Session) -> Decisions:
        """End a cycle. The session may be read until the next one is opened."""
        if session._deadline is not None:
            session._deadline.extend()
        with self._gc_paused(), _watched(session._deadline):
            status.close(session)
        session.decisions.eviction_log = self._eviction_log = session.evictions.log()
        self.backend.apply(session.decisions)
        if isinstance(self.backend, TelemetryBackend):
            session.telemetry.queues = queue_usage(session)
            self.backend.measured(session.telemetry)
        self.keeper.take_back(session.cluster)
        decisions = session.decisions
        for fault in self.faults.add_cycle(decisions.faults):
            logger.error("{}", fault)
        self._set_aside_faulty()
        logger.info(
            "cycle {}: {} bound, {} evicted, {} pipelined",
            self.cycle,
            len(decisions.binds),
            len(decisions.evictions),
            len(decisions.pipelined),
        )
        self._collect_garbage()
        return decisions

    def _set_aside_faulty(self) -> None:
        """Set plugins aside that had faults in too many cycles in a row."""
        settings = self.policy.scheduler
        for entry in self.policy.plugins if settings.set_aside_after else ():
            if self.faults.streaks.get(entry.name, 0) < settings.set_aside_after:
                continue
            if entry.name in self.set_aside or (entry.guards and not settings.set_aside_guards):
                continue
            self.set_aside |= {entry.name}
            logger.error(
                "plugin {} ({}) had faults in {} cycles in a row: it is set aside until the "
                "policy is loaded again",
                entry.name,
                entry.source.label,
                settings.set_aside_after,
            )

    def _gc_paused(self) -> AbstractContextManager[None]:
        return gc_paused() if self.policy.uses("gc_pause") else nullcontext()

    def _collect_garbage(self) -> None:
        """Collect what earlier cycles left, unless the collector is paused or there is little."""
        if self.cycle > 1 and self.policy.uses("gc_pause"):
            collect_if_due()

    def close(self) -> None:
        """Let the actions release what they hold."""
        self.holder.close()


def _watched(deadline: Deadline | None) -> AbstractContextManager[None]:
    return nullcontext() if deadline is None else deadline.watch()
