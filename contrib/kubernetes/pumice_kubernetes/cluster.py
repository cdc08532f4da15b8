"""The event loop beside the scheduler: reflectors, lease, reports and the pages for the cluster."""

from __future__ import annotations

import asyncio
import os
import socket
import threading
import time
import uuid
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from loguru import logger

from pumice import PumiceError
from pumice_kubernetes import health
from pumice_kubernetes.acting import Actor
from pumice_kubernetes.auth import Connection
from pumice_kubernetes.client import UNREACHABLE, ApiError, Client
from pumice_kubernetes.inventory import LiveInventory
from pumice_kubernetes.lease import Lease
from pumice_kubernetes.metrics import Metrics
from pumice_kubernetes.options import KubernetesOptions
from pumice_kubernetes.reflector import Backoff, Reflector
from pumice_kubernetes.resources import Resource, Served, served_resources
from pumice_kubernetes.store import Store
from pumice_kubernetes.writer import Writer

T = TypeVar("T")
_STOPPING = 5.0
"""Seconds that reports get to be sent at the end."""


class ClusterThread:
    """Runs the event loop in a thread of its own, so that it goes on while a cycle is decided."""

    def __init__(
        self,
        connection: Connection,
        options: KubernetesOptions,
        store: Store,
        inventory: LiveInventory,
        metrics: Metrics,
        *,
        notify: Callable[[], None],
        acts: bool,
    ) -> None:
        self._connection = connection
        self._options = options
        self._store = store
        self._inventory = inventory
        self._metrics = metrics
        self._notify = notify
        self._acts = acts
        self._loop = asyncio.new_event_loop()
        self._stop = asyncio.Event()
        self._reflectors: dict[Resource, tuple[Reflector, asyncio.Task[None]]] = {}
        self._thread = threading.Thread(target=self._run, name="pumice-kubernetes", daemon=True)
        self.synced = False
        """Whether everything that is served has been read once."""
        self.error: BaseException | None = None
        """What ended the thread, if anything did."""
        self.lease: Lease | None = None
        self.writer: Writer
        self.actor: Actor
        self.last_cycle = time.monotonic()
        """When the scheduler was last seen."""

    def start(self) -> None:
        """Begin to read the cluster, if it has not begun yet."""
        if self._thread.ident is None:
            self._thread.start()

    def call(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run something in the event loop and wait for it."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    def post(self, function: Callable[..., None], *args: Any) -> None:
        """Run something in the event loop, soon."""
        self._loop.call_soon_threadsafe(function, *args)

    def close(self) -> None:
        """Send what is due, release the lease and end the thread."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join()

    def is_leader(self) -> bool:
        """Whether this process may act."""
        return self.lease is None or self.lease.is_held

    def served(self, group: str, plural: str) -> Served | None:
        """A resource that is followed."""
        for resource, (reflector, _) in list(self._reflectors.items()):
            if resource.group == group and resource.plural == plural:
                return reflector.served
        return None

    # -- in the thread

    def _run(self) -> None:
        try:
            self._loop.run_until_complete(self._main())
        except BaseException as error:
            self.error = error
        finally:
            self._loop.close()
            self._notify()

    async def _main(self) -> None:
        options = self._options
        client = Client(self._connection, in_flight=options.in_flight)
        self.writer = Writer(client)
        self.actor = Actor(
            client,
            self._store,
            self._inventory,
            self._metrics,
            served=self.served,
            calm=self.writer.calm,
        )
        tasks: list[asyncio.Task[Any]] = []
        runner = None
        try:
            if options.listen:
                runner = await health.serve(
                    options.listen, self._metrics, self._illness, self._unready
                )
            if self._acts and options.leader_election:
                self.lease = self._new_lease(client)
                tasks.append(asyncio.create_task(self.lease.run()))
            tasks.append(asyncio.create_task(self.writer.run()))
            tasks.append(asyncio.create_task(self._follow(client)))
            stopped = asyncio.create_task(self._stop.wait())
            done, _ = await asyncio.wait([stopped, *tasks], return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
            await self._finish()
        finally:
            for task in [*tasks, *(task for _, task in self._reflectors.values())]:
                task.cancel()
            if runner is not None:
                await runner.cleanup()
            await client.close()

    async def _finish(self) -> None:
        try:
            await asyncio.wait_for(self.writer.drained(), _STOPPING)
        except TimeoutError:
            logger.warning("some reports were not written before the end")
        if self.lease is not None:
            await self.lease.release()

    def _new_lease(self, client: Client) -> Lease:
        options = self._options
        return Lease(
            client,
            options.lease_namespace or self._connection.namespace,
            options.lease,
            f"{socket.gethostname()}_{os.getpid()}_{uuid.uuid4().hex[:8]}",
            seconds=options.lease_duration,
            changed=self._notify,
        )

    async def _follow(self, client: Client) -> None:
        """Follow every resource that is served, also those that come later."""
        backoff, trouble = Backoff(), ""
        while True:
            try:
                served = await served_resources(client)
            except (ApiError, *UNREACHABLE) as error:
                if isinstance(error, ApiError) and str(error) != trouble:
                    trouble = str(error)
                    logger.warning("the API server does not say what it serves: {}", trouble)
                await asyncio.sleep(backoff.next())
                continue
            backoff.reset()
            trouble = ""
            self._adjust(client, served)
            if not self.synced:
                self._check_required(served)
                await asyncio.gather(*(r.synced.wait() for r, _ in self._reflectors.values()))
                self.synced = True
                self._notify()
            await asyncio.sleep(self._options.discovery)

    def _adjust(self, client: Client, served: list[Served]) -> None:
        """Start reflectors for what has come, and end those of what has gone."""
        now = {one.resource: one for one in served}
        for resource, (reflector, task) in list(self._reflectors.items()):
            if now.get(resource) != reflector.served:
                task.cancel()
                del self._reflectors[resource]
                if resource not in now:
                    logger.info("{} is no longer served", resource.label)
                    self._store.forget(reflector.served)
        for resource, one in now.items():
            if resource not in self._reflectors:
                if self.synced:
                    logger.info("{} is served from now on", resource.label)
                reflector = Reflector(client, one, self._store)
                self._reflectors[resource] = reflector, asyncio.create_task(reflector.run())

    @staticmethod
    def _check_required(served: list[Served]) -> None:
        labels = {one.resource.label for one in served}
        for name in ("nodes", "pods"):
            if name not in labels:
                raise PumiceError(f"the API server serves no {name}")

    def _illness(self) -> str:
        silent = time.monotonic() - self.last_cycle
        limit = 10 * max(self._options.idle, self._options.quiet) + 60
        if self.is_leader() and self.synced and silent > limit:
            return f"no cycle for {silent:.0f} s"
        return ""

    def _unready(self) -> str:
        return "" if self.synced else "the cluster has not been read yet"
