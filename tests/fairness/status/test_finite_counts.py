"""Counts that stay finite, finite memories from statuses, and what is value-regular."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand.errors import BadParameter, DoesNotClose
from evenhand.fairness.scheme import anytime, from_toml, to_toml
from evenhand.fairness.status import (
    STATUSES,
    Capped,
    Decayed,
    EnvyOfBest,
    GroupTotals,
    Modulo,
    PairwiseEnvy,
    PerEntitlement,
    Returns,
    StateStatus,
    Status,
    TraceFunction,
    WaitingTime,
    Window,
)
from evenhand.fairness.status.derived import Derived
from evenhand.fairness.trace import Step, Trace
from evenhand.memory.automata import Events, TableStatus, table_memory
from evenhand.memory.languages import examine, value_regular
from evenhand.memory.memory import OfStatus

COIN = Events.of_rewards([[0], [1]], labels=("no", "yes"))
PAIR = Events.of_rewards([[1, 0], [0, 1], [0, 0]], labels=("A", "B", "none"))


def folded(status: Status, rewards) -> np.ndarray:
    rewards = np.asarray(rewards, dtype=float)
    state = status.init(rewards.shape[1])
    values = []
    for row in rewards:
        state = status.update(state, Step(None, row))
        values.append(status.value(state))
    return np.array(values)


amounts = st.lists(st.lists(st.integers(-3, 4), min_size=2, max_size=2), min_size=1, max_size=40)


@given(amounts, st.integers(1, 7))
def test_modulo_by_its_definition(rewards, modulus):
    expected = np.cumsum(rewards, axis=0) % modulus
    np.testing.assert_array_equal(folded(Modulo(modulus), rewards), expected)


@given(amounts, st.integers(1, 7))
def test_capped_by_its_definition(rewards, cap):
    count, expected = np.zeros(2), []
    for row in rewards:
        count = np.minimum(count + row, cap)
        expected.append(count)
    np.testing.assert_array_equal(folded(Capped(cap), rewards), expected)


@given(st.lists(st.lists(st.integers(0, 4), min_size=2, max_size=2), min_size=1), st.integers(1, 7))
def test_without_corrections_capped_is_the_lesser_of_count_and_cap(rewards, cap):
    expected = np.minimum(np.cumsum(rewards, axis=0), cap)
    np.testing.assert_array_equal(folded(Capped(cap), rewards), expected)


@given(amounts, st.integers(0, 40))
def test_scan_agrees_with_update_in_one_block_or_two(rewards, cut):
    cut = min(cut, len(rewards))
    trace = Trace(rewards=rewards)
    for status in (Modulo(3), Capped(2), Capped(2, of=Window(3)), Modulo(2, of=Decayed(1.0))):
        state, early = status.scan(status.init(2), trace.block(0, cut))
        state, late = status.scan(state, trace.block(cut, len(trace)))
        np.testing.assert_allclose(np.vstack((early, late)), folded(status, rewards), atol=1e-12)
        stepwise = status.init(2)
        for step in trace.steps():
            stepwise = status.update(stepwise, step)
        np.testing.assert_allclose(status.value(state), status.value(stepwise), atol=1e-12)


def test_as_memories_they_carry_the_finite_count_itself():
    wraps, saturates = OfStatus(Modulo(12)), OfStatus(Capped(5))
    a, b = wraps.init(1), saturates.init(1)
    for _ in range(100):
        step = Step(None, np.ones(1))
        a, b = wraps.update(a, step), saturates.update(b, step)
    assert a.total == [4]
    assert b.total == [5]


def test_they_run_under_jit():
    for status in (Modulo(3), Capped(4)):

        def final(rewards, status=status):
            start = jax.tree.map(jnp.asarray, status.init(2))
            state, _ = jax.lax.scan(
                lambda state, r: (status.update(state, Step(None, r)), None), start, rewards
            )
            return status.value(state)

        rewards = np.random.default_rng(1).integers(-1, 3, size=(20, 2)).astype(np.float32)
        np.testing.assert_array_equal(jax.jit(final)(rewards), folded(status, rewards)[-1])


def test_descriptions_bounds_and_files():
    assert Modulo(12).describe() == "what it has received so far, modulo 12"
    assert Capped(5).describe() == "what it has received so far, but no more than 5"
    assert Modulo(12).magnitude(3.0, 100) == 12
    assert Capped(5).magnitude(3.0, 2) == 6.0
    assert STATUSES.get("modulo") is Modulo
    assert STATUSES.get("capped") is Capped
    for status in (Modulo(12), Capped(5, of=Window(3))):
        scheme = anytime(status=status)
        assert from_toml(to_toml(scheme)) == scheme


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Modulo(0), "modulus is 0: it must be a whole number from 1"),
        (lambda: Modulo(2.5), r"modulus is 2\.5: it must be a whole number"),
        (lambda: Capped(0), "cap is 0: it must be a positive number"),
        (lambda: Capped(np.inf), "cap is inf: it must be a positive number"),
    ],
)
def test_parameters_are_checked(make, message):
    with pytest.raises(BadParameter, match=message):
        make()


# --- finite memories from statuses


@pytest.mark.parametrize(
    ("status", "size"),
    [
        (Modulo(12), 12 * 12),
        (Capped(5), 6 * 6),
        (Window(2), 3 * 3),
        (Capped(2, of=Window(3)), 3**3),
        (GroupTotals({"all": [0, 1]}, of=Modulo(2)), 4),
    ],
)
def test_what_closes_becomes_a_table(status, size):
    memory = table_memory(status, PAIR, 2)
    assert memory.size == size
    rewards = np.array([step.rewards for step in PAIR.require_steps()])
    chosen = np.random.default_rng(2).integers(0, 3, size=60)
    assert np.array_equal(
        folded(TableStatus(memory), rewards[chosen]), folded(status, rewards[chosen])
    )


def test_a_horizon_makes_any_count_finite():
    memory = table_memory(Returns(), PAIR, 2, horizon=5)
    assert memory.size == 6 * 7 // 2  # counts of at most five together
    assert memory.horizon == 5
    for string in itertools.product(PAIR.labels, repeat=5):
        counts = [string.count("A"), string.count("B")]
        np.testing.assert_array_equal(memory.values[memory.after(string)], counts)
    full = memory.after(["A"] * 5)
    assert memory.after(["A"] * 9) == full  # after the horizon it stays where it is
    assert table_memory(Returns(0.5), PAIR, 2, horizon=3).size == 1 + 3 + 9 + 27
    assert table_memory(Returns(), PAIR, 2, horizon=0).size == 1


def test_what_does_not_close_says_its_size():
    with pytest.raises(
        DoesNotClose,
        match=r"the status \(what it has received so far, over 2 events\) does not close: it has "
        r"more than 50 states, some of them reached only after 50 steps\. Give a \(shorter\) hor",
    ) as caught:
        table_memory(Returns(), COIN, 1, max_states=50)
    assert caught.value.size == 50
    assert table_memory(Returns(), COIN, 1, horizon=49, max_states=50).size == 50
    with pytest.raises(BadParameter, match="rewards for 1 stakeholders, but num_stakeholders is 2"):
        table_memory(Returns(), COIN, 2)
    with pytest.raises(BadParameter, match="horizon is -1"):
        table_memory(Returns(), COIN, 1, horizon=-1)


# --- value-regular or not


@pytest.mark.parametrize(
    ("status", "regular"),
    [
        (Returns(), False),
        (Returns(0.9), False),
        (Decayed(2.0), False),
        (WaitingTime(), False),
        (Window(3), True),
        (Modulo(12), True),
        (Capped(5), True),
        (StateStatus(lambda state: state), True),
        (TableStatus(table_memory(Modulo(2), COIN, 1)), True),
        (GroupTotals({"all": [0, 1]}), False),
        (GroupTotals({"all": [0, 1]}, of=Window(2)), True),
        (PerEntitlement((1.0, 2.0)), False),
        (EnvyOfBest(of=Capped(5)), True),
        (PairwiseEnvy(), False),
        (Capped(1, of=Window(2)), True),
        (Modulo(2, of=WaitingTime()), None),
        (Capped(2, of=Returns(0.5)), None),
        (TraceFunction(lambda trace: [0.0]), None),
        (lambda trace: [0.0], None),
    ],
)
def test_statuses_declare_it(status, regular):
    verdict = value_regular(status)
    assert verdict.regular is regular
    assert verdict.reason
    assert value_regular(status, horizon=10).regular is True


def test_the_answer_in_words():
    assert str(value_regular(Capped(5))) == (
        "value-regular: a count capped at 5 is bounded where no amount is negative"
    )
    assert str(value_regular(Returns())) == (
        "not value-regular: a sum grows without bound; with a horizon it is value-regular"
    )
    assert str(value_regular(len)) == ("not settled: it does not say; pass events= to examine it")
    assert str(value_regular(Returns(), horizon=3)) == (
        "value-regular: there are finitely many histories of at most 3 steps"
    )


@dataclass(frozen=True)
class Twice(Derived):
    """Whether the inner status is at least two: a user's own status."""

    def transform(self, values):
        return (values >= 2) * 1.0

    def describe(self) -> str:
        return "whether it has got two"


