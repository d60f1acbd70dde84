"""How much sooner: by hand, and against units counted one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand.decide.replay.answer import gains
from evenhand.decide.replay.supply import Decisions
from evenhand.log.history import Lots
from evenhand.log.log import Supply

EMPTY = np.zeros(0, dtype=np.int64)
UNITS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 1), st.integers(1, 4)), min_size=1)


def supply(moments):
    return Supply(("A", "B"), moments, Lots(EMPTY, EMPTY, EMPTY.astype(float), EMPTY))


def decisions(rows):
    slot, who, amount = (np.array(part) for part in zip(*sorted(rows), strict=True))
    return Decisions(slot, who, amount.astype(float), np.zeros(10))


def by_name(before, after, moments=None):
    moments = np.arange(10.0) if moments is None else moments
    return {gain.name: gain for gain in gains(supply(moments), before, after)}


@given(UNITS, UNITS)
def test_units_one_by_one(before, after):
    found = by_name(decisions(before), decisions(after))
    for who, name in enumerate(("A", "B")):
        had, gets = (
            [slot for slot, one, much in sorted(rows) if one == who for _ in range(much)]
            for rows in (before, after)
        )
        shared = min(len(had), len(gets))
        sooner = [a - b for a, b in zip(had, gets, strict=False)]
        assert found[name].sooner == pytest.approx(np.mean(sooner) if shared else 0.0)
        assert (found[name].before, found[name].after) == (len(had), len(gets))


def test_in_words():
    weeks = np.datetime64("2021-01-01", "us") + np.arange(10) * np.timedelta64(7, "D")
    found = by_name(decisions([(5, 0, 12_000)]), decisions([(2, 0, 12_000)]), weeks)
    assert found["A"].sentence("doses", plain_numbers=False) == (
        "A would have had 12,000 doses on average 3 weeks sooner."
    )
    assert found["B"].sentence("doses", plain_numbers=False) == "B would have had the same."
    other = by_name(decisions([(5, 0, 5)]), decisions([(5, 0, 2), (5, 1, 3)]), weeks)
    assert other["B"].sentence(None, plain_numbers=False) == "B would have received 3 more."
    assert other["A"].to_json(plain_numbers=False)["would_have_received"] == 2.0


def test_what_differs_by_rounding_alone_is_the_same():
    had = decisions([(1, 0, 0.1), (2, 0, 0.1), (3, 0, 0.1)])
    gets = decisions([(1, 0, 0.1), (2, 0, 0.1), (3, 0, 0.3 - 0.1 - 0.1)])
    assert had.amount.sum() != gets.amount.sum()
    one = by_name(had, gets)["A"]
    assert (one.after, one.sooner, one.area) == (one.before, 0.0, 0.0)
    assert one.sentence("doses", plain_numbers=True) == "A would have had the same."
