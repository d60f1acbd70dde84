"""Packed numbers, read back letter by letter in plain Python."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from evenhand.report.html.packed_numbers import packed
from page_numbers import unpacked


def test_by_hand():
    # 100 is 200 + 1 = 201 = 9 + 6 · 32: the letters of 9 + 32 and 6. Then −101, of which 202 = 10
    # + 6 · 32 is the code; then nothing, which is A.
    assert packed(np.array([[100.0, -1.0, np.nan]])) == "pGqGA"


@given(
    st.integers(1, 4).flatmap(
        lambda columns: st.lists(
            st.lists(st.none() | st.integers(-(10**7), 10**7), min_size=columns, max_size=columns),
            min_size=1,
            max_size=4,
        )
    )
)
def test_what_is_packed_is_read_back(rows):
    text = packed(np.array([[np.nan if x is None else x for x in row] for row in rows], float))
    assert unpacked(text, len(rows[0])) == rows
