"""Clusters for one cycle after another: what has not changed is not built again."""

from __future__ import annotations

from collections.abc import Collection

from pumice.errors import InvariantError
from pumice.model.cluster import Cluster, build_cluster
from pumice.model.facts import Inventory
from pumice.model.incremental.compare import first_difference
from pumice.model.incremental.diff import KnownFacts
from pumice.model.incremental.refresh import CachedCluster


class ClusterKeeper:
    """Makes the cluster of each cycle out of that of the last one, where that can be done.

    The result is what :func:`~pumice.model.cluster.build_cluster` makes of the same facts. A
    cluster that was taken back is the raw material of the next one: whoever still looks at it then
    sees the next cycle. One that was not taken back stays as it is, and the next is built from the
    ground.
    """

    def __init__(self, *, fresh: bool = False, verify: bool = False) -> None:
        self.fresh = fresh
        """Build every cluster from the ground."""
        self.verify = verify
        """Compare every cluster with one that is built from the ground."""
        self._kept: CachedCluster | None = None
        self._returned = False

    def cluster(
        self, inventory: Inventory, *, now: float, scheduler_names: Collection[str] = ()
    ) -> Cluster:
        """The cluster of a cycle that begins now.

        :raises InvariantError: the cluster is not what it would be if it were built, and somebody
            wants to know.
        """
        kept = self._kept if self._returned and not self.fresh else None
        # Should anything go wrong on the way, there is nothing to go on with.
        self._kept, self._returned = None, False
        if kept is None or not kept.renew(inventory, now=now, scheduler_names=scheduler_names):
            cluster = build_cluster(inventory, now=now, scheduler_names=scheduler_names)
            if self.fresh or not KnownFacts.are_regular(inventory):
                return cluster
            kept = CachedCluster(cluster, scheduler_names)
        if self.verify:
            self._check(kept.cluster, scheduler_names)
        self._kept = kept
        return kept.cluster

    def take_back(self, cluster: Cluster) -> None:
        """The cycle is over: the cluster may be made into the next one."""
        self._returned = self._kept is not None and self._kept.cluster is cluster

    def _check(self, cluster: Cluster, scheduler_names: Collection[str]) -> None:
        built = build_cluster(cluster.inventory, now=cluster.now, scheduler_names=scheduler_names)
        difference = first_difference(cluster, built)
        if difference is not None:
            raise InvariantError(f"the cluster that was kept is out of date: {difference}")
        cluster.snapshot_cache.verify()
        cluster.nodes.lasting.verify = True
