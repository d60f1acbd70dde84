"""What stays as it was: lots one by one, corrections with their lots, odds by time."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from chance_cases import KINDS, STAYS, Ready, log_of
from evenhand.auditing.chance.held_fixed import HeldFixed
from evenhand.auditing.judging.supply import Supply
from evenhand.auditing.reading.lots import Lots
from evenhand.auditing.reading.roster import Roster
from evenhand.errors import BadLog, ZeroEntitlement


def supply(slot, who, amount, copies=None, size=2, **known):
    names = tuple("ABCDE"[:size])
    copies = np.ones(len(slot), dtype=int) if copies is None else np.array(copies)
    lots = Lots(np.array(slot), np.array(who), np.array(amount, dtype=float), copies)
    return Supply(names, np.arange(max(slot) + 1.0), lots, **known)


def held(made):
    slots = len(made.moments)
    return HeldFixed.of(made, np.arange(slots), slots)


def test_copies_are_lots_of_their_own_and_nothing_is_no_lot():
    found = held(supply([0, 0, 1], [0, 1, 1], [2, 0, 3], copies=[3, 1, 2]))
    assert found.slot.tolist() == [0, 0, 0, 1, 1]
    assert found.who.tolist() == [0, 0, 0, 1, 1]
    assert found.as_it_was()[0].tolist() == [[6, 0], [0, 6]]


def test_a_correction_goes_to_whoever_drew_the_latest_lots_it_takes_back():
    # A gets 2 and 3, then 4 are taken back: all of the 3, and 1 of the 2; and 1 more than ever.
    found = held(supply([0, 1, 2, 3], [0, 0, 0, 0], [2, 3, -4, -2]))
    assert found.as_it_was()[0].tolist() == [[2, 0], [3, 0], [-4, 0], [-2, 0]]
    # If B drew the 3, B gives it back.
    drawn = found.receipts(np.array([[0, 1]]))[0]
    assert drawn.tolist() == [[2, 0], [0, 3], [-1, -3], [-2, 0]]


def test_a_correction_at_the_same_time_takes_back_what_was_given_then():
    found = held(supply([0, 0], [1, 1], [-1, 3]))
    assert found.receipts(np.array([[0]]))[0].tolist() == [[2, 0]]


def test_odds_are_the_entitlements_of_those_there():
    ready = Ready(log_of("stays_and_sizes"), **KINDS["stays_and_sizes"])
    days = ready.supply.moments
    sizes = np.array([1.0, 2.0, 3.0, 2.5, 0.5])
    for slot, day in enumerate(days):
        there = (STAYS["from"] <= day) & (STAYS["until"] >= day)
        assert ready.held.odds[ready.held.pattern[slot]].tolist() == (sizes * there).tolist()
    assert len(ready.held.odds) == 4  # a row for each stretch


def test_expected_lots_are_shares_of_the_odds_added_up():
    found = held(supply([0, 1], [0, 0], [1, 1], copies=[3, 1], shares=np.array([1.0, 3.0])))
    assert found.expected().tolist() == [1.0, 3.0]
    assert found.with_odds(1, 0.0).expected().tolist() == [4.0, 0.0]


def test_odds_of_the_only_one_there_are_not_cut():
    roster = Roster(("A", "B"), first={"B": 1.0})
    found = held(supply([0, 1], [0, 1], [1, 1], roster=roster)).with_odds(0, 0.5)
    assert found.odds.tolist() == [[1.0, 0.0], [0.5, 1.0]]


def test_nobody_eligible_is_refused():
    roster = Roster(("A", "B"), first={"A": 1.0, "B": 1.0})
    with pytest.raises(BadLog, match="nobody was eligible at 0"):
        held(supply([0, 1], [0, 1], [1, 1], roster=roster))


def test_entitlements_that_add_up_to_nothing_are_refused():
    with pytest.raises(ZeroEntitlement, match="add up to 0"):
        held(supply([0], [0], [1], shares=np.zeros(2)))


def test_nobody_eligible_matters_only_where_something_was_given():
    roster = Roster(("A", "B"), first={"A": 1.0, "B": 1.0})
    assert held(supply([1], [0], [1], roster=roster)).who.tolist() == [0]


def test_received_at_slots_does_not_depend_on_the_intervals():
    log = pd.DataFrame({"day": [1, 2, 3], "who": ["A", "B", "A"], "got": [1.0, 2.0, 3.0]})
    ready = Ready(log, every=2)
    assert ready.held.received_at_slots().tolist() == [[1, 0], [0, 2], [3, 0]]
    assert ready.held.as_it_was()[0].tolist() == [[1, 2], [3, 0]]


def test_those_of_one_kind_are_there_entitled_and_corrected_alike():
    made = supply([0, 1], [0, 1], [1, 1], size=4, shares=np.array([1.0, 2.0, 1.0, 1.0]))
    assert held(made).kinds().tolist() == [0, 1, 0, 0]
    dated = Roster(tuple("ABCD"), {"D": 1.0}, {})
    late = supply([0, 1], [0, 1], [1, 1], size=4, roster=dated)
    assert held(late).kinds().tolist() == [0, 0, 0, 1]
    more_than_ever = supply([0, 1], [0, 1], [1, -1], size=4)
    assert held(more_than_ever).kinds().tolist() == [0, 1, 0, 0]
