"""Tests of auditing.chance.nulls."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chance_cases import KINDS, SIZES, STAYS, Ready, log_of, small_log
from evenhand.auditing.chance.nulls import (
    NULLS,
    DrawnGroups,
    FairLottery,
    HeldFixed,
    OddsOverTime,
    ShuffledAmounts,
    _alias_table,
    chosen_null,
    draw_one_each,
    draw_places,
    stretches,
)
from evenhand.errors import BadLog, BadParameter, ZeroEntitlement
from evenhand.log.history import Lots, Roster
from evenhand.log.log import Supply

# What stays as it was: lots one by one, corrections with their lots, odds by time.


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


# What chance alone does: what it keeps, whom it reaches, and how often, by plain counting.

DRAWS = 4000


def rng():
    return np.random.default_rng(5)


@pytest.mark.parametrize("kind", KINDS)
def test_a_lottery_gives_out_what_was_given_out_to_those_who_are_there(kind):
    ready = Ready(log_of(kind), **KINDS[kind])
    drawn = FairLottery().draw(ready.by_slot, rng(), 5)
    assert drawn.sum(axis=2) == pytest.approx(np.tile(ready.supply.amounts(), (5, 1)))
    there = ready.supply.present()
    assert (drawn[:, ~there] <= 0).all()
    assert (drawn.cumsum(axis=1) >= 0).all()  # corrections follow what they correct


def test_nobody_draws_more_than_was_asked_for():
    requests = pd.DataFrame({"day": [1, 1, 1], "who": ["A", "B", "C"], "wants": [3, 3, 3]})
    log = pd.DataFrame({"day": range(1, 9), "who": list("ABCABCAB"), "got": 1.0})
    ready = Ready(log, requests=requests, asked="wants")
    drawn = FairLottery().draw(ready.by_slot, rng(), 200).sum(axis=1)
    assert drawn.max() == 3
    assert set(map(tuple, drawn.tolist())) == {(2, 3, 3), (3, 2, 3), (3, 3, 2)}


def test_a_lot_goes_to_those_who_want_that_much_if_there_are_any():
    requests = pd.DataFrame({"day": [1, 1], "who": ["A", "B"], "wants": [5, 1]})
    log = pd.DataFrame({"day": [1, 2], "who": ["A", "B"], "got": [4.0, 1.0]})
    drawn = FairLottery().draw(Ready(log, requests=requests, asked="wants").by_slot, rng(), 300)
    assert (drawn[:, 0] == [4.0, 0.0]).all()
    assert 0.4 < (drawn[:, 1, 0] == 1).mean() < 0.6


def test_with_requests_a_correction_frees_what_it_takes_back():
    requests = pd.DataFrame({"day": [1, 1], "who": ["A", "B"], "wants": [1, 1]})
    log = pd.DataFrame({"day": [1, 2, 3], "who": ["A", "A", "A"], "got": [1.0, -1.0, 1.0]})
    drawn = FairLottery().draw(Ready(log, requests=requests, asked="wants").by_slot, rng(), 300)
    assert (drawn[:, 1] == -drawn[:, 0]).all()
    assert {tuple(last) for last in drawn[:, 2].tolist()} == {(1.0, 0.0), (0.0, 1.0)}


def test_a_lot_that_nobody_who_is_there_wants_stays_where_it_was():
    requests = pd.DataFrame({"day": [1, 1], "who": ["A", "B"], "wants": [1, 1]})
    roster = pd.DataFrame({"who": ["A", "B"], "from": [1, 1], "until": [2, 1]})
    log = pd.DataFrame({"day": [1, 2], "who": ["B", "A"], "got": [1.0, 1.0]})
    asked = {"requests": requests, "asked": "wants", "roster": roster}
    drawn = FairLottery().draw(Ready(log, **asked).by_slot, rng(), 100)
    assert (drawn[:, 1] == [1.0, 0.0]).all()
    assert (drawn[:, 0, 0] == 1).any()


def frequencies(null, log, **asked):
    drawn = null.draw(Ready(log, **asked).by_slot, rng(), DRAWS)
    counts = Counter(map(tuple, drawn.reshape(DRAWS, -1).tolist()))
    return {history: count / DRAWS for history, count in counts.items()}


def near(found, expected):
    assert found.keys() == expected.keys()
    for history, share in expected.items():
        assert abs(found[history] - share) <= 5 * np.sqrt(share * (1 - share) / DRAWS), history


def test_every_lottery_comes_as_often_as_its_odds_say():
    log = pd.DataFrame({"day": [1, 2, 2], "who": ["A", "B", "A"], "got": [2.0, 1.0, 3.0]})
    odds, expected = {0: 0.25, 1: 0.75}, Counter()
    for who in itertools.product((0, 1), repeat=3):
        cells = [0.0] * 4
        for day, amount, person in zip((0, 1, 1), (2.0, 1.0, 3.0), who, strict=True):
            cells[2 * day + person] += amount
        expected[tuple(cells)] += float(np.prod([odds[person] for person in who]))
    near(frequencies(FairLottery(), log, entitlement={"A": 1, "B": 3}), expected)


def test_every_shuffle_comes_equally_often():
    log = pd.DataFrame({"day": [1, 1, 2], "who": ["A", "B", "C"], "got": [2.0, 1.0, 3.0]})
    expected = {
        (*first, *second): 1 / 18
        for first in itertools.permutations((2.0, 1.0, 0.0))
        for second in set(itertools.permutations((3.0, 0.0, 0.0)))
    }
    near(frequencies(ShuffledAmounts(), log), expected)


def test_groups_that_are_drawn_keep_whole_histories_together():
    log = pd.DataFrame({"day": [1, 2, 2], "who": ["A", "B", "C"], "got": [2.0, 1.0, 3.0]})
    histories = ((2.0, 0.0), (0.0, 1.0), (0.0, 3.0))
    expected = {
        (*(h[0] for h in order), *(h[1] for h in order)): 1 / 6
        for order in itertools.permutations(histories)
    }
    near(frequencies(DrawnGroups(), log), expected)


def test_a_shuffle_stays_among_those_there():
    ready = Ready(log_of("stays"), **KINDS["stays"])
    drawn = ShuffledAmounts().draw(ready.by_slot, rng(), 5)
    assert (drawn[:, ~ready.supply.present()] == 0).all()
    amounts = np.sort(ready.by_slot.as_it_was()[0], axis=1)
    assert np.sort(drawn, axis=2) == pytest.approx(np.tile(amounts, (5, 1, 1)))


@pytest.mark.parametrize("null", [ShuffledAmounts(), DrawnGroups()])
def test_what_treats_all_alike_refuses_sizes_and_requests(null):
    with pytest.raises(BadParameter, match="use"):
        null.require(Ready(small_log(), entitlement=SIZES).held)
    with pytest.raises(BadParameter, match="use"):
        null.require(Ready(log_of("share_met"), **KINDS["share_met"]).held)
    null.require(Ready(small_log()).held)


def test_drawn_groups_refuse_stays_and_a_shuffle_does_not():
    held = Ready(log_of("stays"), **KINDS["stays"]).held
    ShuffledAmounts().require(held)
    with pytest.raises(BadParameter, match="all along"):
        DrawnGroups().require(held)


def test_each_has_a_name_and_a_sentence():
    for name, null in NULLS.items():
        assert null.name == name
        assert null.sentence.endswith(".")
        assert null.cost(Ready(small_log()).held) > 0
    assert chosen_null(None).name == "lottery"
    assert [name for name in NULLS if chosen_null(name).draws_lots] == ["lottery"]
    assert [name for name in NULLS if chosen_null(name).draws_groups] == ["by-group"]


# The odds of those who are there, at any moment.


def test_equal_rows_that_follow_each_other_are_one():
    rows, which = stretches(np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 1.0], [1.0, 0.0]]))
    assert rows.tolist() == [[1, 0], [1, 1], [1, 0]]
    assert which.tolist() == [0, 0, 1, 2]


def test_without_dates_the_odds_never_change():
    rows, which = OddsOverTime(("A", "B"), np.array([1, 3]))(np.array([1.0, 9.0]))
    assert rows.tolist() == [[1, 3]]
    assert which.tolist() == [0, 0]
    assert OddsOverTime(("A", "B"))(np.array([1.0]))[0].tolist() == [[1, 1]]


def test_only_those_who_are_there_have_odds():
    numbers = OddsOverTime(("A", "B"), None, Roster(("A", "B"), first={"B": 5.0}))
    rows, which = numbers(np.array([1.0, 5.0]))
    assert rows[which].tolist() == [[1, 0], [1, 1]]
    first = np.datetime64("1970-01-03", "us")
    dates = OddsOverTime(("A", "B"), None, Roster(("A", "B"), first={"B": first}))
    dates.plain_numbers = False
    rows, which = dates(np.array([0.0, 3 * 86_400e6]))
    assert rows[which].tolist() == [[1, 0], [1, 1]]


# Drawing in proportion to odds: the table is exact, and the frequencies are near.


@given(st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=12))
def test_an_alias_table_gives_every_place_its_share(odds):
    odds = np.array(odds)
    keep, other = _alias_table(odds)
    share = keep / len(odds)
    np.add.at(share, other, (1 - keep) / len(odds))
    assert share == pytest.approx(odds / odds.sum(), rel=1e-9)
    assert (keep >= -1e-12).all()


@pytest.mark.parametrize("odds", [[1.0, 1.0, 1.0], [1.0, 0.0, 3.0], [5.0, 1.0, 2.0]])
def test_frequencies_are_those_of_the_odds(odds):
    odds, draws = np.array(odds), 20_000
    expected = odds / odds.sum()
    within = 5 * np.sqrt(expected * (1 - expected) / draws) + 1e-12
    many = np.bincount(draw_places(odds, (draws,), np.random.default_rng(1)), minlength=3)
    assert (np.abs(many / draws - expected) <= within).all()
    rows = np.tile(odds, (draws, 1))
    one_each, anybody = draw_one_each(rows, np.random.default_rng(2))
    assert anybody.all()
    assert (np.abs(np.bincount(one_each, minlength=3) / draws - expected) <= within).all()


def test_rows_without_odds_are_told_apart():
    _, anybody = draw_one_each(np.array([[0.0, 0.0], [0.0, 1.0]]), np.random.default_rng(0))
    assert anybody.tolist() == [False, True]
