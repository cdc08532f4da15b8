"""Carries decisions out: binds and evictions, and what becomes of those that are refused."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from loguru import logger

from pumice import Bind, Decisions, Eviction, EvictionLog, Pod
from pumice_kubernetes.bind_requests import NO_BINDER, request_bind, with_group_ids
from pumice_kubernetes.client import UNREACHABLE, ApiError, Client
from pumice_kubernetes.inventory import LiveInventory
from pumice_kubernetes.metrics import Metrics
from pumice_kubernetes.reflector import Backoff
from pumice_kubernetes.resources import Served
from pumice_kubernetes.store import Store

_KAI = "scheduling.run.ai"
_GONE, _CONFLICT, _TOO_MANY = 404, 409, 429
_FIRST_RETRY, _LAST_RETRY = 2.0, 60.0
"""Seconds after which a refused eviction may be tried again."""

_MOST_LINES = 10
"""Of the log for one cycle; the reasons of the jobs have them all."""


@dataclass
class Refused:
    """An eviction that the cluster has refused."""

    text: str
    until: float
    backoff: Backoff = field(default_factory=lambda: Backoff(_FIRST_RETRY, _LAST_RETRY))


class Actor:
    """Sends binds and evictions, many at a time, and takes refused ones out of the decisions."""

    def __init__(
        self,
        client: Client,
        store: Store,
        inventory: LiveInventory,
        metrics: Metrics,
        *,
        served: Callable[[str, str], Served | None] = lambda group, plural: None,
        calm: asyncio.Event | None = None,
    ) -> None:
        self._client = client
        self._store = store
        self._inventory = inventory
        self._metrics = metrics
        self._served = served
        self._calm = calm or asyncio.Event()
        """Cleared while decisions are carried out."""
        self._refused: dict[str, Refused] = {}
        """By uid of a pod."""
        self._queues: dict[str, str] = {}
        """The queue of each job in the last cycle."""
        self._told: set[str] = set()
        """Jobs that were refused something in the last cycle, which is in the log."""

    async def carry_out(
        self, decisions: Decisions, now: float, may_act: Callable[[], bool]
    ) -> None:
        """Carry out binds and evictions; a refused one is taken out and in its job's reason.

        ``may_act``: whether this process is still the leader; asked before each bind.
        """
        self._calm.clear()
        try:
            await self._carry_out(decisions, now, may_act)
        finally:
            self._calm.set()

    async def _carry_out(
        self, decisions: Decisions, now: float, may_act: Callable[[], bool]
    ) -> None:
        reasons: dict[str, list[str]] = defaultdict(list)
        self._queues = {state.job: state.queue for state in decisions.jobs}
        if may_act():
            lost = await self._evict(decisions, now, reasons)
            self._roll_back(decisions, lost)
        else:
            decisions.evictions, decisions.pipelined = [], []
        decisions.binds = await self._bind(decisions.binds, now, reasons, may_act)
        self._tell(reasons)
        decisions.jobs = [
            replace(state, reason="; ".join([*reasons[state.job], *filter(None, [state.reason])]))
            if state.job in reasons
            else state
            for state in decisions.jobs
        ]

    def _tell(self, reasons: Mapping[str, Sequence[str]]) -> None:
        """Log which jobs were refused something, once as long as that goes on."""
        new = [job for job in reasons if job not in self._told]
        for job in new[:_MOST_LINES]:
            logger.warning("{}: {}", job or "evictions", reasons[job][0])
        if len(new) > _MOST_LINES:
            logger.warning("{} more jobs were refused something", len(new) - _MOST_LINES)
        self._told = set(reasons)

    # -- binds

    async def _bind(
        self,
        binds: Sequence[Bind],
        now: float,
        reasons: dict[str, list[str]],
        may_act: Callable[[], bool],
    ) -> list[Bind]:
        """Send the binds; returns those that the cluster accepted."""
        pods = self._store.tables["pods"]
        binder = self._served(_KAI, "bindrequests")
        binds = with_group_ids(binds)
        sharing = set()
        if binder is None:
            sharing = {pods[b.uid].group for b in binds if b.gpu_groups and b.uid in pods}

        async def send(bind: Bind) -> str:
            if not may_act():
                return "this process is no longer the leader"
            return await self._bind_one(bind, pods.get(bind.uid), sharing, binder)

        outcomes = await self._client.each(send, binds)
        accepted = []
        for bind, problem in zip(binds, outcomes, strict=True):
            pod = pods.get(bind.uid)
            if not problem:
                accepted.append(bind)
                self._inventory.bound(bind, now)
            elif pod is not None:
                reasons[pod.group].append(f"{bind.task} was not bound to {bind.node}: {problem}")
        return accepted

    async def _bind_one(
        self, bind: Bind, pod: Pod | None, sharing: set[str], binder: Served | None
    ) -> str:
        """Send a bind; why it was refused, or nothing."""
        problem = await self._try_bind(bind, pod, sharing, binder)
        self._metrics.binds.labels("refused" if problem else "bound").inc()
        return problem

    async def _try_bind(
        self, bind: Bind, pod: Pod | None, sharing: set[str], binder: Served | None
    ) -> str:
        if pod is None:
            return "the pod is gone"
        if pod.group in sharing:
            return NO_BINDER
        body = {
            "metadata": {"name": pod.name, "uid": bind.uid, "annotations": bind.annotations or {}},
            "target": {"kind": "Node", "name": bind.node},
        }
        path = f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}/binding"
        try:
            if bind.gpu_groups and binder is not None:
                return await self._request_bind(binder, bind, pod)
            await self._client.request("POST", path, body)
        except ApiError as error:
            if error.status == _GONE:
                return "the pod is gone"
            if error.status == _CONFLICT:
                return f"it was bound or replaced meanwhile: {error.message}"
            return str(error)
        except UNREACHABLE as error:
            return f"no answer of the API server: {type(error).__name__}: {error}"
        return ""

    async def _request_bind(self, binder: Served, bind: Bind, pod: Pod) -> str:
        node = self._store.tables["nodes"].get(bind.node)
        earlier = self._store.others["BindRequest"].get(pod.key)
        return await request_bind(self._client, binder, bind, pod, node, earlier)

    # -- evictions

    async def _evict(
        self, decisions: Decisions, now: float, reasons: dict[str, list[str]]
    ) -> set[str]:
        """Send the evictions, plan by plan; returns the claimants whose plan was refused."""
        plans: dict[str, dict[str, Eviction]] = defaultdict(dict)
        seen: set[str] = set()
        for eviction in decisions.evictions:
            if eviction.uid not in seen:
                seen.add(eviction.uid)
                plans[eviction.claimant or eviction.uid][eviction.uid] = eviction
        for uid in [uid for uid, known in self._refused.items() if now > known.until + _LAST_RETRY]:
            del self._refused[uid]
        outcomes = await asyncio.gather(
            *(self._carry_out_plan(list(plan.values()), now) for plan in plans.values())
        )
        lost: set[str] = set()
        accepted: set[Eviction] = set()
        for plan, (done, problems) in zip(plans.values(), outcomes, strict=True):
            accepted.update(done)
            one = next(iter(plan.values()))
            if problems:
                text = f"{one.action} evicts nothing for it: " if not done else ""
                reasons[one.claimant] += [text + problem for problem in problems]
                lost.add(one.claimant)
        decisions.evictions = [one for one in dict.fromkeys(decisions.evictions) if one in accepted]
        return lost - {""}

    async def _carry_out_plan(
        self, plan: Sequence[Eviction], now: float
    ) -> tuple[list[Eviction], list[str]]:
        """Evict for one claimant: all, or nothing if one of the evictions would be refused."""
        problems = [p for p in await self._all(plan, now, dry_run=True) if p]
        if problems:
            self._count(plan, "refused")
            return [], problems
        outcomes = await self._all(plan, now, dry_run=False)
        done = [one for one, problem in zip(plan, outcomes, strict=True) if not problem]
        for one in done:
            self._inventory.evicted(one.uid, now)
            self._refused.pop(one.uid, None)
        self._count(done, "evicted")
        self._count([one for one in plan if one not in done], "refused")
        return done, [problem for problem in outcomes if problem]

    def _count(self, evictions: Iterable[Eviction], result: str) -> None:
        for one in evictions:
            self._metrics.evictions.labels(one.action, self._kind(one), result).inc()

    def _kind(self, eviction: Eviction) -> str:
        """A reason for dashboards: from where to where the room goes."""
        if not eviction.claimant:
            return "no_claimant"
        pod = self._store.tables["pods"].get(eviction.uid)
        queue = self._queues.get(pod.group if pod is not None else "")
        return "same_queue" if queue == self._queues.get(eviction.claimant) else "other_queue"

    async def _all(self, plan: Sequence[Eviction], now: float, *, dry_run: bool) -> list[str]:
        return await asyncio.gather(*(self._evict_one(one, now, dry_run=dry_run) for one in plan))

    async def _evict_one(self, eviction: Eviction, now: float, *, dry_run: bool) -> str:
        """Send an eviction; why it was refused, or nothing."""
        known = self._refused.get(eviction.uid)
        if known is not None and now < known.until:
            return known.text
        namespace, _, name = eviction.task.partition("/")
        options: dict[str, object] = {"preconditions": {"uid": eviction.uid}}
        if dry_run:
            options["dryRun"] = ["All"]
        body = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": name, "namespace": namespace},
            "deleteOptions": options,
        }
        path = f"/api/v1/namespaces/{namespace}/pods/{name}/eviction"
        try:
            await self._client.request("POST", path, body)
            return ""
        except ApiError as error:
            if error.status in (_GONE, _CONFLICT):
                return ""  # it is gone already, perhaps replaced by a new pod of the same name
            why = "forbids it" if error.status == _TOO_MANY else "refuses"
            text = f"{eviction.task} is not evicted, the cluster {why}: {error.message}"
        except UNREACHABLE as error:
            return f"{eviction.task} is not evicted: no answer of the API server ({error})"
        refused = self._refused.setdefault(eviction.uid, Refused(text, now))
        refused.text, refused.until = text, now + refused.backoff.next()
        return text

    def _roll_back(self, decisions: Decisions, lost: set[str]) -> None:
        """Hold nothing for claimants whose evictions were refused, and remember none of them."""
        log = decisions.eviction_log
        if lost:
            before = self._inventory.log or EvictionLog()
            log = replace(
                log,
                reservations={
                    job: held for job, held in log.reservations.items() if job not in lost
                },
                past=tuple(p for p in log.past if p.claimant not in lost or p in before.past),
            )
            pods = self._store.tables["pods"]
            decisions.pipelined = [
                task
                for task in decisions.pipelined
                if task.uid not in pods or pods[task.uid].group not in lost
            ]
        decisions.eviction_log = self._inventory.log = log
