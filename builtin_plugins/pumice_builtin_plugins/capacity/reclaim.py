"""Which tasks the capacity plugin lets other queues take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pumice import Task
from pumice_builtin_plugins.capacity.accounts import Account
from pumice_builtin_plugins.quota.queue_books import Columns, take_from


class Reclaiming:
    """One question: who may go for whom, with what the queues would have left by then."""

    def __init__(self, accounts: Mapping[str, Account], columns: Columns, levels: int) -> None:
        self._accounts = accounts
        self._columns = columns
        self._levels = levels
        """How many ancestors take part in the comparison."""
        self._left: dict[str, list[int]] = {}

    def victims(self, reclaimer: Task, candidates: Sequence[Task]) -> list[Task]:
        """The candidates that may be reclaimed for a task, tried in the given order."""
        wanted = {position for position, _ in self._columns.asked(reclaimer)}
        claimant = self._accounts[reclaimer.queue]
        return [
            task
            for task in candidates
            if any(position in wanted for position, _ in self._columns.asked(task))
            and self._may_go(task, (claimant, reclaimer))
        ]

    def surplus(self, candidates: Sequence[Task]) -> list[Task]:
        """The candidates that their queues hold beyond guarantee and deserved amount."""
        return [task for task in candidates if self._may_go(task)]

    def _may_go(self, task: Task, claim: tuple[Account, Task] | None = None) -> bool:
        account = self._accounts.get(task.queue)
        if account is None or self._cuts_guarantee(account, task):
            return False
        if not self._is_surplus(account, task):
            return False
        if claim is not None and not self._ancestors_agree(account, task, *claim):
            return False
        for member in account.path:
            take_from(self._left_of(member), task)
        return True

    def _left_of(self, account: Account) -> list[int]:
        left = self._left.get(account.name)
        if left is None:
            left = self._left[account.name] = list(account.books.allocated)
        return left

    def _cuts_guarantee(self, account: Account, task: Task) -> bool:
        if not account.guaranteed:
            return False
        left = list(self._left_of(account))
        take_from(left, task)
        return any(amount > left[position] for position, amount in account.guaranteed)

    def _is_surplus(self, account: Account, task: Task) -> bool:
        """Whether the queue deserves none of what the task holds, or has more than it deserves."""
        if _deserves_nothing(account, task):
            return True
        left, entitled = self._left_of(account), account.entitled
        return any(
            position in entitled and left[position] > entitled[position]
            for position, _ in self._columns.asked(task)
        )

    def _ancestors_agree(
        self, account: Account, task: Task, claimant: Account, reclaimer: Task
    ) -> bool:
        levels = range(1, self._levels + 1)
        if (
            _deserves_nothing(account, task)
            and _deserves_nothing(claimant, reclaimer)
            and {a for n in levels if (a := account.above(n))}
            & {a for n in levels if (a := claimant.above(n))}
        ):
            # Two relatives without any entitlement of their own would take turns.
            return False
        for level in levels:
            ancestor = account.above(level)
            if ancestor is None or ancestor is claimant.above(level):
                continue
            if not self._is_surplus(ancestor, task):
                return False
        return True


def _deserves_nothing(account: Account, task: Task) -> bool:
    """Whether the queue deserves none of the resources that the task asks for, pods included."""
    entitled = account.entitled
    return not any(
        amount and entitled.get(position, 0) for position, amount in enumerate(task.vector.tolist())
    )
