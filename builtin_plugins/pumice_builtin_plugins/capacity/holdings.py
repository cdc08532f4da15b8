"""What all queues hold, kept up with every placement, and copied for what-if questions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from pumice import ALLOCATED_STATUSES, Job, Session, Task
from pumice_builtin_plugins.capacity.accounts import Account
from pumice_builtin_plugins.capacity.device_quota import ClaimReader, Claims, DeviceBooks
from pumice_builtin_plugins.quota.queue_books import Columns, add_to, take_from


class Copy(NamedTuple):
    """What a queue would hold in an attempt."""

    held: list[int]
    devices: DeviceBooks


class Holdings:
    """Places and displaces tasks in the books of their queue and of all its ancestors."""

    def __init__(
        self, accounts: Mapping[str, Account], columns: Columns, claims: ClaimReader | None
    ) -> None:
        self._accounts = accounts
        self._columns = columns
        self._claims = claims
        self._waiting: set[str] = set()
        """Uids of tasks that hold reserved room."""
        self._placed: set[str] = set()
        """Uids of tasks whose reserved room became real."""

    def count_devices(self, session: Session) -> None:
        """Enter the claims of placed tasks and those promised to admitted jobs."""
        if self._claims is None:
            return
        for job in session.jobs.values():
            for member in self._path(job.queue):
                for task in job.having(*ALLOCATED_STATUSES):
                    member.devices.add(self._claims.of(task))
            if job.phase == "Inqueue":
                self.promise_devices(job)

    def promise_devices(self, job: Job) -> None:
        claims = self.claims_of_minimum(job)
        for member in self._path(job.queue):
            member.devices.promise(claims)

    def claims_of_minimum(self, job: Job) -> Claims:
        return {} if self._claims is None else self._claims.of_minimum(job)

    def _claims_of(self, task: Task) -> Claims:
        return {} if self._claims is None else self._claims.of(task)

    def _path(self, queue: str) -> tuple[Account, ...]:
        account = self._accounts.get(queue)
        return () if account is None else account.path

    # -- room

    def has_room(self, account: Account, task: Task) -> bool:
        """Whether the task fits into its queue and into every ancestor."""
        asked, claims = self._columns.asked(task), self._claims_of(task)
        for member in account.path:
            if not member.has_room(task, asked) or member.devices.lacks(claims):
                return False
        return True

    def reserve(self, account: Account, task: Task) -> None:
        """Keep room for a task that is admitted now and placed in some later cycle."""
        self._waiting.add(task.uid)
        for member in account.path:
            member.reserved[task.uid] = self._columns.asked(task)

    # -- what happens

    def place(self, task: Task) -> None:
        was_waiting = task.uid in self._waiting
        if was_waiting:
            self._waiting.remove(task.uid)
            self._placed.add(task.uid)
        claims = self._claims_of(task)
        for member in self._path(task.queue):
            member.books.add(task)
            member.devices.add(claims)
            if was_waiting:
                del member.reserved[task.uid]

    def displace(self, task: Task) -> None:
        waits_again = task.uid in self._placed
        if waits_again:
            self._placed.remove(task.uid)
            self._waiting.add(task.uid)
        claims = self._claims_of(task)
        for member in self._path(task.queue):
            member.books.take(task)
            member.devices.take(claims)
            if waits_again:
                member.reserved[task.uid] = self._columns.asked(task)

    # -- what if

    def simulate(self, copies: dict[str, Copy], task: Task, *, added: bool) -> None:
        """Add a task to an attempt's copies, or take it out of them."""
        claims = self._claims_of(task)
        for member in self._path(task.queue):
            copy = _copy(copies, member)
            if added:
                add_to(copy.held, task)
                copy.devices.add(claims)
            else:
                take_from(copy.held, task)
                copy.devices.take(claims)

    def would_have_room(self, copies: dict[str, Copy], account: Account, task: Task) -> bool:
        asked, claims = self._columns.asked(task), self._claims_of(task)
        for member in account.path:
            copy = _copy(copies, member)
            if not member.has_room(task, asked, copy.held) or copy.devices.lacks(claims):
                return False
        return True


def _copy(copies: dict[str, Copy], account: Account) -> Copy:
    copy = copies.get(account.name)
    if copy is None:
        copy = copies[account.name] = Copy(list(account.books.allocated), account.devices.copy())
    return copy
