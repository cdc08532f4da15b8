"""The cluster of each cycle: what has not changed is not built again."""

from __future__ import annotations

from collections.abc import Collection

from pumice.errors import InvariantError
from pumice.model.cluster import Cluster, build_cluster
from pumice.model.facts import Inventory
from pumice.model.incremental.compare import first_difference
from pumice.model.incremental.diff import KnownFacts
from pumice.model.incremental.refresh import CachedCluster


class ClusterKeeper:
    """Refreshes the cluster of the last cycle for the next one, where that is possible.

    The result is what :func:`~pumice.model.cluster.build_cluster` makes of the same facts. A
    cluster that was taken back is changed into the next one, so a reference to it then shows the
    next cycle. One that was not taken back stays as it is, and the next is built from scratch.
    """

    def __init__(self, *, fresh: bool = False, verify: bool = False) -> None:
        self.fresh = fresh
        """Build every cluster from scratch."""
        self.verify = verify
        """Compare every cluster with one that is built from scratch."""
        self._cached: CachedCluster | None = None
        self._returned = False

    def cluster(
        self, inventory: Inventory, *, now: float, scheduler_names: Collection[str] = ()
    ) -> Cluster:
        """The cluster of a cycle that begins now.

        :raises InvariantError: with ``verify``, the cluster differs from one built from scratch.
        """
        cached = self._cached if self._returned and not self.fresh else None
        # After an exception on the way the next cluster is built from scratch.
        self._cached, self._returned = None, False
        if cached is None or not cached.refresh(
            inventory, now=now, scheduler_names=scheduler_names
        ):
            cluster = build_cluster(inventory, now=now, scheduler_names=scheduler_names)
            if self.fresh or not KnownFacts.are_regular(inventory):
                return cluster
            cached = CachedCluster(cluster, scheduler_names)
        if self.verify:
            self._check(cached.cluster, scheduler_names)
        self._cached = cached
        return cached.cluster

    def take_back(self, cluster: Cluster) -> None:
        """The cycle is over: the cluster may be refreshed for the next one."""
        self._returned = self._cached is not None and self._cached.cluster is cluster

    def _check(self, cluster: Cluster, scheduler_names: Collection[str]) -> None:
        built = build_cluster(cluster.inventory, now=cluster.now, scheduler_names=scheduler_names)
        difference = first_difference(cluster, built)
        if difference is not None:
            raise InvariantError(f"the cached cluster is out of date: {difference}")
        cluster.snapshot_cache.verify()
        cluster.nodes.lasting.verify = True
