"""Which roles of a job want to be together and which apart, as its pod group's annotations say."""

from __future__ import annotations

from collections.abc import Collection, Mapping

AFFINITY = "volcano.sh/task-topology-affinity"
ANTI_AFFINITY = "volcano.sh/task-topology-anti-affinity"
ORDER = "volcano.sh/task-topology-task-order"
_SELF_ANTI, _BETWEEN, _SELF, _BETWEEN_ANTI = 4, 3, 2, 1


class Roles:
    """Attraction and repulsion between roles; a pair of a role with itself is about its own tasks.

    Made by :meth:`read`.
    """

    def __init__(self) -> None:
        self.near: set[tuple[str, str]] = set()
        self.apart: set[tuple[str, str]] = set()
        self.rank: dict[str, tuple[int, int]] = {}
        """For each role that has a wish: how early it is placed, by the user's order and by the
        kind of the wish; higher is earlier."""

    @classmethod
    def read(cls, annotations: Mapping[str, str], known: Collection[str]) -> Roles | None:
        """The wishes of a job whose tasks have the ``known`` roles; None: it has none.

        :raises ValueError: a role is unknown, or stands twice in a group or in the order.
        """
        roles = cls()
        strength: dict[str, int] = {}
        for key, pairs, alone, between in (
            (AFFINITY, roles.near, _SELF, _BETWEEN),
            (ANTI_AFFINITY, roles.apart, _SELF_ANTI, _BETWEEN_ANTI),
        ):
            for text in annotations.get(key, "").split(";"):
                group = _read_group(key, text, known)
                kind = alone if len(group) == 1 else between
                for role in group:
                    strength[role] = max(strength.get(role, 0), kind)
                    pairs.update((role, other) for other in group if other != role)
                if len(group) == 1:
                    pairs.add((group[0], group[0]))
        order = _read_group(ORDER, annotations.get(ORDER, ""), known)
        place = {role: len(order) - index for index, role in enumerate(order)}
        roles.rank = {role: (place.get(role, 0), kind) for role, kind in strength.items()}
        return roles if roles.rank else None

    def attraction(self, role: str, others: Mapping[str, int]) -> int:
        """How many of the other tasks, counted by role, attract the role, less those that repel."""
        attracting = sum(count for other, count in others.items() if (role, other) in self.near)
        return attracting - self.repulsion(role, others)

    def repulsion(self, role: str, others: Mapping[str, int]) -> int:
        return sum(count for other, count in others.items() if (role, other) in self.apart)


def _read_group(key: str, text: str, known: Collection[str]) -> list[str]:
    group = [role for part in text.split(",") if (role := part.strip())]
    for role in group:
        if role not in known:
            raise ValueError(f"{key}: no task has the role {role!r}")
        if group.count(role) > 1:
            raise ValueError(f"{key}: the role {role!r} stands twice in {text.strip()!r}")
    return group
