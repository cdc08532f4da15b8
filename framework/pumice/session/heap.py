"""Heaps that the actions take queues, jobs and victims from."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class LiveHeap(Generic[T]):
    """A binary heap over a comparison whose result may change while elements are inside.

    Elements stay where they are when it changes; only a push or a pop compares again, along one
    path, in the order of Go's container/heap, which Volcano and KAI use; conformance pins it.
    """

    __slots__ = ("_before", "_items")

    def __init__(self, before: Callable[[T, T], bool], items: Iterable[T] = ()) -> None:
        self._before = before
        self._items: list[T] = []
        for item in items:
            self.push(item)

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[T]:
        """The elements in no particular order."""
        return iter(self._items)

    def push(self, item: T) -> None:
        """Add an item."""
        items, before = self._items, self._before
        items.append(item)
        child = len(items) - 1
        while child:
            parent = (child - 1) // 2
            if not before(items[child], items[parent]):
                break
            items[parent], items[child] = items[child], items[parent]
            child = parent

    def pop(self) -> T:
        """Remove the first item and return it."""
        items = self._items
        last = len(items) - 1
        items[0], items[last] = items[last], items[0]
        self._sift_down(last)
        return items.pop()

    @property
    def top(self) -> T:
        """The first item."""
        return self._items[0]

    def peek(self) -> T | None:
        """The first item; None: the heap is empty."""
        items = self._items
        return items[0] if items else None

    @property
    def seconds(self) -> list[T]:
        """The one or two items with which the first one is compared when it moves down."""
        return self._items[1:3]

    def fix_top(self) -> None:
        """Move the top element down to where it belongs now."""
        self._sift_down(len(self._items))

    def drop_last(self) -> None:
        """Remove the last element of the array: a low one, not necessarily the lowest."""
        self._items.pop()

    def _sift_down(self, size: int) -> None:
        items, before = self._items, self._before
        parent = 0
        while True:
            child = 2 * parent + 1
            if child >= size:
                break
            if child + 1 < size and before(items[child + 1], items[child]):
                child += 1
            if not before(items[child], items[parent]):
                break
            items[parent], items[child] = items[child], items[parent]
            parent = child


class KeyHeap(Generic[T]):
    """A heap by keys that are taken when an element is pushed."""

    __slots__ = ("_entries", "_key")

    def __init__(self, key: Callable[[T], Any], items: Iterable[T] = ()) -> None:
        self._key = key
        self._entries: list[tuple[Any, T]] = [(key(item), item) for item in items]
        heapq.heapify(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[T]:
        return (item for _, item in self._entries)

    def push(self, item: T, key: Any = None) -> None:
        """Add an element; its key is taken now, unless it is known already."""
        heapq.heappush(self._entries, (self._key(item) if key is None else key, item))

    def pop(self) -> T:
        return heapq.heappop(self._entries)[1]

    @property
    def top(self) -> T:
        return self._entries[0][1]

    def peek(self) -> T | None:
        """The first element; None: the heap is empty."""
        entries = self._entries
        return entries[0][1] if entries else None
