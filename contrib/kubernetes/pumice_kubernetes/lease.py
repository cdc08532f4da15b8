"""Leader election: of several schedulers the one that holds a Lease acts."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from loguru import logger

from pumice_kubernetes.client import UNREACHABLE, ApiError, Client


class Lease:
    """Takes and renews one Lease.

    A leader that cannot renew stops acting before another one can take over: it counts from the
    moment before its last successful request, the others from the moment after they saw it.
    """

    def __init__(
        self,
        client: Client,
        namespace: str,
        name: str,
        identity: str,
        *,
        seconds: float = 15.0,
        changed: Callable[[], None] = lambda: None,
    ) -> None:
        self._client = client
        self._folder = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
        self._path = f"{self._folder}/{name}"
        self._name = name
        self._identity = identity
        self._seconds = seconds
        self._changed = changed
        self._renewed = float("-inf")
        self._seen: tuple[str, float] = ("", 0.0)
        """The version of another holder's lease, and when it was first seen."""
        self._trouble = ""
        self._request = asyncio.Lock()
        """Held while the lease is read and written: a renewal would refuse the release."""
        self._released = False

    @property
    def is_held(self) -> bool:
        """Whether this process is the leader now."""
        return time.monotonic() < self._renewed + self._seconds * 2 / 3

    async def run(self) -> None:
        """Take the lease when it is free, and renew it, until it is released."""
        while not self._released:
            before = self.is_held
            try:
                async with self._request:
                    if not self._released:
                        await self._try()
                self._trouble = ""
            except (ApiError, *UNREACHABLE) as error:
                trouble = f"{type(error).__name__}: {error}"
                if trouble != self._trouble:
                    self._trouble = trouble
                    logger.warning("the lease {} cannot be renewed: {}", self._name, trouble)
            if self.is_held != before:
                logger.info("lease {}: {}", self._name, "held" if self.is_held else "not held")
                self._changed()
            await asyncio.sleep(self._seconds / 6 * random.uniform(0.9, 1.1))

    async def _try(self) -> None:
        asked = time.monotonic()
        try:
            lease: dict[str, Any] = await self._client.get(self._path)
        except ApiError as error:
            if error.status != 404:
                raise
            lease = {"metadata": {"name": self._name}, "spec": {}}
        spec = lease.setdefault("spec", {})
        holder = spec.get("holderIdentity") or ""
        if holder not in ("", self._identity) and not self._has_expired(lease, asked):
            self._renewed = float("-inf")
            return
        moment = datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
        if holder != self._identity:
            spec["leaseTransitions"] = int(spec.get("leaseTransitions") or 0) + bool(holder)
            spec["acquireTime"] = moment
        spec |= {
            "holderIdentity": self._identity,
            "renewTime": moment,
            "leaseDurationSeconds": max(round(self._seconds), 1),
        }
        exists = "resourceVersion" in lease["metadata"]
        try:
            if exists:
                await self._client.request("PUT", self._path, lease)
            else:
                await self._client.request("POST", self._folder, lease)
        except ApiError as error:
            if error.status == 409:  # another one was faster
                self._renewed = float("-inf")
                return
            raise
        self._renewed = asked

    def _has_expired(self, lease: dict[str, Any], now: float) -> bool:
        """Whether the holder has not renewed for the whole duration, by this process's clock."""
        version = lease["metadata"]["resourceVersion"]
        if self._seen[0] != version:
            self._seen = (version, now)
        duration = float(lease["spec"].get("leaseDurationSeconds") or self._seconds)
        return now > self._seen[1] + duration

    async def release(self) -> None:
        """Give the lease up, so that another one need not wait."""
        self._released = True
        try:
            async with self._request:
                if not self.is_held:
                    return
                self._renewed = float("-inf")
                lease = await self._client.get(self._path)
                if lease["spec"].get("holderIdentity") == self._identity:
                    lease["spec"] |= {"holderIdentity": "", "leaseDurationSeconds": 1}
                    await self._client.request("PUT", self._path, lease)
        except (ApiError, *UNREACHABLE) as error:
            logger.warning("the lease {} was not released: {}", self._name, error)
