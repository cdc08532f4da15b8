"""Heaps that the actions take queues, jobs and victims from."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
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
    """The first element by keys that are taken when an element is pushed.

    What is pushed before the first pop is sorted once; only what comes later needs a heap.
    """

    __slots__ = ("_entries", "_first", "_is_sorted", "_key", "_later")

    def __init__(self, key: Callable[[T], Any], items: Iterable[T] = ()) -> None:
        self._key = key
        self._entries: list[tuple[Any, T]] = []
        """Once they are sorted, the first one is the last of the list."""
        self._is_sorted = False
        self._later: list[tuple[Any, T]] = []
        """A heap of what was pushed after the first pop."""
        self._first: tuple[Any, T] | None = None
        """The first entry, until the entries are sorted."""
        for item in items:
            self.push(item)

    def __len__(self) -> int:
        return len(self._entries) + len(self._later)

    def __iter__(self) -> Iterator[T]:
        return (item for _, item in chain(self._entries, self._later))

    def push(self, item: T, key: Any = None) -> None:
        """Add an element; its key is taken now, unless it is known already."""
        entry = (self._key(item) if key is None else key, item)
        if self._is_sorted:
            heapq.heappush(self._later, entry)
            return
        self._entries.append(entry)
        if self._first is None or entry < self._first:
            self._first = entry

    def pop(self) -> T:
        entries, later = self._entries, self._later
        if not self._is_sorted:
            entries.sort(reverse=True)
            self._is_sorted = True
        if later and (not entries or later[0] < entries[-1]):
            return heapq.heappop(later)[1]
        return entries.pop()[1]

    @property
    def top(self) -> T:
        first = self.peek()
        if first is None:
            raise IndexError("the heap is empty")
        return first

    def peek(self) -> T | None:
        """The first element; None: the heap is empty."""
        entries, later = self._entries, self._later
        if not self._is_sorted:
            return None if self._first is None else self._first[1]
        if later and (not entries or later[0] < entries[-1]):
            return later[0][1]
        return entries[-1][1] if entries else None
