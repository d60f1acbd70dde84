"""⟨M, m_init, μ⟩ by hand, on NumPy and under jit and vmap alike."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

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
    with pytest.raises(GroupsDoNotFit, match="stakeholder 2 is in no group"):
        GroupDifference({"A": [0, 1]}).init(3)
    with pytest.raises(BadParameter, match="period is 0"):
        Clock(0)
    for period in (1.5, float("nan"), float("inf"), "3", True):
        with pytest.raises(BadParameter, match=f"period is {period!r}: it must be a whole number"):
            Clock(period)
    with pytest.raises(BadParameter, match="shown_as is 0"):
        Clock(3, shown_as=0)


def test_many_leads_are_imagined_at_once():
    many = np.array([[1.0, 2.0, 4.0], [5.0, 3.0, 3.0]])
    assert Min().imagined(many[0], many).tolist() == [[0.0, 1.0, 3.0], [2.0, 0.0, 0.0]]


def test_memories_say_what_they_remember():
    words = Product((Full(), Clock(4))).describe()
    assert words == ("all that each stakeholder has received, and the number of steps modulo 4")


histories = st.lists(
    st.lists(st.sampled_from([0.0, 1.0, 2.0, -1.0]), min_size=3, max_size=3), min_size=1, max_size=8
)


@given(histories)
def test_min_is_the_lead_over_the_one_with_least(rewards):
    totals = np.cumsum(rewards, axis=0)
    leads = totals - totals.min(axis=1, keepdims=True)
    np.testing.assert_array_equal(after_each(Min(), rewards), leads)


@given(histories)
def test_reset_counts_from_where_all_were_last_equal(rewards):
    """Also where only some are equal, where all are equal at zero, and after corrections."""
    totals, base, expected = np.cumsum(rewards, axis=0), np.zeros(3), []
    for total in totals:
        if len(set(total)) == 1:
            base = total
        expected.append(total - base)
    np.testing.assert_array_equal(after_each(Reset(), rewards), expected)


@given(histories)
def test_the_lead_of_a_group_is_over_the_group_with_least(rewards):
    totals = np.cumsum(rewards, axis=0)
    groups = np.stack([totals[:, 0] + totals[:, 1], totals[:, 2]], axis=1)
    np.testing.assert_array_equal(after_each(GroupFull(GROUPS), rewards), groups)
    leads = groups - groups.min(axis=1, keepdims=True)
    np.testing.assert_array_equal(after_each(GroupDifference(GROUPS), rewards), leads)


@given(histories)
def test_the_last_winner_is_who_got_most_when_anybody_last_got_anything(rewards):
    last, expected = 3, []
    for row in rewards:
        last = row.index(max(row)) if max(row) > 0 else last
        expected.append(last)
    assert [int(value) for value in after_each(LastWinner(), rewards)] == expected


@given(st.sampled_from(MEMORIES), histories, st.permutations(range(3)))
def test_any_relabelling_relabels_the_memory(memory, rewards, order):
    """Those whom a memory treats alike may change places; it remembers them at their new ones."""
    labels = memory.exchangeable(3)
    if tuple(labels[i] for i in order) != labels:
        return
    moved = after_each(memory, np.asarray(rewards)[:, order])[-1]
    for one, other in zip(
        jax.tree.leaves(after_each(memory, rewards)[-1]), jax.tree.leaves(moved), strict=True
    ):
        by_stakeholder = np.shape(one)[-1:] == (3,)
        np.testing.assert_allclose(other, one[..., list(order)] if by_stakeholder else one)


IMAGINED = [
    (Product((Clock(5), Full(), LastWinner())), 1),
    (Product((LastWinner(), Min())), 1),
    (Product((Full(), Clock(5))), 0),
    (Product((Clock(5), Min(), Full())), 1),
]


@pytest.mark.parametrize(("memory", "claim"), IMAGINED)
def test_only_what_a_product_claims_is_imagined_and_all_stays_in_its_place(memory, claim):
    remembered = after_each(memory, REWARDS)[-1]
    assert memory.imaginable(remembered) is remembered[claim]
    imagined = memory.imagined(remembered, np.array([7.0, 0.0, 9.0]))
    assert len(imagined) == len(remembered)
    for place, (before, after) in enumerate(zip(remembered, imagined, strict=True)):
        assert np.array_equal(after, [7, 0, 9] if place == claim else before)
    assert memory.implied_status(imagined).tolist() == [7, 0, 9]


def test_a_product_in_a_product_is_imagined_in_its_place():
    memory = Product((Clock(4), Product((LastWinner(), Full()))))
    imagined = memory.imagined((np.asarray(3), (np.asarray(2), np.ones(3))), np.full(3, 6.0))
    assert imagined[0] == 3
    assert imagined[1][0] == 2
    assert imagined[1][1].tolist() == [6, 6, 6]


def test_what_claims_nothing_is_imagined_as_a_whole():
    memory = Product((Clock(4), LastWinner()))
    assert memory.imaginable((1, 2)) == (1, 2)
    assert memory.imagined((1, 2), (0, 0)) == (0, 0)


@pytest.mark.parametrize(
    ("memory", "expected"),
    [
        (Full(), [([1, 1, 2], 0, 9, True, True)]),
        (Reset(), [([0, 0, 1], 0, 9, True, True)]),
        (GroupFull(GROUPS), [([2, 2], 0, 9, True, True)]),
        (GroupDifference(GROUPS), [([0, 0], 0, 9, True, True)]),
        (LastWinner(), [([False, False, True], 0, 1, True, False)]),
        (Clock(3), [(2, 0, 2, True, False)]),
        (Clock(7, shown_as=7), [(5, 0, 6, True, False)]),
        (Clock(7, shown_as=4), [(2, 0, 3, True, False)]),  # 5 of 6 steps on a scale of 3
        (Clock(11, shown_as=5), [(2, 0, 4, True, False)]),  # 5 of 10 on one of 4
        (Clock(6, shown_as=11), [(10, 0, 10, True, False)]),  # 5 of 5 on one of 10
        (Clock(1, shown_as=3), [(0, 0, 2, True, False)]),
        (Nothing(), []),
        (OfStatus(Returns()), [([1, 1, 2], 0, 9, False, False), (1, 0, 9, False, False)]),
        (
            Product((Clock(3), Full())),
            [(2, 0, 2, True, False), ([1, 1, 2], 0, 9, True, True)],
        ),
    ],
)
def test_the_parts_of_a_memory_and_their_bounds(memory, expected):
    parts = memory.attributes(after_each(memory, REWARDS)[-1], 9, 3)
    found = [
        (np.asarray(one.values).tolist(), one.least, one.most, one.whole, one.counts)
        for one in parts
    ]
    assert found == expected
    groups = isinstance(memory, GroupFull | GroupDifference)
    assert all((one.groups is not None) == groups for one in parts)


@pytest.mark.parametrize(
    ("memory", "alike"),
    [
        *((memory, (0, 0, 0)) for memory in (Full(), Min(), Reset(), Clock(1), Nothing())),
        (LastWinner(), (0, 1, 2)),
        (GroupFull(GROUPS), (0, 0, 1)),
        (GroupDifference(GROUPS), (0, 0, 1)),
        (recent(2), (0, 0, 0)),
        (Product((Full(), GroupFull(GROUPS))), (0, 0, 1)),
    ],
)
def test_whom_a_memory_treats_alike(memory, alike):
    assert memory.exchangeable(3) == alike
