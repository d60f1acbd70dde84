"""Statuses that look at circumstances: against plain Python, in any cut into blocks."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from built_ins import BESIDE, N
from evenhand import Average, LogNash, Trace, anytime
from evenhand import errors as e
from evenhand.fairness import Circumstances, FairnessScheme, Mean, Rate, TimepointFirst, from_toml
from evenhand.fairness.scheme import to_toml
from evenhand.fairness.status import (
    Level,
    PerCurrentEntitlement,
    PerEntitlement,
    PerTimePresent,
    RateWithinPeriod,
    ShareMet,
    Shortfall,
    WhileWaiting,
    WithCredit,
)
from evenhand.problem.reward import FairnessReward

SIZES = (1.0, 2.0, 4.0, 0.5)


def literal(status, received, known, before):
    """The status and the weight of each at one time, from totals and what is known then."""
    size = SIZES if isinstance(getattr(status, "of", None), PerEntitlement) else (1.0,) * N
    got = [r / e for r, e in zip(received, size, strict=True)]
    match status:
        case RateWithinPeriod():
            now = [r - b for r, b in zip(received, before, strict=True)]
            part = known["chances in the step"]
            return [r / c if c else 0.0 for r, c in zip(now, part, strict=True)], part
        case Rate() | ShareMet():
            part = known["chances" if isinstance(status, Rate) else "asked"]
            return [r / c if c else 0.0 for r, c in zip(received, part, strict=True)], part
        case PerCurrentEntitlement():
            values = [r / c for r, c in zip(received, known["entitled"], strict=True)]
            return values, known["entitled"] if status.weighted else [1.0] * N
        case PerTimePresent():
            return [g / max(t, 1) for g, t in zip(got, known["time_points"], strict=True)], size
        case WithCredit():
            return [g + c for g, c in zip(got, known["credit"], strict=True)], size
        case Level():
            return known["level"], [1.0] * N
        case Shortfall():
            return [r - a for r, a in zip(received, known["asked"], strict=True)], [1.0] * N
        case WhileWaiting():
            waits = [a > b for a, b in zip(known["asked"], before, strict=True)]
            return got, [w * e for w, e in zip(waits, size, strict=True)]
    raise AssertionError(status)


def known_at(parts, t):
    """What is known at a step, and the chances in that step alone."""
    chances = parts["chances"]
    now = chances[t] - (chances[t - 1] if t else 0.0)
    return {name: part[t].tolist() for name, part in parts.items()} | {
        "chances in the step": now.tolist()
    }


@st.composite
def histories(draw):
    steps = draw(st.integers(1, 6))
    numbers = st.lists(st.integers(0, 4), min_size=N, max_size=N)

    def table(least=0):
        return np.array(draw(st.lists(numbers, min_size=steps, max_size=steps)), float) + least

    rewards = table()
    parts = {
        "entitled": table(1),
        "chances": np.cumsum(table(), axis=0),
        "asked": np.cumsum(table(), axis=0),
        "level": table(),
        "credit": table(),
        "time_points": np.cumsum(np.minimum(table(), 1), axis=0),
    }
    return rewards, parts


def as_trace(rewards, parts):
    return Trace(rewards=rewards, circumstances=Circumstances(**parts))


def require_definition(status, rewards, parts, cut):
    """By definition, by `scan` in two blocks, and by `update`: the same statuses and weights."""
    trace = as_trace(rewards, parts)
    totals = np.cumsum(rewards, axis=0)
    values, weights = [], []
    for t in range(len(rewards)):
        known = known_at(parts, t)
        before = totals[t - 1] if t else np.zeros(N)
        value, weight = literal(status, totals[t].tolist(), known, before.tolist())
        values.append(value)
        weights.append(weight)
    state, scanned, weighed = status.init(N), [], []
    for start, stop in itertools.pairwise([0, cut, len(rewards)]):
        block = trace.block(start, stop)
        if len(block):
            found = status.scan_weights(state, block)
            weighed.append(np.ones((len(block), N)) if found is None else found)
        state, part = status.scan(state, block)
        scanned.append(part)
        if stop:  # what is carried on from a block is what stood at its end
            assert status.value(state) == pytest.approx(np.array(values[stop - 1], float))
            found = status.weights(state)
            assert (np.ones(N) if found is None else found) == pytest.approx(weights[stop - 1])
    assert np.concatenate(scanned) == pytest.approx(np.array(values, float))
    assert np.concatenate(weighed) == pytest.approx(np.array(weights, float))
    state = status.init(N)
    for t, step in enumerate(trace.steps()):
        state = status.update(state, step)
        assert status.value(state) == pytest.approx(np.array(values[t], float))
        found = status.weights(state)
        assert (np.ones(N) if found is None else found) == pytest.approx(np.array(weights[t]))


@given(st.sampled_from(BESIDE), histories(), st.data())
def test_definition_scan_and_update_agree_in_any_cut(status, history, data):
    rewards, parts = history
    require_definition(status, rewards, parts, data.draw(st.integers(0, len(rewards))))


@pytest.mark.parametrize("cut", [0, 2, 5])
@pytest.mark.parametrize("status", BESIDE, ids=repr)
def test_each_of_them_by_definition(status, cut):
    rng = np.random.default_rng(cut)
    tables = rng.integers(0, 4, (7, 5, N)).astype(float)
    so_far = np.cumsum(tables, axis=1)
    parts = {
        "entitled": tables[0] + 1,
        "chances": so_far[1],
        "asked": so_far[2],
        "level": tables[3],
        "credit": tables[4],
        "time_points": np.cumsum(np.minimum(tables[5], 1), axis=0),
    }
    require_definition(status, tables[6], parts, cut)


def test_the_status_of_totals_is_set_beside_what_is_known():
    known = Circumstances(chances=np.array([2.0, 4.0]), asked=np.array([5.0, 5.0]))
    totals = np.array([[1.0, 2.0], [2.0, 3.0]])
    assert Rate().of_totals(totals, known).tolist() == [[0.5, 0.5], [1.0, 0.75]]
    assert Shortfall().of_totals(totals, known).tolist() == [[-4.0, -3.0], [-3.0, -2.0]]


@given(st.sampled_from(BESIDE), histories())
def test_the_score_is_that_of_those_who_count(status, history):
    rewards, parts = history
    trace = as_trace(rewards, parts)
    totals = np.cumsum(rewards, axis=0)
    scores = []
    for t in range(len(rewards)):
        known = known_at(parts, t)
        before = totals[t - 1] if t else np.zeros(N)
        value, weight = literal(status, totals[t].tolist(), known, before.tolist())
        if sum(weight):  # where nobody counts nothing is assessed
            pairs = zip(value, weight, strict=True)
            scores.append(sum(u * w for u, w in pairs) / sum(weight))
    scheme = FairnessScheme(status, TimepointFirst(Average(), Mean()), empty=-1.0)
    expected = sum(scores) / len(scores) if scores else -1.0
    assert scheme.score(trace) == pytest.approx(expected, abs=1e-9)
    stream = scheme.stream(N)
    for step in trace.steps():
        stream.push(step)
    assert stream.score == pytest.approx(expected, abs=1e-9)


def test_only_what_is_received_is_per_unit_of_entitlement():
    assert [one.per_unit for one in (ShareMet(), Shortfall(), WhileWaiting())] == [0, 0, 1]


def test_without_circumstances_it_says_what_is_missing():
    with pytest.raises(e.MissingCircumstances, match="how many chances each has had so far"):
        anytime(LogNash(), status=Rate()).score(Trace(rewards=[[1.0, 2.0]]))


def test_weights_that_change_are_no_reward_of_a_step():
    with pytest.raises(e.CannotStream, match="changes with what happened"):
        FairnessReward(anytime(LogNash(), status=Rate()), augment_with_score=True)


@pytest.mark.parametrize("status", BESIDE, ids=str)
def test_they_are_saved_in_scheme_files(status):
    scheme = anytime(LogNash(), status=status)
    assert from_toml(to_toml(scheme)) == scheme
    assert math.isfinite(len(status.describe()))
