"""Tests of decide.rules.state."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand.decide.rules import state as state_module
from evenhand.decide.rules.built_in import (
    FirstCome,
    HalfLife,
    LeastServed,
    LongestWait,
    Lottery,
    RoundRobinRule,
    VirtualTime,
)
from evenhand.decide.rules.deadline import Deadline
from evenhand.decide.rules.rule import ByDraw
from evenhand.decide.rules.state import PriorityHeap, RuleState

# The two tiers against a plain list: whatever is put, dropped and asked.

PLACES = st.integers(0, 30)
INDEXES = st.sampled_from([float("-inf"), 0.0, 1.0, 2.0, 3.5, float("inf")]) | st.floats(-9, 9)
STEPS = st.lists(
    st.tuples(st.just("put"), PLACES, INDEXES, st.integers(0, 3))
    | st.tuples(st.just("drop"), PLACES)
    | st.tuples(st.just("raise"), st.floats(0, 5))
    | st.tuples(st.just("odd"))
)


@pytest.mark.parametrize("least_in_front", [1, 3, 4096])
@given(steps=STEPS)
def test_the_first_is_the_least_of_a_plain_list(least_in_front, steps):
    before = state_module.LEAST_IN_FRONT
    state_module.LEAST_IN_FRONT = least_in_front
    try:
        heap, known = PriorityHeap(), {}
        for step in steps:
            if step[0] == "put":
                _, place, index, tie = step
                heap.put(place, index, tie)
                known[place] = (index, tie, place)
            elif step[0] == "drop":
                heap.drop(step[1])
                known.pop(step[1], None)
            elif step[0] == "raise" and known:
                index, tie, place = min(known.values())
                heap.put(place, index + step[1], tie)
                known[place] = (index + step[1], tie, place)
            elif step[0] == "odd":
                fit = [entry for entry in known.values() if entry[2] % 2]
                expected = min(fit)[2] if fit else None
                assert heap.first_where(lambda place: place % 2 == 1) == expected
            assert heap.first() == (min(known.values())[2] if known else None)
            assert all(heap.entry(place) == known.get(place) for place in range(31))
    finally:
        state_module.LEAST_IN_FRONT = before


def test_most_of_many_stay_behind_the_front():
    """The front is what makes it quick: a million puts must not all land in the heap."""
    heap = PriorityHeap()
    for place in range(400_000):
        heap.put(place, float(place % 1000), place)
    heap._refill()
    assert len(heap._front) < 400_000 / 16
    assert heap.first() == 0


# Every rule, kept up to date event by event, against its definition over the whole history.

ENTITLEMENTS = [1.0, 2.0, 4.0, 1.0]
# What happens before each decision: who pauses or resumes, and how much is then given.
TURNS = st.lists(
    st.tuples(
        st.lists(st.tuples(st.booleans(), st.integers(0, 3)), max_size=2),
        st.sampled_from([1.0, 2.0, 0.5]),
    ),
    max_size=25,
)


class Literal:
    """A rule by its definition: all events so far, looked at again for every decision."""

    def __init__(self):
        self.given = []  # (turn, time, place, amount)
        self.eligible = []  # at each turn


class LiterallyLeastServed(Literal):
    def index(self, place, now):
        return sum(a for *_, who, a in self.given if who == place) / ENTITLEMENTS[place]


class LiterallyHalfLife(Literal):
    def index(self, place, now):
        parts = [a * 0.5 ** ((now - t) / 3.0) for _, t, who, a in self.given if who == place]
        return sum(parts) / ENTITLEMENTS[place]


class LiterallyLongestWait(Literal):
    def index(self, place, now):
        return max((turn for turn, _, who, _ in self.given if who == place), default=-0.5)


class LiterallyDeadline(Literal):
    def index(self, place, now):
        passed = 0
        for turn, able in enumerate(self.eligible):
            if self.given[turn][2] == place:
                passed = 0
            elif place in able:
                passed += 1
        return -passed


class LiterallyRoundRobin(Literal):
    def index(self, place, now):
        last = self.given[-1][2] if self.given else -1
        return (place - last - 1) % len(ENTITLEMENTS)


@pytest.mark.parametrize(
    ("rule", "literal"),
    [
        (LeastServed(), LiterallyLeastServed),
        (HalfLife(3.0), LiterallyHalfLife),
        (LongestWait(), LiterallyLongestWait),
        (Deadline(4), LiterallyDeadline),
        (RoundRobinRule(), LiterallyRoundRobin),
    ],
    ids=lambda part: type(part).__name__ if not isinstance(part, type) else "",
)
@given(turns=TURNS)
def test_a_rule_decides_as_its_definition(rule, literal, turns):
    state, by_definition = RuleState(rule), literal()
    for entitlement in ENTITLEMENTS:
        state.add(entitlement)
    for turn, (changes, amount) in enumerate(turns):
        state.time = float(turn)
        for pauses, place in changes:
            (state.pause if pauses else state.resume)(place)
        able = [place for place in range(4) if state.eligible(place)]
        ranks = {place: by_definition.index(place, state.time) for place in able}
        found = state.first(amount)
        if not able:
            assert found is None
            continue
        assert ranks[found] == pytest.approx(min(ranks.values()))  # ties may differ by rounding
        state.give(found, amount)
        by_definition.given.append((len(by_definition.given), state.time, found, amount))
        by_definition.eligible.append(able)


@given(turns=TURNS, seed=st.integers(0, 99))
def test_what_is_tried_leaves_no_trace(turns, seed):
    """A state that was asked between all decisions is the same as one that was not."""
    for rule in (Lottery(seed), LeastServed(), Deadline(3)):
        asked, other = (RuleState(rule, ByDraw(seed)) for _ in range(2))
        for entitlement in ENTITLEMENTS:
            asked.add(entitlement)
            other.add(entitlement)
        for changes, amount in turns:
            with asked.trial():
                for _ in range(3):
                    first = asked.first(amount, among=[1, 2, 3])
                    if first is not None:
                        asked.give(first, amount)
            for state in (asked, other):
                for pauses, place in changes:
                    (state.pause if pauses else state.resume)(place)
                chosen = state.first(amount)
                if chosen is not None:
                    state.give(chosen, amount)
        assert asked.memory == other.memory
        assert (asked.received, asked.turn, asked.front) == (
            other.received,
            other.turn,
            other.front,
        )


def test_those_who_join_together_begin_alike_whatever_was_tried_between():
    state = RuleState(LeastServed())
    for entitlement in (1.0, 2.0, 1.0, 1.0):
        state.add(entitlement)
    state.give(0, 1.0)
    assert state.memory[state.add()][1] == 0.2
    with state.trial():
        state.give(1, 1.0)
    # Not 0.19999999999999998, the mean of those there with the one who joined at 0.2.
    assert state.memory[state.add()][1] == 0.2


def test_a_newcomer_begins_at_the_mean_weighed_by_entitlements():
    state = RuleState(LeastServed())
    state.add(1.0)
    state.add(3.0)
    state.give(0, 8.0)
    state.time = 1.0
    # All that was given over all that is entitled: 8 / 4. Those who join together do not count.
    assert [state.memory[state.add()][1] for _ in range(2)] == [2.0, 2.0]
    state.time = 2.0
    # 8 + 0, and two who stand at 2: (8 + 2 + 2) / 6.
    assert state.memory[state.add()][1] == 2.0
    state.give(4, 7.0)
    # (8 + 2 + 2 + 2 + 7) / 7 = 3
    assert state.memory[state.add()][1] == pytest.approx(3.0)


@pytest.mark.parametrize(("newcomers", "start"), [("zero", 0.0), ("least", 2.0), ("mean", 5.0)])
def test_where_newcomers_begin(newcomers, start):
    state = RuleState(LeastServed(newcomers))
    for _ in range(2):
        state.add()
    state.give(0, 2.0)
    state.give(1, 8.0)
    assert state.rule.index(state.memory[state.add()], 1.0) == start


def test_half_life_of_newcomers_is_the_mean_as_of_now():
    state = RuleState(HalfLife(1.0))
    state.add()
    state.add()
    state.give(0, 8.0)
    state.time = 2.0
    newcomer = state.add()
    # 8 has become 2, so the mean is 1.
    assert state.rule.level(state.memory[newcomer], 1.0, state.instant) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("half_life", "of_dates", "of_numbers"),
    [(7, "7 days", "7"), ("7", "7 days", "7"), ("1", "1 day", "1"), ("2w", "2 weeks", None)],
)
def test_a_half_life_without_a_unit_is_said_in_days_where_times_are_dates(
    half_life, of_dates, of_numbers
):
    rule = HalfLife(half_life)
    assert rule.fitted(False).describe().endswith(f"half after {of_dates}")
    if of_numbers is not None:
        assert rule.fitted(True).describe().endswith(f"half after {of_numbers}")


def test_half_life_counts_over_very_long_times():
    """2^(t/h) would be too large for a number long before."""
    state = RuleState(HalfLife(1.0))
    for _ in range(2):
        state.add()
    for time in (0.0, 1e6, 1e6 + 1):
        state.time = time
        state.give(0, 4.0)
    assert state.rule.level(state.memory[0], 1.0, state.instant) == pytest.approx(6.0)
    assert state.first() == 1


def test_who_comes_back_is_lifted_to_the_lowest_counter():
    state = RuleState(VirtualTime(), by_request=True)
    for _ in range(3):
        state.add()
    for place in (0, 1):
        state.ask(place, 100.0)
    for _ in range(10):
        state.give(state.first(), 1.0)
    state.ask(2, 100.0)
    assert state.memory[2] == (5.0,)  # without the lift it would be served five times in a row
    chosen = []
    for _ in range(6):
        chosen.append(state.first())
        state.give(chosen[-1], 1.0)
    assert sorted(chosen) == [0, 0, 1, 1, 2, 2]


def test_a_request_that_is_met_is_not_eligible_and_a_lot_goes_to_whoever_can_take_it():
    state = RuleState(LeastServed(), by_request=True)
    for _ in range(2):
        state.add()
    assert state.first() is None
    state.ask(0, 1.0)
    state.ask(1, 3.0)
    assert state.first(2.0) == 1  # 0 comes first, and wants only 1
    assert state.first(1.0) == 0
    state.give(0, 1.0)
    assert not state.eligible(0)
    assert state.first(4.0) is None


def test_first_come_serves_requests_in_order():
    state = RuleState(FirstCome(), by_request=True)
    for _ in range(2):
        state.add()
    for time, place, amount in ((0.0, 1, 2.0), (1.0, 0, 1.0), (2.0, 1, 1.0)):
        state.time = time
        state.ask(place, amount)
    chosen = []
    while (place := state.first(1.0)) is not None:
        chosen.append(place)
        state.give(place, 1.0)
    assert chosen == [1, 1, 0, 1]
    assert state.rule.index(state.memory[0], 1.0) == math.inf


def test_waiting_begins_anew_with_a_request():
    state = RuleState(LongestWait(), by_request=True)
    for _ in range(3):
        state.add()
    for turn, place in enumerate((0, 1)):
        state.time = float(turn)
        state.ask(place, 9.0)
    state.time = 5.0
    state.give(0, 1.0)
    state.time = 6.0
    state.ask(2, 1.0)
    assert state.order() == [1, 0, 2]


@pytest.mark.parametrize(
    ("rule", "entitlement", "gifts"),
    [
        (LeastServed(), 1.0, [(0, 0.1), (0, 0.2), (1, 0.3)]),
        (VirtualTime(), 3.0, [(0, 5.0), (1, 2.0), (1, 3.0)]),
        (HalfLife(2), 1.0, [(0, 0.1), (0, 0.2), (1, 0.3)]),
        (HalfLife(2), 1.0, [(0, 0.4), (0, 0.6), (1, 0.7), (1, 0.3)]),  # logarithms of almost 0
    ],
)
def test_who_differs_by_rounding_alone_is_level(rule, entitlement, gifts):
    """And so the tie goes to whoever joined first, in whichever order the same was given."""
    for first, second in ((0, 1), (1, 0)):
        state = RuleState(rule)
        for _ in range(2):
            state.add(entitlement)
        for place, amount in gifts:
            state.give((first, second)[place], amount)
        assert state.first() == 0
