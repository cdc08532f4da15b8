"""The backend: facts from a live cluster, decisions carried out through its API server."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Collection, Iterable, Mapping
from typing import Any, ClassVar, Self

from loguru import logger

from pumice import CycleTelemetry, Decisions, EvictionLog, Inventory, OptionsModel, Policy
from pumice_kubernetes import dump
from pumice_kubernetes.auth import connect
from pumice_kubernetes.client import Client
from pumice_kubernetes.cluster import ClusterThread
from pumice_kubernetes.inventory import LiveInventory
from pumice_kubernetes.metric_names import CYCLE
from pumice_kubernetes.metrics import Metrics
from pumice_kubernetes.options import KubernetesOptions
from pumice_kubernetes.reports import Reports
from pumice_kubernetes.store import Store

NAMES = ("pumice",)
"""The schedulerName of pods that are scheduled where the policy names none."""


def is_quiet(decisions: Decisions) -> bool:
    """Whether a cycle has decided nothing, and no job waits or lacks tasks that it needs.

    Such a cluster stays as it is until something comes; a job that waits may have its turn later.
    """
    acts = decisions.binds or decisions.evictions or decisions.pipelined
    if acts or decisions.eviction_log.reservations:
        return False
    return all(
        not state.pending and not state.reason and state.stale_since is None
        for state in decisions.jobs
    )


class KubernetesBackend:
    """Schedules the pods of a Kubernetes cluster."""

    Options: ClassVar[type[OptionsModel]] = KubernetesOptions

    def __init__(
        self,
        options: KubernetesOptions,
        *,
        scheduler_names: Collection[str] = NAMES,
        default_queue: str = "default",
        period: float = 1.0,
        dry_run: bool = False,
    ) -> None:
        self._options = options
        self._period = period
        self._dry_run = dry_run
        self._changed = threading.Condition()
        self._stopping = False
        self._seen = -1
        self._is_quiet = False
        """Whether the last cycle has left nothing that time alone could change."""
        self._last = float("-inf")
        self._opened = 0.0
        self._connection = connect(options.kubeconfig, options.context)
        self.metrics = Metrics()
        """What is measured."""
        self.store = Store(
            scheduler_names or NAMES, default_queue=default_queue, notify=self._notify
        )
        """The facts as the reflectors bring them."""
        self.inventory = LiveInventory(self.store)
        """The inventory of each cycle."""
        self._thread = ClusterThread(
            self._connection,
            options,
            self.store,
            self.inventory,
            self.metrics,
            notify=self._notify,
            acts=not dry_run,
        )
        self._reports = Reports(self.store, self.inventory, self._thread)
        if dry_run:
            self.inventory.log = EvictionLog()

    @classmethod
    def from_options(
        cls, options: Mapping[str, Any], policy: Policy, *, dry_run: bool = False
    ) -> Self:
        """The backend that the command line asks for."""
        return cls(
            KubernetesOptions.model_validate(dict(options)),
            scheduler_names=policy.scheduler.scheduler_names,
            default_queue=policy.scheduler.default_queue,
            period=policy.scheduler.period,
            dry_run=dry_run,
        )

    # -- what a scheduler asks

    def snapshot(self) -> Inventory:
        """The facts as they are now."""
        self._seen = self.store.changes
        self._opened = time.perf_counter()
        return self.inventory.snapshot(self.now())

    def apply(self, decisions: Decisions) -> None:
        """Carry out the decisions; returns when the cluster has answered.

        What the cluster refuses is taken out of the decisions, and the reason of its job says why.
        """
        decided = time.perf_counter()
        self._is_quiet = is_quiet(decisions)
        self.metrics.took(CYCLE, decided - self._opened)
        self._thread.last_cycle = time.monotonic()
        if not self._dry_run:
            thread = self._thread
            thread.call(thread.actor.carry_out(decisions, self.now(), thread.is_leader))
            if thread.is_leader():
                self._reports.send(decisions)
        self.metrics.take(decisions)
        self.metrics.apply_seconds.observe(time.perf_counter() - decided)

    def measured(self, telemetry: CycleTelemetry) -> None:
        """Export what a cycle measured."""
        self.metrics.measured(telemetry)

    def now(self) -> float:
        """Epoch seconds."""
        return time.time()

    # -- when there is something to do

    def wait(self) -> bool:
        """Wait until a cycle is due; False: the backend was stopped.

        A cycle is due when something has changed, at most every ``period``, at least every
        ``idle`` (``quiet`` while no job waits), and only while this process is the leader.
        """
        self._thread.start()
        with self._changed:
            while not self._stopping:
                if self._thread.error is not None:
                    raise self._thread.error
                pause = self._pause()
                if pause <= 0:
                    self._last = time.monotonic()
                    return True
                self._changed.wait(pause)
        return False

    def _pause(self) -> float:
        """Seconds until something may be due."""
        leader = self._thread.synced and self._thread.is_leader()
        self.metrics.leader.set(leader and not self._dry_run)
        if not leader:
            if not self._dry_run:
                self.inventory.log = None  # another one may evict meanwhile; nominations say it
            return 1.0
        since = time.monotonic() - self._last
        if self.store.changes != self._seen:
            return self._period - since
        options = self._options
        return (max(options.idle, options.quiet) if self._is_quiet else options.idle) - since

    def _notify(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def stop(self) -> None:
        """End :meth:`wait`; may be called by a signal handler."""
        self._stopping = True
        threading.Thread(target=self._notify, daemon=True).start()

    def close(self) -> None:
        """Send what is due, release the lease and end all connections."""
        self._thread.close()
        logger.info("the backend is closed")

    # -- for 'pumice dump'

    def dump(self) -> Iterable[dict[str, Any]]:
        """The objects that a snapshot needs, without secrets and environment."""

        async def collect() -> list[dict[str, Any]]:
            client = Client(self._connection)
            try:
                return [item async for item in dump.objects(client)]
            finally:
                await client.close()

        return asyncio.run(collect())
