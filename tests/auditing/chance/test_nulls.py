"""What chance alone does: what it keeps, whom it reaches, and how often, by plain counting."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pandas as pd
import pytest

from chance_cases import KINDS, SIZES, Ready, log_of, small_log
from evenhand.auditing.chance.nulls import (
    NULLS,
    DrawnGroups,
    FairLottery,
    ShuffledAmounts,
    chosen_null,
)
from evenhand.errors import BadParameter

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
