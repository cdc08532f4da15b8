"""Virtual GPUs as HAMi's device plugin registers them: shares of memory, cores and slots."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from pumice import Container, Node, Pod
from pumice_builtin_plugins.deviceshare.cards import (
    Card,
    CardPool,
    Choice,
    Holding,
    Share,
    in_whole,
)

REGISTER = "volcano.sh/node-vgpu-register"
CARDS = "volcano.sh/vgpu-number"
MEMORY = "volcano.sh/vgpu-memory"
PERCENTAGE = "volcano.sh/vgpu-memory-percentage"
CORES = "volcano.sh/vgpu-cores"
UNCOUNTED = (MEMORY, PERCENTAGE, CORES)
"""Parameters of a virtual GPU rather than resources: nodes need not have them."""
ASSIGNED = "volcano.sh/vgpu-ids-new"
_USE_UUID, _AVOID_UUID = "volcano.sh/vgpu-use-gpuuuid", "volcano.sh/vgpu-nouse-gpuuuid"
_USE_TYPE, _AVOID_TYPE = "nvidia.com/use-gputype", "nvidia.com/nouse-gputype"
_MODE, _GROUP_POLICY = "volcano.sh/vgpu-mode", "volcano.sh/vgpu-podgroup-policy"
_CORE, _MIG = "hami-core", "mig"
_VENDOR = "NVIDIA"
_ALL = 100
_FIELDS = 5


class Part(NamedTuple):
    """What one container asks for on each of its cards."""

    cards: int
    memory: int
    percentage: int
    cores: int

    def memory_on(self, card: Card) -> int:
        return self.memory or card.memory * self.percentage // _ALL


class VirtualDemand(NamedTuple):
    """What a pod asks of the cards of a node."""

    parts: tuple[Part, ...]
    """One for each container, those that ask for no card included."""
    use: tuple[str, ...] = ()
    avoid: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    other_models: tuple[str, ...] = ()
    mode: str = ""
    apart: str = ""
    """The pod group whose pods must not meet on a card; empty: they may."""
    rules: frozenset[int] = frozenset()

    def wants(self, card: Card) -> bool:
        """Whether the card is one of those that the pod's annotations allow."""
        model = card.model.upper()
        return (
            (not self.use or card.uuid in self.use)
            and card.uuid not in self.avoid
            and (not self.models or any(name in model for name in self.models))
            and not any(name in model for name in self.other_models)
        )


def virtual_demand(pod: Pod, rules: frozenset[int]) -> VirtualDemand | None:
    """What a pod asks for; None where it asks for no virtual GPU."""
    parts = tuple(_part(container) for container in pod.containers)
    if not any(part.cards for part in parts):
        return None
    notes = pod.annotations
    return VirtualDemand(
        parts,
        _names(notes, _USE_UUID),
        _names(notes, _AVOID_UUID),
        tuple(name.upper() for name in _names(notes, _USE_TYPE)),
        tuple(name.upper() for name in _names(notes, _AVOID_TYPE)),
        notes.get(_MODE, ""),
        pod.group if notes.get(_GROUP_POLICY) == "spread" else "",
        rules,
    )


def _part(container: Container) -> Part:
    def amount(name: str) -> int:
        return in_whole(container.limits, name) or in_whole(container.requests, name)

    percentage = amount(PERCENTAGE)
    return Part(amount(CARDS), amount(MEMORY), percentage or _ALL, amount(CORES))


def _names(annotations: Mapping[str, str], key: str) -> tuple[str, ...]:
    return tuple(filter(None, (part.strip() for part in annotations.get(key, "").split(","))))


