"""⟨M, m_init, μ⟩ by hand, on NumPy and under jit and vmap alike."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from evenhand.errors import BadParameter, GroupsDoNotFit
from evenhand.fairness.status import Returns
from evenhand.fairness.trace import Step
from evenhand.memory.memory import (
    Clock,
    Full,
    GroupDifference,
    GroupFull,
    LastWinner,
    Min,
    Nothing,
    OfStatus,
    Product,
    Reset,
    fading,
    recent,
)

GROUPS = {"A": [0, 1], "B": [2]}
REWARDS = [[1, 0, 0], [0, 1, 0], [0, 0, 0], [0, 0, 1], [0, 0, 1]]

BY_HAND = [
    (Full(), [[1, 0, 0], [1, 1, 0], [1, 1, 0], [1, 1, 1], [1, 1, 2]]),
    (Min(), [[1, 0, 0], [1, 1, 0], [1, 1, 0], [0, 0, 0], [0, 0, 1]]),
    (Reset(), [[1, 0, 0], [1, 1, 0], [1, 1, 0], [0, 0, 0], [0, 0, 1]]),
    (GroupFull(GROUPS), [[1, 0], [2, 0], [2, 0], [2, 1], [2, 2]]),
    (GroupDifference(GROUPS), [[1, 0], [2, 0], [2, 0], [1, 0], [0, 0]]),
    (LastWinner(), [0, 1, 1, 2, 2]),
    (Clock(3), [1, 2, 0, 1, 2]),
    (Nothing(), [[], [], [], [], []]),
]


def after_each(memory, rewards):
    value, found = memory.init(3), []
    for row in rewards:
        value = memory.update(value, Step(0, np.asarray(row, dtype=float)))
        found.append(value)
    return found


@pytest.mark.parametrize(("memory", "expected"), BY_HAND, ids=lambda x: type(x).__name__)
def test_by_hand(memory, expected):
    assert [np.asarray(value).tolist() for value in after_each(memory, REWARDS)] == expected


MEMORIES = [memory for memory, _ in BY_HAND] + [
    fading(2.0),
    recent(2),
    OfStatus(Returns(0.5)),
    Product((Min(), Clock(2), LastWinner())),
]


@pytest.mark.parametrize("memory", MEMORIES, ids=str)
def test_the_same_under_jit_and_vmap(memory):
    rewards = jnp.asarray([REWARDS, REWARDS[::-1]], dtype=jnp.float32)
    start = jax.tree.map(jnp.asarray, memory.init(3))

    def run(rows):
        def step(value, row):
            value = jax.tree.map(
                lambda new, old: new.astype(old.dtype), memory.update(value, Step(0, row)), value
            )
            return value, value

        return jax.lax.scan(step, start, rows)[1]

    found = jax.jit(jax.vmap(run))(rewards)
    for k, rows in enumerate((REWARDS, REWARDS[::-1])):
        for t, expected in enumerate(after_each(memory, rows)):
            got = jax.tree.map(lambda leaf, k=k, t=t: leaf[k, t], found)
            jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-6), got, expected)


def test_min_forgets_what_all_have_and_reset_only_when_all_are_equal():
    rows = [[2, 1, 1]]
    assert after_each(Min(), rows)[-1].tolist() == [1, 0, 0]
    assert after_each(Reset(), rows)[-1].tolist() == [2, 1, 1]


def test_what_a_memory_claims_to_know():
    for memory in (Full(), Min(), GroupFull(GROUPS), GroupDifference(GROUPS), recent(2)):
        assert memory.implied_status(memory.init(3)) is not None
    for memory in (Reset(), LastWinner(), Clock(2), Nothing(), Product((Clock(2), LastWinner()))):
        assert memory.implied_status(memory.init(3)) is None
    both = Product((Clock(2), Full()))
    assert both.implied_status(both.init(3)).tolist() == [0, 0, 0]


def test_a_wasted_step_changes_no_memory():
    for memory in (Full(), Min(), Reset(), GroupDifference(GROUPS), LastWinner()):
        before = after_each(memory, REWARDS)[-1]
        after = memory.update(before, Step(0, np.zeros(3)))
        np.testing.assert_array_equal(before, after)


def test_mistakes_are_named():
    with pytest.raises(GroupsDoNotFit, match="stakeholder 2 is in no group"):
        GroupFull({"A": [0, 1]}).init(3)
    with pytest.raises(BadParameter, match="period is 0"):
        Clock(0)


def test_memories_say_what_they_remember():
    words = Product((Full(), Clock(4))).describe()
    assert words == ("all that each stakeholder has received, and the number of steps modulo 4")
