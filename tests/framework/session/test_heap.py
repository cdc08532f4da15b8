"""Heaps: the sift order of the family schedulers."""

import heapq

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pumice.session.heap import KeyHeap, LiveHeap


class Textbook:
    """A textbook binary heap: push sifts up, pop swaps the ends and sifts down."""

    def __init__(self, less):
        self.less, self.a = less, []

    def push(self, x):
        self.a.append(x)
        j = len(self.a) - 1
        while j > 0 and self.less(self.a[j], self.a[(j - 1) // 2]):
            self.a[j], self.a[(j - 1) // 2] = self.a[(j - 1) // 2], self.a[j]
            j = (j - 1) // 2

    def pop(self):
        n = len(self.a) - 1
        self.a[0], self.a[n] = self.a[n], self.a[0]
        i = 0
        while (j := 2 * i + 1) < n:
            if j + 1 < n and self.less(self.a[j + 1], self.a[j]):
                j += 1
            if not self.less(self.a[j], self.a[i]):
                break
            self.a[i], self.a[j] = self.a[j], self.a[i]
            i = j
        return self.a.pop()


class Item:
    def __init__(self, name, value):
        self.name, self.value = name, value


steps = st.lists(st.tuples(st.sampled_from(["push", "pop", "change"]), st.integers(0, 5)))


@pytest.mark.parametrize("strict", [True, False])
@given(steps=steps)
def test_live_values_follow_the_sift_order_of_the_textbook(strict, steps):
    """Also for a comparison that says yes to equals, as a negated order does."""

    def before(left, right):
        return left.value < right.value if strict else not right.value < left.value

    ours, textbook, items = LiveHeap(before), Textbook(before), []
    for number, (step, value) in enumerate(steps):
        if step == "push":
            items.append(Item(number, value))
            ours.push(items[-1])
            textbook.push(items[-1])
        elif step == "change" and items:
            items[value % len(items)].value = value
        elif step == "pop" and len(ours):
            assert ours.pop() is textbook.pop()
        assert len(ours) == len(textbook.a)
    assert set(ours) == set(textbook.a)


@given(st.lists(st.integers()))
def test_a_heap_sorts(values):
    live, keyed = LiveHeap(int.__lt__, values), KeyHeap(lambda v: v, values)
    assert [live.pop() for _ in values] == sorted(values)
    assert [keyed.pop() for _ in values] == sorted(values)
    assert not live
    assert not keyed


@given(st.lists(st.one_of(st.integers(0, 9), st.none())))
def test_a_heap_by_keys_gives_the_first_of_what_is_inside(steps):
    """A number is pushed, None pops; what comes after the first pop is among the others."""
    heap, inside = KeyHeap(lambda pair: pair), []
    for number, value in enumerate(steps):
        if value is not None:
            inside.append((value, number))
            heap.push(inside[-1])
        elif inside:
            assert heap.pop() == min(inside)
            inside.remove(min(inside))
        assert len(heap) == len(inside)
        assert sorted(heap) == sorted(inside)
        assert heap.peek() == min(inside, default=None)


def test_a_key_is_taken_when_an_element_is_pushed():
    item = Item("x", 1)
    heap = KeyHeap(lambda i: i.value, [item])
    heap.push(Item("y", 2))
    item.value = 3
    assert [heap.pop().name, heap.pop().name] == ["x", "y"]


@given(st.lists(st.integers()))
def test_a_key_heap_pops_as_heapq_does(values):
    heap = KeyHeap(lambda v: -v)
    for value in values:
        heap.push(value)
    assert sorted(heap) == sorted(values)
    assert [heap.pop() for _ in values] == [
        -v for v in heapq.nsmallest(len(values), [-v for v in values])
    ]


@pytest.mark.parametrize("heap", [LiveHeap(lambda left, right: left < right), KeyHeap(lambda x: x)])
def test_peek_shows_the_first_element_and_leaves_it(heap):
    assert heap.peek() is None
    for value in (3, 1, 2):
        heap.push(value)
    assert heap.peek() == heap.top == 1
    assert len(heap) == 3
