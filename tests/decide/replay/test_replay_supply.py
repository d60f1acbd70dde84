"""A supply decided by a rule: against plain loops over whole histories."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand.decide.replay.replay_supply import decide_supply
from evenhand.decide.rules.deadline_plan import keeps_deadline
from evenhand.decide.rules.named_rule import rule_of
from evenhand.decide.rules.rule import RULES
from evenhand.errors import BadParameter
from evenhand.log.history import Lots, Roster, TimedAmounts
from evenhand.log.log import Supply

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