def test_a_status_of_ones_own_is_examined():
    closes = value_regular(Twice(of=Capped(2)))
    assert closes.regular is True
    # Its fold is a count and never closes, but a memory of three states gives every value.
    open_ended = value_regular(Twice(), events=COIN)
    assert open_ended.regular is None
    assert open_ended.reason == (
        "no counterexample up to length 6: a memory of 3 states gives every value"
    )
    assert not open_ended.evidence.against
    assert open_ended.evidence.memory.size == 3

    @dataclass(frozen=True)
    class Own(Status):
        def init(self, num_stakeholders):
            return np.zeros(num_stakeholders)

        def update(self, state, step):
            return step.rewards

        def value(self, state):
            return state

        def describe(self):
            return "the last reward"

    assert value_regular(Own()).regular is None
    proved = value_regular(Own(), events=COIN)
    assert (proved.regular, proved.reason) == (True, "over these events it carries one of 2 states")


def test_a_function_is_examined_up_to_a_length():
    def parity(trace):
        return trace.rewards.sum(axis=0) % 2

    verdict = value_regular(parity, events=COIN)
    assert verdict.regular is None
    assert verdict.evidence.memory.size == 2
    assert verdict.evidence.distinct_values == (1, 2, 2, 2, 2, 2, 2)
    assert verdict.evidence.classes == (1, 2, 2, 2, 2)


