"""One queue as the capacity plugin sees it."""

from __future__ import annotations

from pumice import MIN_RESOURCE, Task
from pumice_builtin_plugins.capacity.device_quota import DeviceBooks, device_limits
from pumice_builtin_plugins.quota.queue_books import Asked, QueueShare, fits


class Account:
    """One queue: its books, its ancestors, its devices, and room kept for admitted tasks."""

    __slots__ = (
        "ancestors",
        "books",
        "children",
        "devices",
        "entitled",
        "guaranteed",
        "name",
        "path",
        "reserved",
        "unentitled",
    )

    def __init__(self, books: QueueShare, ancestors: tuple[Account, ...] = ()) -> None:
        self.name = books.queue.name
        self.books = books
        self.ancestors = ancestors
        """The root first, the parent last; nobody in flat mode."""
        self.path: tuple[Account, ...] = (self, *reversed(ancestors))
        """The queue itself, its parent, and so on up to the root."""
        self.children: list[Account] = []
        self.devices = DeviceBooks(device_limits(books.queue))
        self.reserved: dict[str, Asked] = {}
        """By task uid: room for tasks that the queue has admitted but nobody has placed yet."""
        self.guaranteed: Asked = ()
        self.entitled: dict[int, float] = {}
        """Deserved amounts by position; of cpu and memory only where there is some."""
        self.unentitled = True
        """Whether the queue deserves nothing at all, pods aside."""

    @property
    def is_leaf(self) -> bool:
        return not self.children

    @property
    def share(self) -> float:
        """The part of what it deserves that the queue has; 1 when it deserves nothing."""
        return 1.0 if self.unentitled else self.books.share

    def settle(self) -> None:
        """Derive what is compared again and again from guarantee, capability and deserved."""
        books, columns = self.books, self.books.columns
        books.ceiling = columns.amounts(books.real_capability)
        self.unentitled = books.deserved.is_empty()
        self.guaranteed = tuple(
            (columns.position[name], int(amount))
            for name, amount in books.guarantee.items()
            if amount > 0
        )
        self.entitled = {
            columns.position[name]: amount
            for name, amount in books.deserved.items()
            if name in books.deserved.scalars or amount >= MIN_RESOURCE
        }

    def has_room(self, task: Task, asked: Asked, held: list[int] | None = None) -> bool:
        """Whether the task fits below the real capability, beside what others were admitted."""
        amounts = self.books.allocated if held is None else held
        if self.reserved:
            amounts = list(amounts)
        for uid, other in self.reserved.items():
            if uid != task.uid:
                for position, amount in other:
                    amounts[position] += amount
        return fits(amounts, asked, self.books.ceiling)

    def deserves(self, asked: Asked) -> bool:
        """Whether the queue would stay within its deserved amount in any resource asked for."""
        held, columns = self.books.allocated, self.books.columns
        deserved = self.books.deserved
        return any(
            not held[position] + amount - deserved.get(columns.names[position]) >= MIN_RESOURCE
            for position, amount in asked
        )

    def above(self, level: int) -> Account | None:
        """The ancestor so many levels up; the root does not count."""
        return self.ancestors[-level] if level < len(self.ancestors) else None

    def __repr__(self) -> str:
        return f"<account {self.name}>"
