"""Waits by hand, and against a plain loop over time points."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from evenhand.decide.replay.longest_waits import longest_waits
from evenhand.decide.replay.replay_supply import Decisions
from evenhand.log.history import Lots, Roster, TimedAmounts
from evenhand.log.log import Supply

EMPTY = np.zeros(0, dtype=np.int64)


def waits(given_out, names=("A", "B"), roster=None, requests=None):
    slot, who, amount = (np.array(part) for part in zip(*sorted(given_out), strict=True))
    beside = {}
    if requests is not None:
        at, whose, asked = map(np.array, zip(*sorted(requests), strict=True))
        beside["asked"] = TimedAmounts(at.astype(float), whose, asked, len(names))
    lots = Lots(EMPTY, EMPTY, EMPTY.astype(float), EMPTY)
    supply = Supply(names, np.arange(10.0), lots, roster, None, beside)
    return longest_waits(supply, Decisions(slot, who, amount.astype(float), np.zeros(10)))


def test_from_the_start_between_receipts_and_to_the_end():
    assert waits([(2, 0, 1), (7, 0, 1), (0, 1, 1), (4, 1, 1)]).tolist() == [5.0, 5.0]


def test_within_a_stay():
    roster = Roster(("A", "B"), {"A": 1.0}, {"A": 4.0, "B": -1.0})
    found = waits([(2, 0, 1)], roster=roster)
    assert found[0] == 2.0
    assert np.isnan(found[1])  # was gone before the log begins


def test_from_a_request_until_it_is_met_in_full():
    requests = [(0, 0, 2.0), (3, 0, 1.0), (5, 1, 4.0)]
    given_out = [(1, 0, 1.0), (4, 0, 1.0), (6, 0, 1.0), (7, 1, 3.0)]
    # A: 2 are there by 4 (asked at 0), 3 by 6 (asked at 3). B's request is open at the end, 9.
    assert waits(given_out, requests=requests).tolist() == [4.0, 4.0]


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 1), st.just(1.0)), min_size=1))
def test_the_longest_run_of_time_points_without(given_out):
    found = waits(given_out)
    for who in (0, 1):
        times = [0, *sorted(slot for slot, one, _ in given_out if one == who), 9]
        assert found[who] == max(b - a for a, b in itertools.pairwise(times))
