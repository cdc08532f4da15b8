"""The cycle: snapshot, session, actions, close, apply."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from pumice import status
from pumice._gc import gc_paused
from pumice.config import Policy, PolicyHolder
from pumice.decisions import Decisions
from pumice.log import logger
from pumice.model.facts import EvictionLog
from pumice.model.incremental.keeper import ClusterKeeper
from pumice.model.invariants import check
from pumice.session.evictions import honour_reservations
from pumice.session.session import Session

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

    @property
    def policy(self) -> Policy:
        """The policy in force; a reload takes effect with the next cycle."""
        return self.holder.policy

    def run_once(self, actions: Sequence[str] | None = None) -> Decisions:
        """One cycle. ``actions`` limits it to these of the policy's actions."""
        with self._gc_paused():
            session = self.open_session()
            for action in self.holder.actions:
                if actions is None or action.name in actions:
                    self.run_action(session, action)
            return self.finish(session)

    def open_session(self) -> Session:
        """Begin a cycle.

        The cluster of the last finished session becomes that of the new one, so that only its
        decisions may be used from now on. An unfinished session stays valid.
        """
        self.cycle += 1
        self.keeper.fresh = self._fresh or not self.policy.uses("incremental")
        with self._gc_paused():
            inventory = self.backend.snapshot()
            cluster = self.keeper.cluster(
                inventory,
                now=self.backend.now(),
                scheduler_names=self.policy.scheduler.scheduler_names,
            )
            log = inventory.eviction_log
            session = Session(
                cluster,
                self.policy,
                uid=f"cycle-{self.cycle}",
                ledger=self.ledger,
                verify=self.verify,
                memory=self.memory,
                eviction_log=self._eviction_log if log is None else log,
            )
            session.current_action = "reservations"
            honour_reservations(session)
            return session

    def run_action(self, session: Session, action: Action) -> None:
        """Run one action on an open session."""
        session.current_action = action.name
        if self.ledger is not None:
            self.ledger.record("action", name=action.name, cycle=self.cycle)
        logger.debug("cycle {} action {}", self.cycle, action.name)
        with self._gc_paused():
            action.execute(session)
        if self.verify:
            check(session)

    def finish(self, session: Session) -> Decisions:
        """End a cycle. The session may be read until the next one is opened."""
        with self._gc_paused():
            status.close(session)
        session.decisions.eviction_log = self._eviction_log = session.evictions.log()
        self.backend.apply(session.decisions)
        self.keeper.take_back(session.cluster)
        decisions = session.decisions
        logger.info(
            "cycle {}: {} bound, {} evicted, {} pipelined",
            self.cycle,
            len(decisions.binds),
            len(decisions.evictions),
            len(decisions.pipelined),
        )
        return decisions

    def _gc_paused(self) -> AbstractContextManager[None]:
        return gc_paused() if self.policy.uses("gc_pause") else nullcontext()

    def close(self) -> None:
        """Let the actions release what they hold."""
        self.holder.close()
