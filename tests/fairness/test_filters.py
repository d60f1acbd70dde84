"""What filters say of when they assess, compared with when they do."""

from __future__ import annotations

import numpy as np
import pytest

from evenhand import AfterEach, Always, Every, Final, Trace, When


@pytest.mark.parametrize(
    "filter_", [Always(), Every(1), Every(3), Final(), AfterEach(2), When(lambda step: True)]
)
def test_what_a_filter_says_of_itself_is_so(filter_):
    steps = Trace(rewards=np.eye(2)[[0, 1, 0, 1, 1]])
    for length in range(1, 6):
        _, fires = filter_.scan(filter_.init(), steps.prefix(length))
        if filter_.always:
            assert fires.all()
        if not filter_.may_fire_within(length):
            assert not fires.any()
            assert not filter_.assesses_end


def test_only_what_is_certain_is_said():
    assert Every(1).always
    assert not Every(2).always
    assert not When(lambda step: True).always
    assert Every(3).may_fire_within(3)
    assert not Every(3).may_fire_within(2)
    assert AfterEach(2).may_fire_within(1)  # one step may bring any amount
