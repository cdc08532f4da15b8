"""What differs between jobs, pods and nodes of Volcano and of KAI."""

from __future__ import annotations

from pumice.model.families.base import Family, FamilyName
from pumice.model.families.kai.family import Kai
from pumice.model.families.volcano.family import Volcano

__all__ = ["DEFAULT_PRIORITIES", "Family", "FamilyName", "Kai", "Volcano", "families_of"]

DEFAULT_PRIORITIES: dict[FamilyName, int] = {
    "volcano": Volcano.default_priority,
    "kai": Kai.default_priority,
}
"""Of jobs without a priority class, where no class is the global default."""


def families_of(*, kai: bool) -> dict[FamilyName, Family]:
    """The families by name, for a cluster with or without KAI jobs."""
    return {"volcano": Volcano(beside_kai=kai), "kai": Kai()}
