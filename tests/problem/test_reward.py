"""The rewards of a trace add up to its score, on plain NumPy and for any built-in parts."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from built_ins import AGGREGATION, FILTER, STATUS, N
from evenhand import (
    AfterEach,
    AlphaFair,
    Every,
    FairnessScheme,
    LogNash,
    Mean,
    Nash,
    Rawls,
    Step,
    TimepointFirst,
    Total,
    Trace,
    anytime,
    bounded,
    periodic,
)
from evenhand.errors import EvenhandError
from evenhand.fairness.trace import Override
from evenhand.problem.checks import agree
from evenhand.problem.problem import Episode
from evenhand.problem.reward import FairnessReward, is_sum_of_rewards

amounts = st.sampled_from([0.0, 0.5, 1.0, 2.0])
histories = st.lists(st.lists(amounts, min_size=N, max_size=N), min_size=1, max_size=8)
schemes = st.builds(
    FairnessScheme,
    st.sampled_from(STATUS),
    st.sampled_from([one for one in AGGREGATION if not one.keeps_history]),
    st.sampled_from(FILTER),
    st.sampled_from([None, -2.0, 0.0]),
)


def rewards_of(pay: FairnessReward, trace: Trace) -> np.ndarray:
    state, found = pay.init(trace.num_stakeholders), []
    for time, step in enumerate(trace.steps(), 1):
        state, reward = pay.update(state, step, np.asarray(time == len(trace)))
        found.append(float(reward))
    return np.array(found)


def contributed(scheme: FairnessScheme, trace: Trace) -> float:
    """The score by `contributions`, from the statuses of the time points that are assessed."""
    found = scheme.assess(trace)
    if not found.assessed.any():
        return scheme.aggregation.empty if scheme.empty is None else scheme.empty
    override = trace.overrides and Override(*(part[found.assessed] for part in trace.overrides))
    weights = None if found.standing.weights is None else found.standing.weights[found.assessed]
    statuses = found.statuses[found.assessed]
    return scheme.aggregation.fold(scheme.contributions(statuses, weights, override=override))


@given(schemes, histories, st.data())
def test_the_rewards_of_a_trace_add_up_to_its_score(scheme, rewards, data):
    overrides = None
    if scheme.aggregation.takes_overrides:
        times = st.integers(1, len(rewards))
        overrides = data.draw(st.dictionaries(times, st.sampled_from([-3.0, 2.0]), max_size=2))
    trace = Trace(rewards=rewards, overrides=overrides or None)
    try:
        score = scheme.score(trace)
    except EvenhandError:
        return
    seen = [True] if not is_sum_of_rewards(scheme) else [True, False]
    with np.errstate(all="ignore"):
        assert contributed(scheme, trace) == pytest.approx(score, rel=1e-9, abs=1e-9)
        for augment_with_score in seen:
            pay = FairnessReward(scheme, augment_with_score)
            paid = rewards_of(pay, trace)
            weights = pay.discount ** np.arange(len(paid))
            assert paid @ weights == pytest.approx(score, rel=1e-9, abs=1e-9)


UNDEFINED = [
    (LogNash(), [-1.0, 0.0], [0.0, 2.0]),
    (LogNash(0.0), [0.0, 1.0], [1e-9, 1.0]),
    (LogNash(0.0), [-1.0, 1.0], [1.0, 1.0]),
    (Nash(), [-0.5, 1.0], [0.0, 1.0]),
    (AlphaFair(2.0), [0.0, 1.0], [0.5, 1.0]),
    (AlphaFair(2.0), [-1.0, 1.0], [1.0, 1.0]),
]


@pytest.mark.parametrize("augment_with_score", [False, True])
@pytest.mark.parametrize(("welfare", "undefined", "defined"), UNDEFINED, ids=str)
def test_where_welfare_is_undefined_only_an_override_is_paid(
    welfare, undefined, defined, augment_with_score
):
    pay = FairnessReward(anytime(welfare, Total()), augment_with_score)
    applies, does_not = Override(np.True_, -4.0), Override(np.False_, -4.0)
    over = np.False_
    with np.errstate(all="ignore"):
        for override, expected in ((applies, -4.0), (does_not, -math.inf), (None, -math.inf)):
            _, reward = pay.update(
                pay.init(2), Step(0, np.array(undefined), override=override), over
            )
            assert reward == expected
        _, reward = pay.update(pay.init(2), Step(0, np.array(defined)), over)
        assert reward == pytest.approx(float(welfare(np.array(defined))))


def test_the_reward_of_an_episode_without_assessment():
    """It is paid with the last step, once, and only where the scheme names it."""
    trace = Trace(rewards=[[1.0, 0.0]] * 3)
    named = FairnessScheme(aggregation=TimepointFirst(Rawls(), Total()), filter=Every(9), empty=-5)
    for augment_with_score in (False, True):
        assert rewards_of(FairnessReward(named, augment_with_score), trace).tolist() == [0, 0, -5]
    total = periodic(9, Rawls(), Total())
    assert rewards_of(FairnessReward(total), trace).tolist() == [0, 0, 0]
    mean = bounded(AfterEach(9), Rawls(), Mean())
    paid = rewards_of(FairnessReward(mean, augment_with_score=True), trace)
    assert paid[:2].tolist() == [0, 0]
    assert math.isnan(paid[2])


def test_whether_anything_was_assessed_is_carried_only_where_it_is_asked():
    """To carry it otherwise would tell states apart that are alike."""

    def carried(scheme: FairnessScheme, augment_with_score: bool = False) -> bool:
        pay = FairnessReward(scheme, augment_with_score)
        state, _ = pay.update(pay.init(2), Step(0, np.ones(2)), np.False_)
        return bool(state.assessed)

    assert not carried(anytime(Rawls(), Total()))
    assert not carried(bounded(AfterEach(1), Rawls(), Total()))
    assert carried(anytime(Rawls(), Total()), augment_with_score=True)
    named = FairnessScheme(
        aggregation=TimepointFirst(Rawls(), Total()), filter=AfterEach(1), empty=-5.0
    )
    assert carried(named)


def test_where_the_number_of_assessments_is_fixed_it_is_not_asked_either():
    pay = FairnessReward(periodic(2, Rawls(), Mean()), share=0.5)
    state = pay.init(2)
    for expected in (0.0, 1.0):  # at the second step the worst-off has 2, and half of that counts
        state, reward = pay.update(state, Step(0, np.ones(2)), np.False_)
        assert reward == expected
    assert not state.assessed


@pytest.mark.parametrize(
    ("claimed", "true", "same"),
    [
        (1.0, 1.00005, True),
        (1.0, 1.001, False),
        (0.0, 5e-5, True),
        (0.0, 5e-4, False),
        (1e6, 1e6 + 50, True),
        (1e6, 1e6 + 500, False),
        (math.nan, math.nan, True),
        (-math.inf, -math.inf, True),
        (math.nan, 0.0, False),
    ],
)
def test_rewards_are_the_same_up_to_the_rounding_of_float32(claimed, true, same):
    assert bool(agree(claimed, true)) is same


def test_the_score_of_an_episode_is_the_discounted_sum_of_its_rewards():
    episode = Episode(None, np.array([1.0, 2.0, 4.0]), np.ones(3))
    assert float(episode.score(0.5)) == 3.0
    assert float(episode.score(1.0)) == 7.0
