"""Writes what is only reported: pod conditions, nominations, status of pod groups, events."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from loguru import logger

from pumice import JobState, Pod, PodGroup
from pumice.manifests import NATIVE_API, SCHEDULED
from pumice_kubernetes.client import JSON_PATCH, STRATEGIC_PATCH, UNREACHABLE, ApiError, Client
from pumice_kubernetes.resources import Served

_CONTROLLER = "pumice"
_NO_STATUS_YET = 422
"""The answer to a JSON patch of an object that has no status."""
_MAX_TEXT = 1000
"""The longest note that an event may have is 1024 characters."""
_LAST_START = "kai.scheduler/last-start-timestamp"
_STALE = "kai.scheduler/stale-podgroup-timestamp"
Write = Callable[[], Awaitable[object]]


class Writer:
    """Sends reports in the background; of several about one thing only the last one."""

    def __init__(self, client: Client, *, workers: int = 8) -> None:
        self._client = client
        self._due: dict[tuple[str, str], Write] = {}
        self._some = asyncio.Event()
        self._workers = workers
        self._instance = f"{_CONTROLLER}-{socket.gethostname()}"[:128]
        self._sending: set[tuple[str, str]] = set()
        """What is under way: a later report about the same thing must not overtake it."""
        self._events = 0
        self._said: dict[str, str] = {}
        """By job: the reason of its last event."""
        self._shown: dict[str, tuple[str, str]] = {}
        """By uid of a pod: the message and the nominated node that were written last."""
        self._troubles: dict[str, int] = {}
        """By kind of report: the status of the refusal that was logged last."""
        self.calm = asyncio.Event()
        """While it is not set, binds have precedence: one worker goes on, so that none starves."""
        self.calm.set()

    async def run(self) -> None:
        """Send what is due until cancelled."""
        await asyncio.gather(*(self._work(number) for number in range(self._workers)))

    async def drained(self) -> None:
        """Wait until everything is sent."""
        while self._due or self._sending:
            await asyncio.sleep(0.01)

    async def _work(self, number: int) -> None:
        while True:
            while (key := self._next()) is None or (number and not self.calm.is_set()):
                if key is None:
                    self._some.clear()
                    await self._some.wait()
                else:
                    await self.calm.wait()
            write = self._due.pop(key)
            self._sending.add(key)
            try:
                await write()
                self._troubles.pop(key[0], None)
            except (ApiError, *UNREACHABLE) as error:
                self._failed(key, error)
            finally:
                self._sending.discard(key)
                self._some.set()

    def _next(self) -> tuple[str, str] | None:
        return next((key for key in self._due if key not in self._sending), None)

    def _failed(self, key: tuple[str, str], error: BaseException) -> None:
        """Forget what was written, so that the next cycle writes it again."""
        self._shown.pop(key[1], None)
        if isinstance(error, ApiError) and error.status in (404, 409):
            return  # the object is gone, or has changed; its next version is decided again
        if isinstance(error, ApiError) and (error.status, key[0]) == (422, "pod"):
            return  # the pod was bound meanwhile, and takes no nomination any more
        if not isinstance(error, ApiError):
            return  # the client has logged it
        if self._troubles.get(key[0]) != error.status:
            self._troubles[key[0]] = error.status
            logger.warning("a report cannot be written: {}: {}", key[0], error)

    def _put(self, kind: str, name: str, write: Write) -> None:
        self._due[kind, name] = write
        self._some.set()

    # -- what is reported

    def pods(self, messages: Mapping[str, tuple[Pod, str, str]]) -> None:
        """Why pods wait and which node they are nominated for: uid → (pod, message, node)."""
        for uid in self._shown.keys() - messages.keys():
            del self._shown[uid]
            self._due.pop(("pod", uid), None)
        for uid, (pod, message, node) in messages.items():
            shown = (message, node)
            known = self._shown.get(uid)
            if known == shown or (known is None and not message and pod.nominated_node == node):
                continue
            self._shown[uid] = shown
            self._put("pod", uid, lambda pod=pod, shown=shown: self._pod(pod, *shown))  # type: ignore[misc]

    async def _pod(self, pod: Pod, message: str, node: str) -> None:
        status: dict[str, Any] = {"nominatedNodeName": node or None}
        if message:
            condition = {
                "type": "PodScheduled",
                "status": "False",
                "reason": "Unschedulable",
                "message": message[:_MAX_TEXT],
            }
            for known in pod.conditions:
                if known.get("type") == "PodScheduled" and known.get("status") == "False":
                    condition["lastTransitionTime"] = known.get("lastTransitionTime") or _time()
            condition.setdefault("lastTransitionTime", _time())
            status["conditions"] = [condition]
        path = f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}/status"
        body = {"metadata": {"uid": pod.uid}, "status": status}
        await self._client.patch(path, body, content_type=STRATEGIC_PATCH)

    def group(self, served: Served, group: PodGroup, state: JobState) -> None:
        """The status of a pod group."""
        self._put("podgroup", group.uid, lambda: self._group(served, group, state))

    async def _group(self, served: Served, group: PodGroup, state: JobState) -> None:
        conditions = [
            {"lastTransitionTime": _time(), **condition} for condition in group.conditions
        ]
        if group.api_group == NATIVE_API:
            path = served.path(group.namespace, group.name, "status")
            ours = [c for c in conditions if c["type"] == SCHEDULED]
            body: dict[str, Any] = {"status": {"conditions": ours}}
            await self._client.patch(path, body, content_type=STRATEGIC_PATCH)
            return
        annotations: dict[str, str] = {}
        if group.family == "kai":
            status: dict[str, Any] = {"phase": group.phase, "schedulingConditions": conditions}
            for key, value in ((_LAST_START, state.last_start), (_STALE, state.stale_since)):
                if value is not None:
                    annotations[key] = _time(value)
        else:
            status = {"phase": group.phase, "conditions": conditions}
        body = {"status": status}
        if annotations and any(group.annotations.get(k) != v for k, v in annotations.items()):
            meta = {"metadata": {"annotations": annotations}}
            await self._client.patch(served.path(group.namespace, group.name), meta)
        # Volcano's PodGroup has no status subresource: the object itself is changed.
        subresource = "status" if served.has_status else ""
        await self._client.patch(served.path(group.namespace, group.name, subresource), body)

    def queue(
        self, served: Served, name: str, status: dict[str, Any], failed: Callable[[str], None]
    ) -> None:
        """Fields of the status of a queue; ``failed`` is called with its name if none is there."""

        async def write() -> None:
            try:
                await self._queue(served, name, status)
            except (ApiError, *UNREACHABLE):
                failed(name)
                raise

        self._put("queue", name, write)

    async def _queue(self, served: Served, name: str, status: dict[str, Any]) -> None:
        path = served.path(name=name, subresource="status")
        # A merge patch would leave the resources that are no longer there.
        fields = [
            {"op": "add", "path": f"/status/{field}", "value": value}
            for field, value in status.items()
        ]
        try:
            await self._client.patch(path, fields, content_type=JSON_PATCH)
        except ApiError as error:
            if error.status != _NO_STATUS_YET:
                raise
            await self._client.patch(path, {"status": status})

    def reasons(self, waiting: Sequence[tuple[str, dict[str, str], str]]) -> None:
        """Why jobs wait, as events: (job, the object that it is about, text). Only changes are."""
        names = {job for job, _, _ in waiting}
        for job in self._said.keys() - names:
            del self._said[job]
        for job, about, text in waiting:
            if self._said.get(job) != text:
                self._said[job] = text
                self.event(about, "FailedScheduling", "Scheduling", text, warning=True)

    def event(
        self, about: dict[str, str], reason: str, action: str, note: str, *, warning: bool = False
    ) -> None:
        """An event about an object."""
        self._events += 1
        moment = datetime.now(UTC)
        name = f"{about['name'][:200]}.{os.getpid():x}{moment.timestamp():.0f}{self._events:x}"
        body = {
            "metadata": {"name": name, "namespace": about["namespace"]},
            "eventTime": moment.isoformat(timespec="microseconds").replace("+00:00", "Z"),
            "reportingController": _CONTROLLER,
            "reportingInstance": self._instance,
            "action": action,
            "reason": reason,
            "regarding": about,
            "note": note[:_MAX_TEXT],
            "type": "Warning" if warning else "Normal",
        }
        path = f"/apis/events.k8s.io/v1/namespaces/{about['namespace']}/events"
        self._put("event", name, lambda: self._client.request("POST", path, body))


def about_pod(pod: Pod) -> dict[str, str]:
    """The reference of an event to a pod."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "namespace": pod.namespace,
        "name": pod.name,
        "uid": pod.uid,
    }


def about_group(served: Served, group: PodGroup) -> dict[str, str]:
    """The reference of an event to a pod group."""
    return {
        "apiVersion": served.api_version,
        "kind": "PodGroup",
        "namespace": group.namespace,
        "name": group.name,
    }


def _time(epoch: float | None = None) -> str:
    moment = datetime.now(UTC) if epoch is None else datetime.fromtimestamp(epoch, UTC)
    return moment.isoformat(timespec="seconds").replace("+00:00", "Z")
