"""The GPUs of a node one by one: who holds how much of each, and which are free."""

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


class Share(NamedTuple):
    """A part of one card."""

    card: int
    memory: int
    cores: int = 0
    container: int = 0
    """Which container of the pod it is for."""


class Holding(NamedTuple):
    """What one pod has of a node's cards, and with whom it must not share one."""

    shares: tuple[Share, ...]
    rules: frozenset[int] = frozenset()
    """The exclusive rules that the pod falls under."""
    group: str = ""


class Choice(NamedTuple):
    """The cards that a pod would get."""

    holding: Holding
    score: float = 0.0


@dataclass(slots=True, eq=False)
class Card:
    """One GPU and what is taken of it."""

    index: int
    memory: int
    uuid: str = ""
    model: str = ""
    slots: int = 0
    """How many may share it."""
    used_memory: int = 0
    used_cores: int = 0
    uses: int = 0
    holders: dict[str, Holding] = field(default_factory=dict)

    def is_barred(self, rules: frozenset[int]) -> bool:
        """Whether a pod under the same exclusive rule has a part of it."""
        return bool(rules) and any(rules & other.rules for other in self.holders.values())


class CardPool:
    """The cards of one node. Subclasses choose among them."""

    def __init__(self, cards: Iterable[Card]) -> None:
        self.cards = {card.index: card for card in cards}
        self.holdings: dict[str, Holding] = {}

    def hold(self, uid: str, holding: Holding) -> None:
        self.holdings[uid] = holding
        self._count(uid, holding, 1)

    def drop(self, uid: str) -> None:
        holding = self.holdings.pop(uid, None)
        if holding is not None:
            self._count(uid, holding, -1)

    def _count(self, uid: str, holding: Holding, sign: int) -> None:
        for share in holding.shares:
            card = self.cards[share.card]
            card.used_memory += sign * share.memory
            card.used_cores += sign * share.cores
            card.uses += sign
            if sign > 0:
                card.holders[uid] = holding
            else:
                card.holders.pop(uid, None)

    def choose(self, demand: Any) -> Choice | str:
        """The cards for a demand, or why there are none."""
        raise NotImplementedError

    def recall(self, pod: Pod, demand: Any) -> Holding | None:
        """What a pod on the node holds, as its annotations tell.

        :raises ValueError: they cannot be read.
        """
        raise NotImplementedError

    def annotations(self, node: str, holding: Holding, now: float) -> dict[str, str]:
        """What tells the device plugin which cards a pod got."""
        raise NotImplementedError


class UnknownCards(CardPool):
    """The cards of a node that cannot be told."""

    def __init__(self) -> None:
        super().__init__(())

    def choose(self, demand: Any) -> Choice | str:
        return "the node's GPUs cannot be told"

    def recall(self, pod: Pod, demand: Any) -> Holding | None:
        return None


class CardDemand(NamedTuple):
    """Memory on one card, or a number of whole ones."""

    amount: int
    rules: frozenset[int] = frozenset()


class _PlainCards(CardPool):
    def recall(self, pod: Pod, demand: CardDemand) -> Holding | None:
        text = pod.annotations.get(INDEX, "")
        if not text:
            return None
        cards = _indices(text, INDEX)
        shares = (Share(i, self.part(i, demand)) for i in cards if i in self.cards)
        return Holding(tuple(shares), demand.rules)

    def part(self, index: int, demand: CardDemand) -> int:
        """The memory that a pod takes of one card."""
        raise NotImplementedError

    def annotations(self, node: str, holding: Holding, now: float) -> dict[str, str]:
        cards = ",".join(str(share.card) for share in holding.shares)
        return {INDEX: cards, TIME: str(int(now * _NANO))}


class SharedCards(_PlainCards):
    """Cards shared by memory: a pod takes a part of one."""

    def part(self, index: int, demand: CardDemand) -> int:
        return demand.amount

    def choose(self, demand: CardDemand) -> Choice | str:
        for index, card in sorted(self.cards.items()):
            if card.memory - card.used_memory >= demand.amount and not card.is_barred(demand.rules):
                return Choice(Holding((Share(index, demand.amount),), demand.rules))
        return "no GPU has enough free memory"


class WholeCards(_PlainCards):
    """Cards given out whole."""

    def part(self, index: int, demand: CardDemand) -> int:
        return self.cards[index].memory

    def choose(self, demand: CardDemand) -> Choice | str:
        idle = [index for index, card in sorted(self.cards.items()) if not card.uses]
        if len(idle) < demand.amount:
            return "not enough idle GPUs"
        shares = (Share(index, self.cards[index].memory) for index in idle[: demand.amount])
        return Choice(Holding(tuple(shares), demand.rules))


def plain_cards(node: Node) -> list[Card]:
    """The healthy cards that a node says it has; all are of one size.

    :raises ValueError: the annotation that names the unhealthy ones cannot be read.
    """
    number, memory = in_whole(node.capacity, NUMBER), in_whole(node.capacity, MEMORY)
    if not number or not memory:
        return []
    broken = set(_indices(node.annotations.get(UNHEALTHY, ""), UNHEALTHY))
    return [Card(index, memory // number) for index in range(number) if index not in broken]


def asked(pod: Pod, name: str) -> int:
    """What a pod asks of a device: all containers together or the largest init container."""
    limits = [in_whole(container.limits, name) for container in pod.containers]
    starting = [in_whole(container.limits, name) for container in pod.init_containers]
    return max(sum(limits), max(starting, default=0))


def asks(containers: Sequence[Container], name: str) -> bool:
    return any(name in c.limits.scalars or name in c.requests.scalars for c in containers)


def in_whole(resource: Any, name: str) -> int:
    return int(resource.scalars.get(name, 0)) // _MILLI


def matching_rules(rules: Sequence[Mapping[str, str]], labels: Mapping[str, str]) -> frozenset[int]:
    """The numbers of the rules whose labels the pod has all of."""
    return frozenset(
        number
        for number, rule in enumerate(rules)
        if rule and all(labels.get(key) == value for key, value in rule.items())
    )


def _indices(text: str, name: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",") if part.strip()]
    except ValueError:
        raise ValueError(f"{name}: {text!r} is no list of numbers like '0,2'") from None
