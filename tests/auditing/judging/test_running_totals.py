"""Running totals against plain counting, however the assessments are cut into blocks."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand.auditing.judging.running_totals import RunningTotals
from evenhand.fairness.stream import Block
from evenhand.fairness.trace import Standing

SIZE = 3
tables = st.integers(1, 10).flatmap(
    lambda rows: st.tuples(
        st.lists(
            st.lists(st.sampled_from([0.0, 1.0, 2.0, 5.0, -4.0]), min_size=SIZE, max_size=SIZE),
            min_size=rows,
            max_size=rows,
        ),
        st.one_of(
            st.none(),
            st.lists(
                st.lists(st.booleans(), min_size=SIZE, max_size=SIZE).filter(any),
                min_size=rows,
                max_size=rows,
            ),
        ),
    )
)


def block(statuses, present) -> Block:
    rows = len(statuses)
    every = np.ones(rows, dtype=bool)
    return Block(every, every, statuses, np.zeros(rows), Standing(present), None, statuses, None)


def by_counting(statuses, present, i) -> dict[str, float]:
    """The figures of stakeholder i, one assessment after the other."""
    deviations, spell, longest, longest_end = [], 0, 0, -1
    below = 0
    for k, (row, here) in enumerate(zip(statuses, present, strict=True)):
        there = [u for u, yes in zip(row, here, strict=True) if yes]
        far = row[i] - sum(there) / len(there)
        is_below = bool(here[i]) and far < -1e-9
        if here[i]:
            deviations.append(far)
        below += is_below
        spell = spell + 1 if is_below else 0
        if spell > longest:
            longest, longest_end = spell, k
    return {
        "judged": len(deviations),
        "below": below,
        "overall": sum(deviations),
        "first": deviations[0] if deviations else math.nan,
        "last": deviations[-1] if deviations else math.nan,
        "last_is_below": bool(deviations) and deviations[-1] < -1e-9,
        "spell": spell,
        "longest": longest,
        "longest_end": longest_end,
        "share_below": below / max(len(deviations), 1),
    }


@given(tables, st.lists(st.integers(0, 10), max_size=3), st.booleans())
def test_totals_are_those_of_counting_whatever_the_cut_and_the_stop(table, cuts, stop):
    statuses, present = np.array(table[0]), table[1]
    present = None if present is None else np.array(present)
    totals = RunningTotals(SIZE)
    edges = sorted(min(cut, len(statuses)) for cut in cuts)
    for start, end in itertools.pairwise([0, *edges, len(statuses)]):
        here = None if present is None else present[start:end]
        deviation, below = totals.take(block(statuses[start:end], here))
        assert deviation.shape == below.shape == (end - start, SIZE)
        if stop:
            other = RunningTotals(SIZE)
            other.resume(totals.snapshot())
            totals = other
    here = np.ones(statuses.shape, dtype=bool) if present is None else present
    expected = [by_counting(table[0], here.tolist(), i) for i in range(SIZE)]
    for name in expected[0]:
        wanted = [one[name] for one in expected]
        assert getattr(totals, name).tolist() == pytest.approx(wanted, nan_ok=True), name
    spread = np.where(here, statuses, np.nan)
    far = spread - np.nanmean(spread, axis=1, keepdims=True)
    assert totals.assessments == len(statuses)
    assert totals.unequal == (far < -1e-9).any(axis=1).sum()
    assert totals.worst == pytest.approx(min(0.0, float(np.nanmin(far))))
    assert totals.furthest == pytest.approx(np.nanmax(np.abs(far), axis=1).sum())
    assert totals.scale == pytest.approx(np.abs(statuses).max(axis=1).sum())


def test_by_hand():
    """Below at assessments 2 to 4 and 6 to 7: the longest spell ended with number 4, from 1."""
    statuses = np.array([[1, 1], [1, 3], [1, 3], [1, 3], [5, 3], [5, 7], [5, 7]], dtype=float)
    totals = RunningTotals(2)
    for row in statuses:
        totals.take(block(row[None], None))
    assert totals.longest.tolist() == [3, 1]
    assert totals.longest_end.tolist() == [3, 4]
    assert totals.spell.tolist() == [2, 0]
    assert totals.below.tolist() == [5, 1]
    assert totals.overall.tolist() == [-4.0, 4.0]
    assert totals.ranking.lowest == (0,)
    assert totals.worst == -1.0


def test_nobody_has_been_judged_yet():
    totals = RunningTotals(2)
    assert totals.share_below.tolist() == [0.0, 0.0]
    assert (totals.worst, totals.scale, totals.furthest, totals.unequal) == (0.0, 0.0, 0.0, 0)
    deviation, below = totals.take(block(np.zeros((0, 2)), None))
    assert deviation.shape == below.shape == (0, 2)
    assert totals.assessments == 0
    assert totals.longest_end.tolist() == [-1, -1]
    assert np.isnan(totals.first).all()
    assert np.isnan(totals.last).all()
