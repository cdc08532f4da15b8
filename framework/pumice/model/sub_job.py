"""A sub-job: a part of a job with a minimum of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pumice.model.members import Members

if TYPE_CHECKING:
    from pumice.model.facts import NetworkTopology, Raw
    from pumice.model.families.kai.pod_sets import SubGroupSet
    from pumice.model.job import Job


class SubJob(Members):
    """A part of a job with a minimum, and a topology, of its own."""

    __slots__ = (
        "allocated_hyper_node",
        "group_id",
        "initial",
        "job",
        "match_index",
        "name",
        "network_topology",
        "nominated_hyper_node",
        "parent",
        "priority",
        "topology_constraint",
    )

    def __init__(
        self,
        uid: str,
        job: Job,
        *,
        group_id: str,
        min_available: int,
        name: str = "",
        match_index: int = 0,
        network_topology: NetworkTopology | None = None,
    ) -> None:
        super().__init__(uid, min_available)
        self.job = job
        """The job that it is a part of."""
        self.group_id = group_id
        """The rule, or group, of sub-jobs that it belongs to."""
        self.name = name
        """The name of the sub-group."""
        self.match_index = match_index
        """The number that its tasks' labels give, to order sub-jobs of one rule."""
        self.network_topology = network_topology
        """How close together its tasks must be."""
        self.priority = 0
        """Its priority among the sub-jobs of the job."""
        self.allocated_hyper_node = ""
        """The lowest hypernode that has all tasks placed so far."""
        self.nominated_hyper_node = ""
        """The hypernode that an action chose for it."""
        self.topology_constraint: Raw | None = None
        """KAI's topology constraint, as read."""
        self.parent: SubGroupSet | None = None
        """For a pod set: the inner sub-group above it."""
        self.initial: tuple[Any, ...] = ()
        """Its state when the cycle began, see :mod:`pumice.model.incremental.restore`."""

    def __repr__(self) -> str:
        return f"<sub-job {self.uid}>"
