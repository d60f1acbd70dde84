"""A stakeholder entitled to e counts as e equal ones, in the mean and in every welfare."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from built_ins import BESIDE, STATUS
from evenhand import (
    AfterEach,
    AlphaFair,
    Always,
    Average,
    BalancedUnfairness,
    Discounted,
    Equality,
    Every,
    FairnessScheme,
    Final,
    GeneralisedGini,
    GeometricMean,
    GiniWelfare,
    Jain,
    Last,
    LogNash,
    Mean,
    Nash,
    NegativeVariance,
    Parity,
    PerEntitlement,
    Rawls,
    TimepointFirst,
    Total,
    Trace,
    Utilitarian,
    Worst,
    long_term,
)
from evenhand import errors as e
from evenhand.fairness import MatrixFunction, WelfareFunction

PEOPLE = (1_000_000.0, 100.0)  # City and Village
FAVOURED = Trace(rewards=[[900_000.0, 200.0]], stakeholders=("City", "Village"))
SYMMETRIC_CONCAVE = (
    Utilitarian(),
    Average(),
    Rawls(),
    Nash(),
    GeometricMean(),
    LogNash(),
    LogNash(0.5),
    GiniWelfare(),
    AlphaFair(0.0),
    AlphaFair(0.5),
    AlphaFair(1.0, offset=1.0),
    AlphaFair(2.0, offset=0.1),
    Jain(),
    Equality(),
    Parity(),
    NegativeVariance(),
)


# None of these falls where an assessment rises.
TEMPORAL = (Mean(), Total(), Worst(), Last(), Discounted(0.9))


def even(trace: Trace, entitlements: tuple[float, ...]) -> Trace:
    """The same supply at the same times, shared by entitlement."""
    supply = trace.rewards.sum(axis=1, keepdims=True)
    return Trace(rewards=supply * np.array(entitlements) / sum(entitlements))


def test_city_and_village_by_hand():
    found = long_term(LogNash(), status=PerEntitlement(PEOPLE)).assess(FAVOURED)
    mean = 900_200 / 1_000_100
    assert mean == pytest.approx(0.900110, abs=1e-6)
    assert found.unfairness("City", 1) == pytest.approx(0.9 - mean, rel=1e-9)
    assert found.unfairness("City", 1) == pytest.approx(-0.00010998, abs=1e-8)
    assert found.unfairness("Village", 1) == pytest.approx(1.0998900, abs=1e-7)
    assert found.unfair_to(1) == ("City",)
    weights = [2 * people / sum(PEOPLE) for people in PEOPLE]
    by_hand = weights[0] * math.log(1.9) + weights[1] * math.log(3.0)
    assert found.score == pytest.approx(by_hand, rel=1e-12)


@pytest.mark.parametrize("welfare", [LogNash(), GiniWelfare()], ids=str)
def test_the_log_that_gives_a_village_twice_its_share_is_not_the_fairer_one(welfare):
    scheme = long_term(welfare, status=PerEntitlement(PEOPLE))
    alike = Trace(rewards=[[900_110.0, 90.0]])
    assert scheme.score(FAVOURED) < scheme.score(alike) < scheme.score(even(FAVOURED, PEOPLE))
    # All counted alike, the village's hundred weigh as much as the city's million.
    old = long_term(welfare, status=PerEntitlement(PEOPLE, weighted=False))
    assert old.score(FAVOURED) > old.score(alike)


sizes = st.lists(st.integers(1, 9), min_size=2, max_size=4)


@st.composite
def shared(draw):
    """Entitlements, and what each received at some times."""
    entitlements = tuple(float(size) for size in draw(sizes))
    amounts = st.lists(st.integers(0, 8), min_size=len(entitlements), max_size=len(entitlements))
    return entitlements, draw(st.lists(amounts, min_size=1, max_size=5))


@given(shared(), st.sampled_from(SYMMETRIC_CONCAVE), st.sampled_from(TEMPORAL))
def test_no_way_to_share_scores_above_the_even_one(log, welfare, temporal):
    entitlements, rewards = log
    trace = Trace(rewards=rewards)
    status = PerEntitlement(entitlements)
    for filter_ in (Always(), Every(2), Final(), AfterEach(5)):
        scheme = FairnessScheme(status, TimepointFirst(welfare, temporal), filter_, empty=0.0)
        best = scheme.score(even(trace, entitlements))
        assert scheme.score(trace) <= best + 1e-9 * max(1.0, abs(best))


@given(shared())
def test_the_even_log_is_best_for_balanced_unfairness_and_any_falling_rank_weights(log):
    entitlements, rewards = log
    trace, status = Trace(rewards=rewards), PerEntitlement(entitlements)
    falling = tuple(1.0 / (k + 1) for k in range(len(entitlements)))
    for aggregation in (BalancedUnfairness(), TimepointFirst(GeneralisedGini(falling), Last())):
        scheme = FairnessScheme(status, aggregation)
        best = scheme.score(even(trace, entitlements))
        assert scheme.score(trace) <= best + 1e-9 * max(1.0, abs(best))


@given(shared(), st.sampled_from(SYMMETRIC_CONCAVE))
def test_whoever_is_entitled_to_e_counts_as_e_equal_ones(log, welfare):
    """Against the unweighted welfare of as many equal stakeholders as there are units."""
    entitlements, rewards = log
    units = [int(size) for size in entitlements]
    each = np.array(rewards[-1]) / entitlements
    apart = np.repeat(each, units)
    scale = len(units) / sum(units)  # of what adds up over stakeholders
    found = long_term(welfare, status=PerEntitlement(entitlements)).score(
        Trace(rewards=rewards[-1:])
    )
    expected = float(welfare(apart))
    if isinstance(welfare, Utilitarian | LogNash | AlphaFair):
        expected *= scale
    if isinstance(welfare, Nash):
        expected **= scale
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-9)


@given(shared(), st.sampled_from(SYMMETRIC_CONCAVE))
def test_equal_entitlements_give_the_paper_s_numbers_to_the_last_digit(log, welfare):
    _, rewards = log
    equal = PerEntitlement((4.0,) * len(rewards[0]))
    trace = Trace(rewards=rewards)
    plain = PerEntitlement((4.0,) * len(rewards[0]), weighted=False)
    assert long_term(welfare, status=equal).score(trace) == long_term(welfare, status=plain).score(
        trace
    )


@pytest.mark.parametrize("status", [*STATUS, *BESIDE], ids=str)
def test_a_status_that_weighs_says_by_what(status):
    assert (status.weighed_by is not None) == status.weighs
    words = long_term(LogNash(), status=status).describe()
    assert ("it counts by" in words) == status.weighs


def test_what_has_no_meaning_with_weights_is_refused():
    trace, status = Trace(rewards=[[1.0, 2.0]]), PerEntitlement((1.0, 3.0))
    with pytest.raises(e.WeightsRefused, match="WelfareFunction does not say"):
        long_term(WelfareFunction(np.sum), status=status).score(trace)
    with pytest.raises(e.WeightsRefused, match="as how many each stakeholder counts"):
        FairnessScheme(status, MatrixFunction(np.sum)).score(trace)
    unweighted = PerEntitlement((1.0, 3.0), weighted=False)
    assert long_term(WelfareFunction(np.sum), status=unweighted).score(trace) == 1 + 2 / 3
