"""Batch score, streamed score and the literal definition are the same number."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import literal
from built_ins import AGGREGATION, BESIDE, FILTER, STATUS, TEMPORAL, WELFARE, N
from evenhand import (
    BalancedUnfairness,
    Decayed,
    Every,
    FairnessScheme,
    Final,
    LogNash,
    Returns,
    Step,
    TimepointFirst,
    Total,
    Trace,
    Utilitarian,
)
from evenhand.errors import NegativeStatus, NothingAssessed
from evenhand.fairness.aggregation import AGGREGATIONS
from evenhand.fairness.filters import FILTERS
from evenhand.fairness.status import STATUSES
from evenhand.fairness.temporal import TEMPORALS
from evenhand.fairness.trace import Override
from evenhand.fairness.welfare import WELFARES

# Halves (and halving) are exact, so that a comparison in a welfare means the same to all.
amounts = st.integers(-2, 6).map(lambda k: k / 2)
tables = st.integers(1, 24).flatmap(
    lambda steps: st.lists(
        st.lists(amounts, min_size=N, max_size=N), min_size=steps, max_size=steps
    )
)
override = st.one_of(st.none(), st.none(), st.none(), st.sampled_from([-3.0, 0.0, 2.0]))


def streamed(scheme: FairnessScheme, trace: Trace) -> float:
    stream = scheme.stream(trace.num_stakeholders)
    for step in trace.steps():
        stream.push(step)
    return stream.score


def agree(
    scheme: FairnessScheme, rewards: list[list[float]], overrides: list[float | None]
) -> None:
    if isinstance(scheme.aggregation, BalancedUnfairness):
        overrides = [None] * len(rewards)
    trace = Trace(rewards=rewards, overrides=overrides)
    keeps = scheme.aggregation.keeps_history
    ways = [scheme.score] if keeps else [scheme.score, lambda t: streamed(scheme, t)]
    try:
        expected = literal.score(scheme, rewards, overrides)
    except literal.Undefined:
        for way in ways:
            with pytest.raises(NegativeStatus, match=r"is defined only for values"):
                way(trace)
        return
    if expected is None and scheme.aggregation.empty is None:
        for way in ways:
            with pytest.raises(NothingAssessed, match="never came in"):
                way(trace)
        return
    for way in ways:
        assert way(trace) == pytest.approx(expected or 0.0, rel=1e-9, abs=1e-9)


@given(
    st.sampled_from(STATUS),
    st.sampled_from(AGGREGATION),
    st.sampled_from(FILTER),
    tables,
    st.data(),
)
def test_batch_stream_and_definition_agree(status, aggregation, filter_, rewards, data):
    overrides = data.draw(st.lists(override, min_size=len(rewards), max_size=len(rewards)))
    agree(FairnessScheme(status, aggregation, filter_), rewards, overrides)


@pytest.mark.parametrize("status", STATUS, ids=str)
def test_every_combination_of_built_ins(status):
    rng = np.random.default_rng(7)
    for aggregation, filter_ in itertools.product(AGGREGATION, FILTER):
        rewards = (rng.integers(0, 4, (7, N)) / 2).tolist()
        overrides = [1.0 if x < 0.2 else None for x in rng.random(7)]
        agree(FairnessScheme(status, aggregation, filter_), rewards, overrides)


def test_every_registered_part_is_among_those_tested():
    for registry, tested in (
        (STATUSES, [*STATUS, *BESIDE]),
        (WELFARES, WELFARE),
        (TEMPORALS, TEMPORAL),
        (FILTERS, FILTER),
        (AGGREGATIONS, AGGREGATION),
    ):
        # A filter of an environment reads that environment's states, and is tested with it.
        own = "evenhand.fairness."
        built_in = {cls for cls in registry.classes.values() if cls.__module__.startswith(own)}
        assert built_in <= {type(part) for part in tested}, registry.kind


@given(
    st.sampled_from([*STATUS, Decayed(7.3), Returns(0.97)]),
    st.integers(1, 400),
    st.integers(1, 5),
    st.randoms(),
)
def test_scan_in_blocks_is_update_repeated(status, steps, blocks, random):
    rng = np.random.default_rng(random.randrange(2**32))
    trace = Trace(rewards=rng.integers(-2, 5, (steps, N)) / 4)
    state, by_block = status.init(N), []
    edges = sorted(rng.integers(0, steps + 1, blocks - 1).tolist())
    for start, stop in itertools.pairwise([0, *edges, steps]):
        state, values = status.scan(state, trace.block(start, stop))
        by_block.append(values)
    state, by_step = status.init(N), []
    for step in trace.steps():
        state = status.update(state, step)
        by_step.append(status.value(state))
    np.testing.assert_allclose(np.concatenate(by_block), by_step, rtol=1e-10, atol=1e-10)


def test_the_stream_holds_the_score_of_every_prefix():
    rng = np.random.default_rng(3)
    trace = Trace(rewards=rng.integers(0, 3, (40, N)))
    for scheme in (
        FairnessScheme(),
        FairnessScheme(filter=Final()),
        FairnessScheme(filter=Every(4), empty=0.0),
        FairnessScheme(aggregation=BalancedUnfairness()),
    ):
        stream = scheme.stream(N)
        for t, step in enumerate(trace.steps(), 1):
            stream.push(step)
            assert stream.score == pytest.approx(scheme.score(trace.prefix(t)))
            assert stream.steps == t


def test_a_refused_step_leaves_the_stream_as_it_was():
    stream = FairnessScheme(aggregation=TimepointFirst(LogNash(), Total())).stream(2)
    stream.push([1, 0])
    with pytest.raises(NegativeStatus):
        stream.push([-5, 0])
    stream.push([0, 1])
    assert stream.score == pytest.approx(math.log(2) + 2 * math.log(2))


def test_an_override_is_paid_even_where_the_filter_does_not_fire():
    scheme = FairnessScheme(aggregation=TimepointFirst(Utilitarian(), Total()), filter=Every(3))
    trace = Trace(rewards=[[1, 0]] * 4, overrides={2: -7.0})
    assert scheme.score(trace) == -7.0 + 3.0


def test_a_long_trace_goes_through_many_blocks():
    rng = np.random.default_rng(1)
    rewards = rng.integers(0, 2, (100_000, 5)).astype(float)
    scheme = FairnessScheme(filter=Every(7))
    counts = np.cumsum(rewards, axis=0)[6::7]
    assert scheme.score(Trace(rewards=rewards)) == pytest.approx(np.log1p(counts).sum(1).mean())


def test_stream_and_batch_may_be_mixed():
    trace = Trace(rewards=np.arange(30.0).reshape(10, 3), overrides={4: 1.0})
    stream = FairnessScheme(filter=Every(3)).stream(3)
    for step in trace.prefix(5).steps():
        stream.push(step)
    stream.extend(trace.block(5, 10))
    assert stream.score == pytest.approx(FairnessScheme(filter=Every(3)).score(trace))


def test_a_step_may_carry_an_override_that_does_not_apply():
    stream = FairnessScheme(filter=Every(2), empty=9.0).stream(1)
    stream.push(Step(None, [1.0], override=Override(np.False_, 5.0)))
    assert stream.score == 9.0
