"""The two tiers against a plain list: whatever is put, dropped and asked."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand.decide.rules import priority_heap
from evenhand.decide.rules.priority_heap import PriorityHeap

PLACES = st.integers(0, 30)
INDEXES = st.sampled_from([float("-inf"), 0.0, 1.0, 2.0, 3.5, float("inf")]) | st.floats(-9, 9)
STEPS = st.lists(
    st.tuples(st.just("put"), PLACES, INDEXES, st.integers(0, 3))
    | st.tuples(st.just("drop"), PLACES)
    | st.tuples(st.just("raise"), st.floats(0, 5))
    | st.tuples(st.just("odd"))
)


@pytest.mark.parametrize("least_in_front", [1, 3, 4096])
@given(steps=STEPS)
def test_the_first_is_the_least_of_a_plain_list(least_in_front, steps):
    before = priority_heap.LEAST_IN_FRONT
    priority_heap.LEAST_IN_FRONT = least_in_front
    try:
        heap, known = PriorityHeap(), {}
        for step in steps:
            if step[0] == "put":
                _, place, index, tie = step
                heap.put(place, index, tie)
                known[place] = (index, tie, place)
            elif step[0] == "drop":
                heap.drop(step[1])
                known.pop(step[1], None)
            elif step[0] == "raise" and known:
                index, tie, place = min(known.values())
                heap.put(place, index + step[1], tie)
                known[place] = (index + step[1], tie, place)
            elif step[0] == "odd":
                fit = [entry for entry in known.values() if entry[2] % 2]
                expected = min(fit)[2] if fit else None
                assert heap.first_where(lambda place: place % 2 == 1) == expected
            assert heap.first() == (min(known.values())[2] if known else None)
            assert all(heap.entry(place) == known.get(place) for place in range(31))
    finally:
        priority_heap.LEAST_IN_FRONT = before


def test_most_of_many_stay_behind_the_front():
    """The front is what makes it quick: a million puts must not all land in the heap."""
    heap = PriorityHeap()
    for place in range(400_000):
        heap.put(place, float(place % 1000), place)
    heap._refill()
    assert len(heap._front) < 400_000 / 16
    assert heap.first() == 0
