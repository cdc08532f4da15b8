"""Virtual GPUs as HAMi's device plugin registers them: shares of memory and cores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from pumice import Container, Node, Pod
from pumice_builtin_plugins.deviceshare.cards import (
    Card,
    CardAllocation,
    CardChoice,
    CardPool,
    CardShare,
    in_whole,
)

REGISTER = "volcano.sh/node-vgpu-register"
CARDS = "volcano.sh/vgpu-number"
MEMORY = "volcano.sh/vgpu-memory"
PERCENTAGE = "volcano.sh/vgpu-memory-percentage"
CORES = "volcano.sh/vgpu-cores"
PARAMETERS = (MEMORY, PERCENTAGE, CORES)
"""Parameters of a virtual GPU, not resources: nodes do not list them as allocatable."""
ASSIGNED = "volcano.sh/vgpu-ids-new"
_USE_UUID, _AVOID_UUID = "volcano.sh/vgpu-use-gpuuuid", "volcano.sh/vgpu-nouse-gpuuuid"
_USE_TYPE, _AVOID_TYPE = "nvidia.com/use-gputype", "nvidia.com/nouse-gputype"
_MODE, _GROUP_POLICY = "volcano.sh/vgpu-mode", "volcano.sh/vgpu-podgroup-policy"
_CORE, _MIG = "hami-core", "mig"
_VENDOR = "NVIDIA"
_ALL = 100
_FIELDS = 5


class ContainerRequest(NamedTuple):
    """The request of one container, for each of its cards."""

    cards: int
    memory: int
    percentage: int
    cores: int

    def memory_on(self, card: Card) -> int:
        return self.memory or card.memory * self.percentage // _ALL


class VirtualGpuRequest(NamedTuple):
    """The virtual GPUs that a pod requests."""

    containers: tuple[ContainerRequest, ...]
    """One for each container, those without a card included."""
    use: tuple[str, ...] = ()
    avoid: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    avoid_models: tuple[str, ...] = ()
    mode: str = ""
    spread_group: str = ""
    """The pod group whose pods must not share a card; empty: they may."""
    rules: frozenset[int] = frozenset()

    def allows(self, card: Card) -> bool:
        """Whether the pod's annotations allow the card."""
        model = card.model.upper()
        return (
            (not self.use or card.uuid in self.use)
            and card.uuid not in self.avoid
            and (not self.models or any(name in model for name in self.models))
            and not any(name in model for name in self.avoid_models)
        )


def virtual_gpu_request(pod: Pod, rules: frozenset[int]) -> VirtualGpuRequest | None:
    """The request of a pod; None: it requests no virtual GPU."""
    containers = tuple(_container_request(container) for container in pod.containers)
    if not any(container_request.cards for container_request in containers):
        return None
    notes = pod.annotations
    return VirtualGpuRequest(
        containers,
        _names(notes, _USE_UUID),
        _names(notes, _AVOID_UUID),
        tuple(name.upper() for name in _names(notes, _USE_TYPE)),
        tuple(name.upper() for name in _names(notes, _AVOID_TYPE)),
        notes.get(_MODE, ""),
        pod.group if notes.get(_GROUP_POLICY) == "spread" else "",
        rules,
    )


def _container_request(container: Container) -> ContainerRequest:
    def amount(name: str) -> int:
        return in_whole(container.limits, name) or in_whole(container.requests, name)

    percentage = amount(PERCENTAGE)
    return ContainerRequest(amount(CARDS), amount(MEMORY), percentage or _ALL, amount(CORES))


def _names(annotations: Mapping[str, str], key: str) -> tuple[str, ...]:
    names = (name.strip() for name in annotations.get(key, "").split(","))
    return tuple(filter(None, names))


class _Trial:
    """A card with what the containers before would use of it."""

    __slots__ = ("card", "cores", "memory", "pods", "shares")

    def __init__(self, card: Card) -> None:
        self.card = card
        self.memory = card.used_memory
        self.cores = card.used_cores
        self.shares = card.share_count
        self.pods = len(card.holders)

    def fits(self, container_request: ContainerRequest) -> bool:
        card = self.card
        return (
            self.shares < card.max_shares
            and card.memory - self.memory >= container_request.memory_on(card)
            and self.cores + container_request.cores <= _ALL
            and not (container_request.cores == _ALL and self.shares)
            and not (container_request.cores == 0 and self.cores == _ALL)
        )

    def take(self, container_request: ContainerRequest, container: int) -> CardShare:
        share = CardShare(
            self.card.index,
            container_request.memory_on(self.card),
            container_request.cores,
            container,
        )
        self.memory += share.memory
        self.cores += share.cores
        self.shares += 1
        return share


