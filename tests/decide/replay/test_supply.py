"""Tests of decide.replay.supply."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand.decide.replay.replay_log import ReplayOptions, replay_with
from evenhand.decide.replay.supply import decide_supply, possible_takers, set_off
from evenhand.decide.rules.built_in import rule_of
from evenhand.decide.rules.deadline import keeps_deadline
from evenhand.decide.rules.rule import RULES
from evenhand.errors import BadLog, BadParameter
from evenhand.log.history import Lots, Roster, TimedAmounts
from evenhand.log.layout import Notes
from evenhand.log.log import Supply
from evenhand.log.options import AuditOptions

# Corrections: what was taken back was not there to be given.


def supply(*lots):
    slot, amount, copies = (np.array(part) for part in zip(*lots, strict=True))
    return Supply(("A",), np.arange(3.0), Lots(slot, 0 * slot, amount.astype(float), copies))


def amounts(lots):
    return [(int(s), float(a)) for s, a in zip(lots.slot, lots.amount, strict=True)]


def test_the_largest_lots_of_the_same_time_pay():
    notes = Notes()
    found = set_off(supply((0, 9, 1), (1, 5, 2), (1, 3, 1), (1, -6, 1)), notes)
    assert amounts(found.lots) == [(0, 9.0), (1, 4.0), (1, 3.0)]
    assert found.amounts().tolist() == [9.0, 7.0, 0.0]
    assert "1 correction (6 in total) was deducted from the largest lots" in notes.sentences[0]
    two = Notes()
    set_off(supply((0, 9, 1), (1, -2, 1), (1, 5, 2), (1, -3, 1)), two)
    assert "2 corrections (5 in total) were deducted from the largest lots" in two.sentences[0]


def test_then_those_of_the_time_before():
    found = set_off(supply((0, 9, 1), (1, 2, 1), (1, -2, 2)), Notes())
    assert amounts(found.lots) == [(0, 7.0)]


def test_without_any_nothing_changes():
    given = supply((0, 9, 1))
    notes = Notes()
    assert set_off(given, notes) is given
    assert notes.sentences == []


def test_more_than_was_given_out_is_refused():
    with pytest.raises(BadLog, match="takes more back than it had given out"):
        set_off(supply((0, 1, 1), (1, -2, 1), (2, 9, 1)), Notes())


@pytest.mark.parametrize(
    "lots", [((0, 0.1, 1), (1, 0.7, 1), (2, -0.8, 1)), ((0, 0.1, 1), (1, 0.2, 1), (2, -0.3, 1))]
)
def test_all_can_be_taken_back_although_sums_of_floats_are_not_exact(lots):
    assert amounts(set_off(supply(*lots), Notes()).lots) == []
    with pytest.raises(BadLog, match="more back than it had given out"):
        set_off(supply(*lots[:2], (2, -0.81, 1)), Notes())


# Supply that nobody could have taken, against the definition of who is eligible.

COLUMNS = {"stakeholder": "to", "time": "t", "amount": "n"}
ASKED = {**COLUMNS, "asked": "n"}


def replayed(rows, coming=None, **more):
    log = pd.DataFrame(rows, columns=["t", "to", "n"])
    asked = ReplayOptions(["least_served"], coming=coming)
    return replay_with(log, AuditOptions(**more), asked)


def test_supply_before_anybody_asked_is_refused():
    requests = pd.DataFrame({"t": [2, 2], "to": ["A", "B"], "n": [5, 5]})
    with pytest.raises(BadLog, match="by 1 'A' had received 3 and asked for 0"):
        replayed([(1, "A", 3), (2, "B", 1)], **ASKED, requests=requests)


def test_supply_when_nobody_is_there_is_refused():
    roster = pd.DataFrame({"name": ["A", "B"], "until": [1, 1]})
    with pytest.raises(BadLog, match="every row of the log"):
        replayed([(2, "A", 3), (3, "B", 1)], **COLUMNS, roster=roster)


def test_a_supply_to_come_that_nobody_can_take_is_refused():
    """A and B have left by 4; or A, the only one who asked, has, and B is there."""
    rows, coming = [(1, "A", 3), (2, "A", 1)], pd.DataFrame({"t": [3, 4], "n": [1, 2]})
    roster = pd.DataFrame({"name": ["A", "B"], "until": [3, 2]})
    words = "at 4 2 is to come .* nobody can take it: by the roster nobody is there then"
    with pytest.raises(BadLog, match=words):
        replayed(rows, coming, **COLUMNS, roster=roster)
    roster["until"] = [3, None]
    assert replayed(rows, coming, **COLUMNS, roster=roster).plan.left_over == 0
    requests = pd.DataFrame({"t": [1], "to": ["A"], "n": [9]})
    with pytest.raises(BadLog, match=f"{words} who has asked for anything"):
        replayed(rows, coming, **ASKED, roster=roster, requests=requests)


def test_nothing_to_come_needs_nobody():
    roster = pd.DataFrame({"name": ["A", "B"], "until": [2, 2]})
    coming = pd.DataFrame({"t": [3], "n": [0]})
    plan = replayed([(1, "A", 3), (2, "B", 1)], coming, **COLUMNS, roster=roster).plan
    assert plan.shares == ()


stays = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0, 5)).map(sorted), min_size=1, max_size=4
)


@given(stays, st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5), st.integers(0, 2))))
def test_takers_are_counted_as_defined(stays, requests):
    """At each time: who is there, and has asked for something by then."""
    names = tuple("ABCD"[: len(stays)])
    requests = sorted(one for one in requests if one[0] < len(stays))
    first = {name: np.float64(one[0]) for name, one in zip(names, stays, strict=True)}
    last = {name: np.float64(one[1]) for name, one in zip(names, stays, strict=True)}
    who, at, amount = (np.array([one[k] for one in requests]) for k in range(3))
    asked = TimedAmounts(at.astype(float), who.astype(int), amount.astype(float), len(names))
    nothing = np.zeros(0, dtype=int)
    supply = Supply(
        names,
        np.arange(6.0),
        Lots(nothing, nothing, np.zeros(0), nothing),
        Roster(names, first, last),
        beside={"asked": asked},
    )
    expected = [
        sum(
            begin <= moment <= end
            and any(k == i and t <= moment and much > 0 for k, t, much in requests)
            for i, (begin, end) in enumerate(stays)
        )
        for moment in range(6)
    ]
    assert possible_takers(supply).tolist() == expected


# A supply decided by a rule: against plain loops over whole histories.

NAMES = ("A", "B", "C")
LOTS = st.lists(
    st.tuples(st.integers(0, 5), st.sampled_from([1.0, 2.0, 5.0])), min_size=1, max_size=12
)
STAYS = st.lists(
    st.tuples(st.integers(-2, 3), st.integers(0, 6)).map(lambda stay: (stay[0], sum(stay))),
    min_size=3,
    max_size=3,
)
REQUESTS = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0, 2), st.sampled_from([1.0, 3.0, 8.0])), max_size=8
)
WRITTEN = {"half_life": "half_life:2", "deadline": "deadline:3"}


def made(lots, stays=None, requests=None, shares=(1.0, 2.0, 4.0)):
    """A supply of lots (time point, amount), given to nobody in particular."""
    slot, amount = map(np.array, zip(*sorted(lots), strict=True))
    roster = None
    if stays is not None:
        roster = Roster(
            NAMES,
            {name: float(first) for name, (first, _) in zip(NAMES, stays, strict=True)},
            {name: float(last) for name, (_, last) in zip(NAMES, stays, strict=True)},
        )
    beside = {}
    if requests is not None:
        at, who, asked = map(np.array, zip(*sorted(requests), strict=True))
        beside["asked"] = TimedAmounts(at.astype(float), who, asked, 3)
    ones = np.ones(len(slot), dtype=np.int64)
    return Supply(
        names=NAMES,
        moments=np.arange(6.0),
        lots=Lots(slot, 0 * ones, amount.astype(float), ones),
        roster=roster,
        shares=np.array(shares),
        beside=beside,
    )


@given(lots=LOTS, stays=STAYS)
def test_least_served_is_the_plain_loop(lots, stays):
    supply = made(lots, stays)
    found = decide_supply(supply, rule_of({"name": "least_served", "newcomers": "zero"}))
    received, expected, left = [0.0] * 3, [], np.zeros(6)
    for slot, amount in sorted(lots, key=lambda lot: (lot[0], -lot[1])):
        there = [k for k, (first, last) in enumerate(stays) if first <= slot <= last]
        if not there:
            left[slot] += amount
            continue
        joined = {k: (max(0, stays[k][0]), k) for k in there}  # ties go by the order of joining
        best = min(there, key=lambda k: (received[k] / supply.shares[k], joined[k]))
        received[best] += amount
        expected.append((slot, best, amount))
    given_out = zip(found.slot.tolist(), found.who.tolist(), found.amount.tolist(), strict=True)
    assert list(given_out) == expected
    assert found.left_over.tolist() == left.tolist()


@pytest.mark.parametrize("name", list(RULES.classes))
@given(lots=LOTS, stays=STAYS, requests=st.none() | REQUESTS.filter(bool))
def test_every_rule_gives_out_what_there_was_to_whoever_was_there_and_asked(
    name, lots, stays, requests
):
    rule = rule_of(WRITTEN.get(name, name))
    supply = made(lots, stays, requests)
    if rule.needs_requests and requests is None:
        with pytest.raises(BadParameter, match="needs requests"):
            decide_supply(supply, rule)
        return
    found = decide_supply(supply, rule)
    amounts = np.bincount(found.slot, found.amount, 6) + found.left_over
    assert amounts == pytest.approx(supply.amounts())
    first, last = np.array(stays).T
    assert ((found.slot >= first[found.who]) & (found.slot <= last[found.who])).all()
    for slot in range(6):
        now = found.slot <= slot
        had = np.bincount(found.who[now], found.amount[now], 3)
        asked = np.array([np.inf] * 3)
        if requests is not None:
            asked = np.array(
                [sum(a for t, w, a in requests if w == k and t <= slot) for k in (0, 1, 2)]
            )
        assert (had <= asked + 1e-9).all()
        # What is left over is what nobody there could take.
        there = (first <= slot) & (slot <= last)
        if found.left_over[slot] > 1e-9:
            assert (~there | (had >= asked - 1e-9)).all()


@given(lots=LOTS)
def test_whole_supply_is_divided_into_whole_units(lots):
    for name in ("even_out", "proportional"):
        found = decide_supply(made(lots, shares=(1.0, 1.0, 1.0)), rule_of(name)).cells(3)
        assert (found.amount == np.rint(found.amount)).all()
        totals = np.bincount(found.who, found.amount, 3)
        assert totals.max() - totals.min() <= (1 if name == "even_out" else 6)


def test_by_hand():
    """Lots 5, 1, 1 to A and B: the largest first, and then whoever has less."""
    supply = made([(0, 1.0), (0, 5.0), (1, 1.0)], shares=(1.0, 1.0, 1.0))
    found = decide_supply(supply, rule_of("least_served"))
    assert found.who.tolist() == [0, 1, 2]
    assert found.amount.tolist() == [5.0, 1.0, 1.0]


def test_a_lot_that_nobody_wants_whole_is_split():
    supply = made([(1, 5.0)], requests=[(0, 0, 1.0), (0, 2, 3.0)])
    found = decide_supply(supply, rule_of("least_served"))
    assert found.who.tolist() == [0, 2]
    assert found.amount.tolist() == [1.0, 3.0]
    assert found.left_over.tolist() == [0.0, 1.0, 0.0, 0.0, 0.0, 0.0]


def test_whoever_joins_later_begins_at_the_mean():
    """A and B got 4 each; C, who joins, is level with them and not four lots behind."""
    lots = [(slot, 4.0) for slot in (0, 1)] + [(2, 1.0), (3, 1.0), (4, 1.0)]
    supply = made(lots, stays=[(0, 9), (0, 9), (2, 9)], shares=(1.0, 1.0, 1.0))
    found = decide_supply(supply, rule_of("least_served"))
    assert found.who.tolist() == [0, 1, 0, 1, 2]
    zero = decide_supply(supply, rule_of({"name": "least_served", "newcomers": "zero"}))
    assert zero.who.tolist() == [0, 1, 2, 2, 2]


@given(lots=LOTS, stays=STAYS, turns=st.integers(1, 3))
def test_a_deadline_is_kept_or_called_impossible(lots, stays, turns):
    supply = made(lots, stays)
    found = decide_supply(supply, rule_of(f"deadline:{turns}"))
    slots = sorted(slot for slot, _ in lots)
    eligible = np.array([[first <= slot <= last for first, last in stays] for slot in slots])
    assert found.words == rule_of(f"deadline:{turns}").foresee(eligible).words
    kept = "The deadline is kept" in found.words
    assert kept or "It is impossible" in found.words
    served = np.full(len(slots), -1)
    served[eligible.any(axis=1)] = found.who
    assert keeps_deadline(eligible, served.tolist(), turns) is kept
