"""Shaping: what is added along any path is what the ends say, and the steps left are by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand.learn.shaping import shaping, steps_left


@pytest.mark.parametrize("discount", [1.0, 0.5])
def test_the_steps_left_by_hand(discount):
    found = [float(steps_left(time, 3, True, discount)) for time in range(4)]
    assert found == ([3.0, 2.0, 1.0, 0.0] if discount == 1.0 else [1.75, 1.5, 1.0, 0.0])
    if discount < 1.0:
        assert [float(steps_left(time, 3, False, discount)) for time in range(4)] == [2.0] * 4


@given(
    st.lists(st.floats(-3, 3, width=32), min_size=4, max_size=4),
    st.sampled_from([1.0, 0.9, 0.5]),
)
def test_along_an_episode_that_ends_only_the_start_counts(welfares, discount):
    """Σ γᵗ(γΦ(x') − Φ(x)) = −Φ(x₀): whatever is done on the way, so no policy gains by it."""
    added = sum(
        discount**time * float(shaping(welfares[time], welfares[time + 1], time, 3, True, discount))
        for time in range(3)
    )
    at_start = welfares[0] * sum(discount**k for k in range(3))
    assert added == pytest.approx(-at_start, abs=1e-4)


def test_a_step_that_changes_nothing_is_paid_nothing_in_all():
    """The pay W and the shaping of standing still cancel, except for what is ahead for ever."""
    for discount, terminates in ((1.0, True), (0.9, True), (0.9, False)):
        found = 1.5 + float(shaping(1.5, 1.5, 1, 4, terminates, discount))
        assert found == pytest.approx(0.0, abs=1e-5)
    many = shaping(np.zeros(2), np.ones(2), np.asarray(0), 2, True, 1.0)
    assert np.asarray(many).tolist() == [1.0, 1.0]