class VirtualCards(CardPool):
    """The cards that a node registers, filled by a policy."""

    def __init__(self, text: str, policy: str) -> None:
        """:raises ValueError: the registration is malformed."""
        cards, self.mode = _registered(text)
        super().__init__(cards)
        self._policy = policy

    def choose(self, request: VirtualGpuRequest) -> CardChoice | str:
        if request.mode and request.mode != self.mode:
            return f"the node shares its GPUs by {self.mode}, the pod requires {request.mode}"
        if self.mode == _MIG:
            return "the node shares its GPUs by MIG, which is not built in"
        trials = [_Trial(card) for card in self.cards.values() if self._suits(card, request)]
        shares: list[CardShare] = []
        score = 0.0
        for number, container_request in enumerate(request.containers):
            fitting = [trial for trial in self._ordered(trials) if trial.fits(container_request)]
            if len(fitting) < container_request.cards:
                return "not enough virtual GPUs"
            for trial in fitting[: container_request.cards]:
                shares.append(trial.take(container_request, number))
                score += self._score(trial)
        return CardChoice(CardAllocation(tuple(shares), request.rules), score)

    def _suits(self, card: Card, request: VirtualGpuRequest) -> bool:
        if not request.allows(card) or card.is_excluded(request.rules):
            return False
        group = request.spread_group
        return not group or all(holder.group != group for holder in card.holders.values())

    def _ordered(self, trials: list[_Trial]) -> list[_Trial]:
        if self._policy == "binpack":
            return sorted(trials, key=lambda trial: (-trial.memory, -trial.card.index))
        if self._policy == "spread":
            return sorted(trials, key=lambda trial: (trial.pods, -trial.card.index))
        return sorted(trials, key=lambda trial: -trial.card.index)

    def _score(self, trial: _Trial) -> float:
        """The score of a card with its new share.

        Volcano scores ``spread`` only on a card without pods, which it no longer is: 0.
        """
        if self._policy != "binpack" or not trial.card.memory:
            return 0.0
        return 100 * trial.memory / trial.card.memory

    def read_allocation(self, pod: Pod, request: VirtualGpuRequest) -> CardAllocation | None:
        text = pod.annotations.get(ASSIGNED, "")
        by_uuid = {card.uuid: card.index for card in self.cards.values()}
        shares = []
        for number, container in enumerate(text.split(";")):
            for entry in filter(None, container.split(":")):
                fields = entry.split(",")
                if len(fields) != 4 or not (fields[2].isdecimal() and fields[3].isdecimal()):
                    raise ValueError(f"{ASSIGNED}: {entry!r} is not like 'UUID,TYPE,MEMORY,CORES'")
                if fields[0] in by_uuid:
                    card = by_uuid[fields[0]]
                    shares.append(CardShare(card, int(fields[2]), int(fields[3]), number))
        return CardAllocation(tuple(shares), request.rules) if shares else None

    def annotations(self, node: str, allocation: CardAllocation, now: float) -> dict[str, str]:
        containers = [""] * (1 + max(share.container for share in allocation.shares))
        for share in allocation.shares:
            uuid = self.cards[share.card].uuid
            containers[share.container] += f"{uuid},{_VENDOR},{share.memory},{share.cores}:"
        text, seconds = ";".join(containers), str(int(now))
        return {
            "volcano.sh/vgpu-node": node,
            "volcano.sh/vgpu-time": seconds,
            ASSIGNED: text,
            "volcano.sh/devices-to-allocate": text,
            "volcano.sh/bind-phase": "allocating",
            "volcano.sh/bind-time": seconds,
        }


def virtual_cards(node: Node, policy: str) -> VirtualCards | None:
    """The cards of a node; None: it registers none.

    :raises ValueError: its registration is malformed.
    """
    text = node.annotations.get(REGISTER, "").strip()
    return VirtualCards(text, policy) if text else None


def _registered(text: str) -> tuple[list[Card], str]:
    """The healthy cards and the mode, from ``UUID,SLOTS,MEMORY,TYPE,HEALTHY,MODE:…``."""
    cards: list[Card] = []
    mode = ""
    for index, entry in enumerate(filter(None, text.split(":"))):
        fields = [field.strip() for field in entry.split(",")]
        if len(fields) < _FIELDS or not (fields[1].isdecimal() and fields[2].isdecimal()):
            raise ValueError(
                f"{REGISTER}: {entry!r} is not like 'UUID,SLOTS,MEMORY,TYPE,HEALTHY,MODE'"
            )
        mode = mode or (fields[5] if len(fields) > _FIELDS else _CORE)
        if fields[4].lower() == "true":
            uuid, max_shares, memory, model = fields[0], int(fields[1]), int(fields[2]), fields[3]
            cards.append(Card(index, memory, uuid, model, max_shares))
    return cards, mode
