"""Naming somebody among many, beside plain loops, and how often a lottery names anybody."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from evenhand.auditing.chance.naming import LEVEL, Spread, false_discovery_rates, name_people

APART = np.arange(2)  # two whom chance treats differently


def step_down(log, drawn):
    """Westfall and Young, word for word: p of each is its own among those not yet named."""
    order = sorted(range(len(log)), key=lambda i: -log[i])
    found, before = {}, 0.0
    for place, i in enumerate(order):
        rest = order[place:]
        hits = sum(max(row[j] for j in rest) >= log[i] for row in drawn)
        before = max(before, (1 + hits) / (1 + len(drawn)))
        found[i] = before
    return found


@given(hnp.arrays(float, (7, 4), elements=st.integers(-3, 3).map(float)))
def test_names_are_those_of_the_definition(values):
    log, drawn = values[0], values[1:]
    people = name_people(tuple("ABCD"), log, drawn)
    expected = step_down(log.tolist(), drawn.tolist())
    assert {one.name: one.p_among_all for one in people} == pytest.approx(
        {"ABCD"[i]: p for i, p in expected.items()}
    )
    for one in people:
        i = "ABCD".index(one.name)
        assert one.p == (1 + (drawn[:, i] >= log[i]).sum()) / 7
        assert one.p <= one.p_among_all
    assert [one.spreads for one in people] == sorted(log.tolist(), reverse=True)


@given(st.lists(st.floats(1e-4, 1.0), min_size=1, max_size=15), st.floats(0.01, 0.5))
def test_false_discoveries_are_those_of_benjamini_and_yekutieli(p, level):
    size = len(p)
    harmonic = sum(1 / k for k in range(1, size + 1))
    ascending = sorted(p)
    passing = [k for k in range(1, size + 1) if ascending[k - 1] <= k * level / (size * harmonic)]
    limit = ascending[max(passing) - 1] if passing else -1.0
    rates = false_discovery_rates(np.array(p))
    for one, rate in zip(p, rates, strict=True):
        if abs(rate - level) > 1e-12:
            assert (rate <= level) == (one <= limit)


def test_a_spread_counts_the_log_as_one_of_the_histories():
    spread = Spread.of(np.array([[0.0, 1.0]]), np.array([[2.0, 1.0], [4.0, 1.0]]), APART)
    assert spread.mean.tolist() == [2.0, 1.0]
    found = spread.behind(np.array([[0.0, 1.0], [4.0, 5.0]]))
    assert found == pytest.approx(np.array([[2 / np.sqrt(8 / 3), 0.0], [-2 / np.sqrt(8 / 3), 0.0]]))


def test_if_all_is_chance_anybody_is_named_as_often_as_is_said():
    rng = np.random.default_rng(4)
    named = 0
    for _ in range(400):
        values = rng.multinomial(40, np.full(8, 1 / 8), size=100).astype(float)
        spread = Spread.of(values[:1], values[1:], np.zeros(8, dtype=int))
        behind = spread.behind(values)
        people = name_people(tuple("ABCDEFGH"), behind[0], behind[1:])
        named += any(one.named for one in people)
    assert named / 400 <= LEVEL + 3 * np.sqrt(LEVEL * (1 - LEVEL) / 400)


def test_huge_amounts_have_a_spread_too():
    values = np.array([[1e200, 3e200], [3e200, 3e200]])
    spread = Spread.of(values[:1], values[1:], APART)
    assert spread.deviation == pytest.approx([1e200, 0.0])


def test_those_whom_chance_treats_alike_share_a_mean_and_a_deviation():
    values = np.array([[0.0, 5.0, 2.0], [4.0, 5.0, 0.0]])
    spread = Spread.of(values[:1], values[1:], np.array([0, 1, 0]))
    assert spread.mean == pytest.approx([1.5, 5.0, 1.5])
    assert spread.deviation == pytest.approx([np.std([0, 4, 2, 0]), 0.0, np.std([0, 4, 2, 0])])