def test_a_count_has_the_evidence_against_it():
    verdict = value_regular(lambda trace: trace.rewards.sum(axis=0), events=COIN)
    assert verdict.regular is None  # a count modulo 12 would look the same up to here
    assert verdict.evidence.against
    assert verdict.evidence.distinct_values == (1, 2, 3, 4, 5, 6, 7)
    assert verdict.evidence.classes == (1, 2, 3, 4, 5)
    assert verdict.reason == (
        "no finite memory gives every value up to length 6, as far as is seen: histories of up to "
        "0, 1, … events take 1, 2, 3, 4, 5, 6, 7 values and fall into 1, 2, 3, 4, 5 classes"
    )


def test_two_values_can_still_need_an_unbounded_memory():
    """ "As many to A as to B" takes two values but is not regular: the difference has no bound."""

    def balanced(trace):
        given_out = trace.rewards.sum(axis=0)
        return [float(given_out[0] == given_out[1])]

    evidence = value_regular(TraceFunction(balanced), events=PAIR, max_length=7).evidence
    assert evidence.against
    assert evidence.distinct_values == (1, *[2] * 7)
    # Differences of 4 and −4 look alike for three events, the others are told apart.
    assert evidence.classes == (1, 3, 5, 7, 8)
    # Up to length 6 the classes cease to grow, but 3 and −3 are alike and not continued alike.
    evidence = value_regular(balanced, events=PAIR, max_length=6).evidence
    assert evidence.classes == (1, 3, 5, 6, 6)
    assert evidence.against


@given(st.integers(0, 2**32 - 1))
def test_the_memory_of_the_evidence_gives_every_value(seed):
    rng = np.random.default_rng(seed)
    size = int(rng.integers(1, 4))
    table, values = rng.integers(0, size, size=(size, 2)), rng.integers(0, 2, size=(size, 1))

    def value(steps):
        state = 0
        for step in steps:
            state = table[state, int(step.rewards[0])]
        return values[state]

    evidence = examine(value, COIN, 6)
    # Three states need at most two events to be reached and two to be told apart: found for sure.
    assert evidence.memory is not None
    for length in range(9):
        for string in itertools.product(range(2), repeat=length):
            steps = [COIN.require_steps()[event] for event in string]
            state = evidence.memory.after(COIN.labels[event] for event in string)
            np.testing.assert_array_equal(evidence.memory.values[state], value(steps))


def test_an_examination_that_is_too_long_is_refused():
    with pytest.raises(BadParameter, match="max_length is 30: with 2 events it must be at least 1"):
        value_regular(len, events=COIN, max_length=30)
    with pytest.raises(BadParameter, match="max_length is 0"):
        value_regular(len, events=COIN, max_length=0)
