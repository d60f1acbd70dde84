"""Tests of decide.rules.built_in."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from evenhand.decide.rules.built_in import EvenOut, Lottery, Proportional, WeightedLottery, raised
from evenhand.decide.rules.state import RuleState

# Sharing an amount: against conditions that only the right shares meet.

SOME = st.lists(
    st.tuples(st.floats(0, 10), st.floats(0.1, 5), st.floats(0, 8) | st.just(float("inf"))),
    min_size=1,
    max_size=6,
)


@given(SOME, st.floats(0.01, 40))
def test_whoever_gets_something_is_level_and_nobody_else_is_below(some, amount):
    """The conditions of Karush, Kuhn and Tucker for the most even levels."""
    levels, entitled, room = map(np.array, zip(*some, strict=True))
    given_out = raised(amount, levels, entitled, room)
    assert given_out.sum() == pytest.approx(min(amount, room.sum()))
    assert (given_out >= 0).all()
    assert (given_out <= room).all()
    after = levels + given_out / entitled
    wants_more = given_out < room * (1 - 1e-9)
    if wants_more.any():
        lowest = after[wants_more].min()
        assert (after[given_out > 1e-9] <= lowest + 1e-6).all()


def test_in_proportion_whatever_was_before():
    state = RuleState(Proportional())
    for entitlement in (1.0, 3.0):
        state.add(entitlement)
    state.give(0, 100.0)
    assert state.shares(8.0) == [(0, 2.0), (1, 6.0)]


def test_to_even_out_whoever_is_behind_comes_first():
    state = RuleState(EvenOut())
    for entitlement in (1.0, 3.0):
        state.add(entitlement)
    state.give(0, 2.0)
    assert state.shares(3.0) == [(1, 3.0)]
    assert state.shares(10.0) == [(0, 1.0), (1, 9.0)]


def test_what_is_not_wanted_goes_to_the_others():
    state = RuleState(Proportional(), by_request=True)
    for place, wanted in enumerate((1.0, 9.0)):
        state.add()
        state.ask(place, wanted)
    assert state.shares(6.0) == [(0, 1.0), (1, 5.0)]
    assert state.shares(20.0) == [(0, 1.0), (1, 9.0)]


# Lotteries: every decision an independent draw among those eligible, whoever came and went.

ENTITLEMENTS = [1.0, 2.0, 5.0]


def winners(rule, among_of_turn, turns):
    state = RuleState(rule)
    for entitlement in ENTITLEMENTS:
        state.add(entitlement)
    found = []
    for turn in range(turns):
        found.append(state.first(1.0, among_of_turn(turn)))
        state.give(found[-1], 1.0)
    return np.array(found)


@pytest.mark.parametrize(
    ("rule", "chances"), [(Lottery(3), [1, 1, 1]), (WeightedLottery(3), [1, 2, 5])]
)
def test_chances_are_as_said_also_after_turns_that_some_could_not_take(rule, chances):
    """Every third turn 2 is away, so that its clock would else be overdue at the next one."""
    found = winners(rule, lambda turn: [0, 1] if turn % 3 == 0 else None, 9000)
    for phase, able in ((0, [0, 1]), (1, [0, 1, 2]), (2, [0, 1, 2])):
        seen = np.bincount(found[phase::3], minlength=3)[able]
        share = np.array(chances)[able] / np.sum(np.array(chances)[able])
        assert stats.chisquare(seen, share * seen.sum()).pvalue > 1e-4


def test_one_draw_says_nothing_of_the_next():
    found = winners(Lottery(1), lambda turn: None, 9000)
    pairs = np.bincount(found[:-1] * 3 + found[1:], minlength=9)
    assert stats.chisquare(pairs).pvalue > 1e-4


def test_the_seed_decides():
    once, again, other = (
        winners(Lottery(seed), lambda turn: None, 50).tolist() for seed in (1, 1, 2)
    )
    assert once == again != other


def test_another_entitlement_counts_as_if_it_had_been_so_from_the_start():
    """In 2,000 first draws each; what was drawn before is not in the way."""

    def first(seed, before, after):
        state = RuleState(WeightedLottery(seed))
        state.add(1.0)
        state.add(before)
        state.entitle(1, after)
        return state.first()

    for before in (0.001, 1.0, 1000.0):
        wins = sum(first(seed, before, 3.0) for seed in range(2000))
        assert stats.binomtest(wins, 2000, 3 / 4).pvalue > 1e-4


def test_a_lottery_of_equals_does_not_look_at_entitlements():
    state = RuleState(Lottery(5))
    places = [state.add(1.0), state.add(1.0)]
    before = list(state.memory)
    for place in places:
        state.entitle(place, 7.0)
    assert state.memory == before
