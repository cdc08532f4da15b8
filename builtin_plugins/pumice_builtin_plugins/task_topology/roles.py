"""Affinity between the roles of a job, read from annotations of its pod group."""

from __future__ import annotations

from collections.abc import Collection, Mapping

AFFINITY = "volcano.sh/task-topology-affinity"
ANTI_AFFINITY = "volcano.sh/task-topology-anti-affinity"
ORDER = "volcano.sh/task-topology-task-order"
_SELF_ANTI, _BETWEEN, _SELF, _BETWEEN_ANTI = 4, 3, 2, 1


class RoleAffinity:
    """Affinity and anti-affinity between roles; a role paired with itself is about its own tasks.

    Made by :meth:`read`.
    """

    def __init__(self) -> None:
        self.affinity: set[tuple[str, str]] = set()
        self.anti_affinity: set[tuple[str, str]] = set()
        self.rank: dict[str, tuple[int, int]] = {}
        """For each role that is named: how early it is placed, by the user's order and by the kind
        of its affinity; higher is earlier."""

    @classmethod
    def read(cls, annotations: Mapping[str, str], known: Collection[str]) -> RoleAffinity | None:
        """The affinity of a job whose tasks have the ``known`` roles; None: it has none.

        :raises ValueError: a role is unknown, or named twice in a group or in the order.
        """
        result = cls()
        strength: dict[str, int] = {}
        for key, pairs, within, between in (
            (AFFINITY, result.affinity, _SELF, _BETWEEN),
            (ANTI_AFFINITY, result.anti_affinity, _SELF_ANTI, _BETWEEN_ANTI),
        ):
            for text in annotations.get(key, "").split(";"):
                group = _read_group(key, text, known)
                kind = within if len(group) == 1 else between
                for role in group:
                    strength[role] = max(strength.get(role, 0), kind)
                    pairs.update((role, other) for other in group if other != role)
                if len(group) == 1:
                    pairs.add((group[0], group[0]))
        order = _read_group(ORDER, annotations.get(ORDER, ""), known)
        place = {role: len(order) - index for index, role in enumerate(order)}
        result.rank = {role: (place.get(role, 0), kind) for role, kind in strength.items()}
        return result if result.rank else None

    def balance(self, role: str, others: Mapping[str, int]) -> int:
        """Tasks with affinity to the role, less those with anti-affinity; ``others``: by role."""
        with_affinity = sum(n for other, n in others.items() if (role, other) in self.affinity)
        return with_affinity - self.conflicts(role, others)

    def conflicts(self, role: str, others: Mapping[str, int]) -> int:
        """How many of the other tasks have anti-affinity to the role."""
        return sum(n for other, n in others.items() if (role, other) in self.anti_affinity)


def _read_group(key: str, text: str, known: Collection[str]) -> list[str]:
    group = [role for part in text.split(",") if (role := part.strip())]
    for role in group:
        if role not in known:
            raise ValueError(f"{key}: no task has the role {role!r}")
        if group.count(role) > 1:
            raise ValueError(f"{key}: the role {role!r} is named twice in {text.strip()!r}")
    return group
