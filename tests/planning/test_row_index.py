"""Rows keep the number they were given first, however they come."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand.errors import CannotPlan
from evenhand.planning.row_index import RESOLUTION, RowIndex

NUMBERS = st.sampled_from([0.0, 1.0, -1.0, 0.5, 3.0, 1e6, np.inf, np.log(2.0)])
ROWS = st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=12)


@given(st.lists(ROWS, min_size=1, max_size=4))
def test_a_row_is_found_under_the_number_it_was_given_first(blocks):
    index, known = RowIndex(2), {}
    for block in blocks:
        rows = np.array(block)
        before = index.find(rows)
        expected = [known.get(row, -1) for row in _keys(rows)]
        assert before.tolist() == expected
        numbers = index.number(rows)
        for row, number in zip(_keys(rows), numbers.tolist(), strict=True):
            assert known.setdefault(row, number) == number
        assert len(index) == len(known) == len(index.rows)
        assert sorted(known.values()) == list(range(len(known)))  # none left out, none twice
        assert _keys(index.rows[numbers]) == _keys(rows)
        assert index.find(rows).tolist() == numbers.tolist()


def _keys(rows):
    return [tuple(row) for row in rows.tolist()]


def test_new_rows_come_after_those_that_are_there():
    index = RowIndex(1)
    first = index.number(np.array([[3.0], [1.0], [3.0]]))
    assert first[0] == first[2] != first[1]
    assert set(first.tolist()) == {0, 1}
    later = index.number(np.array([[9.0], [1.0], [5.0]]))
    assert later[1] == first[1]
    assert {later[0], later[2]} == {2, 3}
    assert index.rows[later[0], 0] == 9.0


def test_rows_can_be_numbered_as_they_come():
    rows = np.array([[4.0, 1.0], [0.0, 2.0], [7.0, 7.0]])
    index = RowIndex(2)
    index.number_in_order(rows)
    assert index.find(rows[[2, 0, 1, 0]]).tolist() == [2, 0, 1, 0]
    assert index.find(np.array([[5.0, 5.0]])).tolist() == [-1]
    assert len(index) == 3


def test_numbers_that_differ_by_rounding_are_one():
    index = RowIndex(1)
    index.number(np.array([[1.0]]))
    assert index.find(np.array([[1.0 + RESOLUTION / 4], [1.0 + 2 * RESOLUTION]])).tolist() == [
        *(0, -1),
    ]


class Coarse(RowIndex):
    """All rows have one hash."""

    def hashes(self, rows):
        return np.zeros(len(rows), dtype=np.uint64)


def test_rows_this_close_are_one():
    index = Coarse(2)
    index.number(np.array([[1.0, np.inf]]))
    assert index.find(np.array([[1.0 - 3 * RESOLUTION, np.inf]])).tolist() == [0]
    for far in ([1.0 + 4.5 * RESOLUTION, np.inf], [1.0, 1e9], [-1.0, np.inf]):
        with pytest.raises(CannotPlan, match="same hash"):
            index.find(np.array([far]))
    assert 1e-12 < RESOLUTION < 1e-9  # above the rounding of sums of logarithms, below them


def test_nothing_is_found_where_nothing_is():
    assert RowIndex(2).find(np.zeros((3, 2))).tolist() == [-1, -1, -1]


def test_two_states_with_one_hash_are_noticed():
    index = Coarse(1)
    with pytest.raises(CannotPlan, match="same hash"):
        index.number(np.array([[1.0], [2.0]]))
    index.number(np.array([[1.0]]))
    with pytest.raises(CannotPlan, match="same hash"):
        index.find(np.array([[2.0]]))
