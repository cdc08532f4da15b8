"""One queue as the capacity plugin sees it."""

from __future__ import annotations

from pumice import MIN_RESOURCE, Task, common_depth
from pumice_builtin_plugins.capacity.devices import DeviceAccount, device_capability
from pumice_builtin_plugins.quota.queue_accounts import QueueAccount
from pumice_builtin_plugins.quota.resource_columns import Request, fits


class CapacityQueue:
    """A queue: its account, its ancestors, its devices, and reservations for admitted tasks."""

    __slots__ = (
        "account",
        "ancestors",
        "children",
        "deserved_amounts",
        "deserves_nothing",
        "devices",
        "guaranteed",
        "name",
        "path",
        "reserved",
        "share_at_open",
    )

    def __init__(self, account: QueueAccount, ancestors: tuple[CapacityQueue, ...] = ()) -> None:
        self.name = account.queue.name
        self.account = account
        self.ancestors = ancestors
        """From the root to the parent; empty in flat mode."""
        self.path: tuple[CapacityQueue, ...] = (self, *reversed(ancestors))
        """From the queue itself to the root."""
        self.children: list[CapacityQueue] = []
        self.devices = DeviceAccount(device_capability(account.queue))
        self.reserved: dict[str, Request] = {}
        """By task uid: requests of tasks that passed the queue gate and are not placed yet."""
        self.guaranteed: Request = ()
        self.deserved_amounts: dict[int, float] = {}
        """Deserved by position; cpu and memory only where they are not 0."""
        self.deserves_nothing = True
        """Whether deserved is empty, pods aside."""
        self.share_at_open: float | None = None
        """The share to compare for the whole session; None: it follows what is allocated."""

    @property
    def is_leaf(self) -> bool:
        return not self.children

    @property
    def share(self) -> float:
        """The dominant share of deserved; Volcano's rule: 1 where nothing is deserved."""
        if self.deserves_nothing:
            return 1.0
        return self.account.share if self.share_at_open is None else self.share_at_open

    def settle(self) -> None:
        """Derive what is compared per task from guarantee, real capability and deserved."""
        account, columns = self.account, self.account.columns
        account.bound = columns.amounts(account.real_capability)
        self.deserves_nothing = account.deserved.is_empty()
        self.guaranteed = tuple(
            (columns.position[name], int(amount))
            for name, amount in account.guarantee.items()
            if amount > 0
        )
        # Volcano compares a scalar as soon as deserved names it, even with 0.
        self.deserved_amounts = {
            columns.position[name]: amount
            for name, amount in account.deserved.items()
            if name in account.deserved.scalars or amount >= MIN_RESOURCE
        }

    def fits(self, task: Task, request: Request, allocated: list[int] | None = None) -> bool:
        """Whether the task fits into the real capability beside all other reservations.

        ``allocated`` stands for what the queue holds in a simulation.
        """
        amounts = self.account.allocated if allocated is None else allocated
        if not self.reserved:
            return fits(amounts, request, self.account.bound)
        amounts = list(amounts)
        for uid, reservation in self.reserved.items():
            if uid != task.uid:
                for position, amount in reservation:
                    amounts[position] += amount
        return fits(amounts, request, self.account.bound)

    def stays_deserved(self, request: Request) -> bool:
        """Whether ``allocated + request`` stays within deserved in at least one resource."""
        allocated, deserved = self.account.allocated, self.account.deserved
        names = self.account.columns.names
        for position, amount in request:
            if not allocated[position] + amount - deserved.get(names[position]) >= MIN_RESOURCE:
                return True
        return False

    def ancestor(self, level: int) -> CapacityQueue | None:
        """The ancestor this many levels up, the parent being level 1; never the root."""
        return self.ancestors[-level] if level < len(self.ancestors) else None

    def __repr__(self) -> str:
        return f"<capacity queue {self.name}>"


def below_common_ancestor(
    left: CapacityQueue, right: CapacityQueue
) -> tuple[CapacityQueue, CapacityQueue]:
    """The two queues, or their ancestors, just below their lowest common ancestor."""
    depth = common_depth(left.ancestors, right.ancestors)
    return (
        left.ancestors[depth] if depth < len(left.ancestors) else left,
        right.ancestors[depth] if depth < len(right.ancestors) else right,
    )
