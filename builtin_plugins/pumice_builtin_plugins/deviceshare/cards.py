"""The GPUs of a node one by one: how much of each card is allocated, and to which pods."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pumice import Container, Node, Pod

MEMORY, NUMBER = "volcano.sh/gpu-memory", "volcano.sh/gpu-number"
INDEX, TIME = "volcano.sh/gpu-index", "volcano.sh/predicate-time"
UNHEALTHY = "volcano.sh/gpu-unhealthy-ids"
_MILLI = 1000
_NANO = 1_000_000_000


class CardShare(NamedTuple):
    """A part of one card for one container."""

    card: int
    memory: int
    cores: int = 0
    container: int = 0
    """Index of the container in the pod."""


class CardAllocation(NamedTuple):
    """The cards of one pod, and what it must not share a card with."""

    shares: tuple[CardShare, ...]
    rules: frozenset[int] = frozenset()
    """The exclusive rules that the pod matches."""
    group: str = ""


class CardChoice(NamedTuple):
    """The cards that a pod would be assigned."""

    allocation: CardAllocation
    score: float = 0.0


@dataclass(slots=True, eq=False)
class Card:
    """One GPU and what is allocated of it."""

    index: int
    memory: int
    uuid: str = ""
    model: str = ""
    max_shares: int = 0
    """How many containers may share it."""
    used_memory: int = 0
    used_cores: int = 0
    share_count: int = 0
    holders: dict[str, CardAllocation] = field(default_factory=dict)

    def is_excluded(self, rules: frozenset[int]) -> bool:
        """Whether a pod that matches one of the same exclusive rules has a part of it."""
        return bool(rules) and any(rules & other.rules for other in self.holders.values())


class CardPool:
    """The cards of one node; subclasses choose among them."""

    def __init__(self, cards: Iterable[Card]) -> None:
        self.cards = {card.index: card for card in cards}
        self.allocations: dict[str, CardAllocation] = {}

    def allocate(self, uid: str, allocation: CardAllocation) -> None:
        self.allocations[uid] = allocation
        self._count(uid, allocation, 1)

    def release(self, uid: str) -> None:
        allocation = self.allocations.pop(uid, None)
        if allocation is not None:
            self._count(uid, allocation, -1)

    def _count(self, uid: str, allocation: CardAllocation, sign: int) -> None:
        for share in allocation.shares:
            card = self.cards[share.card]
            card.used_memory += sign * share.memory
            card.used_cores += sign * share.cores
            card.share_count += sign
            if sign > 0:
                card.holders[uid] = allocation
            else:
                card.holders.pop(uid, None)

    def choose(self, request: Any) -> CardChoice | str:
        """The cards for a request, or the reason why there are none."""
        raise NotImplementedError

    def read_allocation(self, pod: Pod, request: Any) -> CardAllocation | None:
        """The cards of a running pod, from its annotations; None: it has none.

        :raises ValueError: an annotation is malformed.
        """
        raise NotImplementedError

    def annotations(self, node: str, allocation: CardAllocation, now: float) -> dict[str, str]:
        """The annotations that tell the device plugin which cards to use."""
        raise NotImplementedError


class UnknownCards(CardPool):
    """The cards of a node whose annotations are malformed."""

    def __init__(self) -> None:
        super().__init__(())

    def choose(self, request: Any) -> CardChoice | str:
        return "the node's GPUs are unknown"

    def read_allocation(self, pod: Pod, request: Any) -> CardAllocation | None:
        return None


class CardRequest(NamedTuple):
    """A request for memory on one card, or for a number of whole cards."""

    amount: int
    rules: frozenset[int] = frozenset()


class _IndexedCards(CardPool):
    def read_allocation(self, pod: Pod, request: CardRequest) -> CardAllocation | None:
        text = pod.annotations.get(INDEX, "")
        if not text:
            return None
        cards = _indices(text, INDEX)
        shares = (CardShare(i, self.part(i, request)) for i in cards if i in self.cards)
        return CardAllocation(tuple(shares), request.rules)

    def part(self, index: int, request: CardRequest) -> int:
        """The memory that a pod uses of one card."""
        raise NotImplementedError

    def annotations(self, node: str, allocation: CardAllocation, now: float) -> dict[str, str]:
        cards = ",".join(str(share.card) for share in allocation.shares)
        return {INDEX: cards, TIME: str(int(now * _NANO))}


class SharedCards(_IndexedCards):
    """Cards shared by memory: a pod uses a part of one card, the first with room."""

    def part(self, index: int, request: CardRequest) -> int:
        return request.amount

    def choose(self, request: CardRequest) -> CardChoice | str:
        for index, card in sorted(self.cards.items()):
            if card.memory - card.used_memory >= request.amount and not card.is_excluded(
                request.rules
            ):
                return CardChoice(
                    CardAllocation((CardShare(index, request.amount),), request.rules)
                )
        return "no GPU has enough free memory"


class WholeCards(_IndexedCards):
    """Cards assigned whole."""

    def part(self, index: int, request: CardRequest) -> int:
        return self.cards[index].memory

    def choose(self, request: CardRequest) -> CardChoice | str:
        idle = [index for index, card in sorted(self.cards.items()) if not card.share_count]
        if len(idle) < request.amount:
            return "not enough idle GPUs"
        shares = (CardShare(index, self.cards[index].memory) for index in idle[: request.amount])
        return CardChoice(CardAllocation(tuple(shares), request.rules))


def plain_cards(node: Node) -> list[Card]:
    """The healthy cards of a node; all have the same memory.

    :raises ValueError: the annotation with the unhealthy ones is malformed.
    """
    number, memory = in_whole(node.capacity, NUMBER), in_whole(node.capacity, MEMORY)
    if not number or not memory:
        return []
    broken = set(_indices(node.annotations.get(UNHEALTHY, ""), UNHEALTHY))
    return [Card(index, memory // number) for index in range(number) if index not in broken]


def requested(pod: Pod, name: str) -> int:
    """The limit of a pod on a device: all containers together or the largest init container."""
    limits = [in_whole(container.limits, name) for container in pod.containers]
    init_limits = [in_whole(container.limits, name) for container in pod.init_containers]
    return max(sum(limits), max(init_limits, default=0))


def requests_device(containers: Sequence[Container], name: str) -> bool:
    return any(name in c.limits.scalars or name in c.requests.scalars for c in containers)


def in_whole(resource: Any, name: str) -> int:
    return int(resource.scalars.get(name, 0)) // _MILLI


def matching_rules(rules: Sequence[Mapping[str, str]], labels: Mapping[str, str]) -> frozenset[int]:
    """The positions of the rules all of whose labels the pod has."""
    return frozenset(
        number
        for number, rule in enumerate(rules)
        if rule and all(labels.get(key) == value for key, value in rule.items())
    )


def _indices(text: str, name: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",") if part.strip()]
    except ValueError:
        raise ValueError(f"{name}: {text!r} is not a list of numbers like '0,2'") from None