class _Trial:
    """A card with what the containers looked at so far would take of it."""

    __slots__ = ("card", "cores", "memory", "pods", "uses")

    def __init__(self, card: Card) -> None:
        self.card = card
        self.memory = card.used_memory
        self.cores = card.used_cores
        self.uses = card.uses
        self.pods = len(card.holders)

    def fits(self, part: Part) -> bool:
        card = self.card
        return (
            self.uses < card.slots
            and card.memory - self.memory >= part.memory_on(card)
            and self.cores + part.cores <= _ALL
            and not (part.cores == _ALL and self.uses)
            and not (part.cores == 0 and self.cores == _ALL)
        )

    def take(self, part: Part, container: int) -> Share:
        share = Share(self.card.index, part.memory_on(self.card), part.cores, container)
        self.memory += share.memory
        self.cores += share.cores
        self.uses += 1
        return share


class VirtualCards(CardPool):
    """The cards that a node registers, and the policy by which they are filled."""

    def __init__(self, text: str, policy: str) -> None:
        """:raises ValueError: the registration cannot be read."""
        cards, self.mode = _registered(text)
        super().__init__(cards)
        self._policy = policy

    def choose(self, demand: VirtualDemand) -> Choice | str:
        if demand.mode and demand.mode != self.mode:
            return f"the node shares its GPUs by {self.mode}, the pod wants {demand.mode}"
        if self.mode == _MIG:
            return "the node shares its GPUs by MIG, which is not built in"
        trials = [_Trial(card) for card in self.cards.values() if self._suits(card, demand)]
        shares: list[Share] = []
        score = 0.0
        for number, part in enumerate(demand.parts):
            fitting = [trial for trial in self._ordered(trials) if trial.fits(part)]
            if len(fitting) < part.cards:
                return "not enough virtual GPUs"
            for trial in fitting[: part.cards]:
                shares.append(trial.take(part, number))
                score += self._score(trial)
        return Choice(Holding(tuple(shares), demand.rules), score)

    def _suits(self, card: Card, demand: VirtualDemand) -> bool:
        if not demand.wants(card) or card.is_barred(demand.rules):
            return False
        apart = demand.apart
        return not apart or all(holder.group != apart for holder in card.holders.values())

    def _ordered(self, trials: list[_Trial]) -> list[_Trial]:
        if self._policy == "binpack":
            return sorted(trials, key=lambda trial: (-trial.memory, -trial.card.index))
        if self._policy == "spread":
            return sorted(trials, key=lambda trial: (trial.pods, -trial.card.index))
        return sorted(trials, key=lambda trial: -trial.card.index)

    def _score(self, trial: _Trial) -> float:
        """Of a card with its new share: upstream's ``spread`` asks for one with no pod at all."""
        if self._policy != "binpack" or not trial.card.memory:
            return 0.0
        return 100 * trial.memory / trial.card.memory

    def recall(self, pod: Pod, demand: VirtualDemand) -> Holding | None:
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
                    shares.append(Share(card, int(fields[2]), int(fields[3]), number))
        return Holding(tuple(shares), demand.rules) if shares else None

    def annotations(self, node: str, holding: Holding, now: float) -> dict[str, str]:
        containers = [""] * (1 + max(share.container for share in holding.shares))
        for share in holding.shares:
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
    """The cards of a node that registers any.

    :raises ValueError: its registration cannot be read.
    """
    text = node.annotations.get(REGISTER, "").strip()
    return VirtualCards(text, policy) if text else None


def _registered(text: str) -> tuple[list[Card], str]:
    """The healthy cards and the mode, from ``UUID,SLOTS,MEMORY,TYPE,HEALTHY,MODE:…``."""
    cards: list[Card] = []
    mode = ""
    for index, entry in enumerate(filter(None, text.split(":"))):
        fields = [part.strip() for part in entry.split(",")]
        if len(fields) < _FIELDS or not (fields[1].isdecimal() and fields[2].isdecimal()):
            raise ValueError(
                f"{REGISTER}: {entry!r} is not like 'UUID,SLOTS,MEMORY,TYPE,HEALTHY,MODE'"
            )
        mode = mode or (fields[5] if len(fields) > _FIELDS else _CORE)
        if fields[4].lower() == "true":
            uuid, slots, memory, model = fields[0], int(fields[1]), int(fields[2]), fields[3]
            cards.append(Card(index, memory, uuid, model, slots))
    return cards, mode
