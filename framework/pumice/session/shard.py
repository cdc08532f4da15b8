"""The node shard that this scheduler is responsible for."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from pumice.verdicts import Code, FitError

if TYPE_CHECKING:
    from pumice.config import SchedulerSettings
    from pumice.model.cluster import Cluster

NOT_IN_SHARD = FitError.of("node isn't in scheduler node shard", Code.UNSCHEDULABLE)


class Shard:
    """Mode ``none`` (all nodes), ``hard`` (only its own) or ``soft`` (its own first)."""

    __slots__ = ("inside", "mode")

    fit_error: ClassVar[FitError] = NOT_IN_SHARD
    """Why a node outside of the shard takes no task."""

    def __init__(self, mode: str, inside: np.ndarray) -> None:
        self.mode = mode
        """``none``, ``hard`` or ``soft``."""
        self.inside = inside
        """Mask over all nodes."""

    @classmethod
    def of(cls, cluster: Cluster, settings: SchedulerSettings) -> Shard:
        """The shard that the policy names."""
        mode = settings.sharding_mode
        shards = cluster.inventory.others.get("NodeShard", {})
        status = shards.get(settings.shard, {}).get("status") or {}
        inside, names = set(status.get("nodesInUse") or ()), cluster.nodes.names
        if not inside:
            return cls(mode, np.zeros(len(names), bool))
        return cls(mode, np.array([name in inside for name in names], bool))

    def split(self, rows: np.ndarray | None) -> list[np.ndarray | None]:
        """The rows in the groups in which they are tried, the own shard first."""
        if self.mode == "none":
            return [rows]
        every = np.arange(len(self.inside)) if rows is None else rows
        own = every[self.inside[every]]
        if self.mode == "hard":
            return [own]
        return [own, every[~self.inside[every]]]
