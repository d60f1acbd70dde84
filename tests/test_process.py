"""Definition "fairness score of a policy", against values worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from evenhand import (
    Discounted,
    Equality,
    Every,
    FairnessScheme,
    FeedbackScheme,
    FiniteMDP,
    HistoryPolicy,
    LogNash,
    MarkovPolicy,
    Mean,
    MemoryPolicy,
    Rawls,
    Stochastic,
    TimepointFirst,
    Total,
    Transition,
    When,
    anytime,
    long_term,
    policy_score,
)
from evenhand._util.numbers import FEWEST_RUNS, bootstrap_interval, interval_title
from evenhand.errors import BadParameter, NoLimit
from evenhand.process import steps_for_limit

# One state, two actions: action i serves stakeholder i.
COUNTER = FiniteMDP(0, np.ones((1, 2, 1)), np.eye(2)[None, :, None, :])
# A coin decides who is served, whatever is done: next state i serves stakeholder i.
COIN = FiniteMDP(0, np.full((2, 1, 2), 0.5), np.broadcast_to(np.eye(2), (2, 1, 2, 2)))

ALWAYS_FIRST = MarkovPolicy(lambda state: 0)
TURNS = MemoryPolicy(0, lambda memory, step: 1 - memory, lambda state, memory: memory)
LEAST_SERVED = HistoryPolicy(
    lambda initial, steps: int(np.argmin(np.sum([s.rewards for s in steps] or [[0, 0]], axis=0)))
)


def test_deterministic_policies_have_exact_scores():
    scheme = anytime(Rawls(), Total())
    assert policy_score(scheme, COUNTER, ALWAYS_FIRST, 4, episodes=2).mean == 0.0
    for policy in (TURNS, LEAST_SERVED):
        score = policy_score(scheme, COUNTER, policy, 4, episodes=2)
        assert score.mean == 0 + 1 + 1 + 2
        assert score.interval == (4.0, 4.0)


@pytest.mark.system  # takes seconds
def test_a_stochastic_policy_is_scored_by_its_expectation():
    coin = Stochastic(MarkovPolicy(lambda state: [0.5, 0.5]))
    # After two steps they are equal with probability 1/2.
    score = policy_score(long_term(Equality()), COUNTER, coin, 2, episodes=4000, seed=1)
    low, high = score.interval
    assert low <= 0.5 <= high
    assert high - low < 0.05
    assert not score.exact


def test_the_process_may_be_random_too():
    score = policy_score(long_term(Equality()), COIN, ALWAYS_FIRST, 2, episodes=4000, seed=3)
    assert score.interval[0] <= 0.5 <= score.interval[1]


def test_same_seed_same_score():
    coin = Stochastic(MarkovPolicy(lambda state: [0.3, 0.7]))
    first, second, other = (
        policy_score(anytime(), COUNTER, coin, 5, episodes=20, seed=seed) for seed in (5, 5, 6)
    )
    assert first == second
    assert first != other


def test_an_exact_evaluator_takes_the_place_of_rollouts():
    seen = []

    def evaluator(*problem):
        seen.append(problem)
        return 1.25

    score = policy_score(anytime(), COUNTER, TURNS, 3, evaluator=evaluator)
    assert (score.mean, score.interval, score.exact) == (1.25, (1.25, 1.25), True)
    assert seen == [(anytime(), COUNTER, TURNS, 3)]


def test_the_process_ends_when_it_says_so():
    class Twice:
        num_stakeholders = 1

        def initial(self, rng):
            return 0

        def step(self, state, action, rng):
            return Transition(state + 1, [1.0], terminated=state == 1, feedback=0.5)

    assert policy_score(anytime(Rawls(), Total()), Twice(), ALWAYS_FIRST, 9, episodes=2).mean == 3
    assert policy_score(FeedbackScheme(), Twice(), ALWAYS_FIRST, 9, episodes=2).mean == 1.0


def test_the_infinite_horizon_by_hand():
    # Always serving the first: w_t = log(t + 1), and for discount 1/2 the sum converges.
    scheme = anytime(LogNash(), Discounted(0.5))
    score = policy_score(scheme, COUNTER, ALWAYS_FIRST, math.inf, episodes=2, tolerance=1e-6)
    limit = sum(0.5 ** (t - 1) * math.log(t + 1) for t in range(1, 200))
    assert abs(score.mean - limit) <= score.tail <= 1e-6
    assert score.horizon < 60


@pytest.mark.parametrize("discount", [0.5, 0.9, 0.99])
@pytest.mark.parametrize("tolerance", [1e-2, 1e-6])
def test_the_rest_is_within_the_stated_bound(discount, tolerance):
    steps, tail = steps_for_limit(anytime(LogNash(), Discounted(discount)), COUNTER, tolerance)
    rest = sum(discount ** (t - 1) * 2 * math.log(t + 1) for t in range(steps + 1, steps + 9000))
    assert rest <= tail <= tolerance


def test_periodic_assessment_needs_more_steps():
    scheme = FairnessScheme(
        aggregation=TimepointFirst(Equality(), Discounted(0.5)), filter=Every(3)
    )
    steps, tail = steps_for_limit(scheme, COUNTER, 1e-3)
    # Bounded by 1: what follows k assessments is at most 2^(1−k).
    assert steps % 3 == 0
    assert tail == pytest.approx(2.0 ** (1 - steps // 3))


@pytest.mark.parametrize(
    ("scheme", "words"),
    [
        (anytime(LogNash(), Mean()), "only for a discounted sum"),
        (anytime(LogNash(), Discounted(1.0)), "only for a discounted sum"),
        (
            FairnessScheme(
                aggregation=TimepointFirst(LogNash(), Discounted(0.5)),
                filter=When(lambda step: True),
            ),
            "how long this filter takes",
        ),
        (anytime(LogNash(0.0), Discounted(0.5)), "no bound on the welfare"),
        (FeedbackScheme(Discounted(0.5)), "no bound on the welfare"),
    ],
)
def test_where_no_limit_is_known_it_is_refused_with_the_reason(scheme, words):
    with pytest.raises(NoLimit, match=words):
        policy_score(scheme, COUNTER, ALWAYS_FIRST, math.inf)


def test_a_growth_that_outruns_the_discount_is_refused():
    with pytest.raises(NoLimit, match="outruns the discount"):
        steps_for_limit(anytime(LogNash(), Discounted(0.5)), COUNTER, 1e-3, lambda t: 3.0**t)


def test_a_growth_may_be_declared():
    steps, _ = steps_for_limit(FeedbackScheme(Discounted(0.5)), COUNTER, 1e-3, lambda t: 1.0)
    assert steps == 11  # 2^(1−k) ≤ 1/1000


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"horizon": 1.5}, "horizon is 1.5"),
        ({"horizon": -1}, "horizon is -1"),
        ({"horizon": 2, "episodes": 1}, "episodes is 1"),
        ({"horizon": math.inf, "tolerance": 0.0}, "tolerance"),
    ],
)
def test_arguments_are_checked(arguments, words):
    scheme = anytime(LogNash(), Discounted(0.5))
    with pytest.raises(BadParameter, match=words):
        policy_score(scheme, COUNTER, ALWAYS_FIRST, **arguments)


def test_probabilities_are_checked():
    odd = Stochastic(MarkovPolicy(lambda state: [0.5, 0.6]))
    with pytest.raises(BadParameter, match="sum to 1"):
        policy_score(anytime(), COUNTER, odd, 2, episodes=2)


def test_the_interval_covers_as_often_as_it_says():
    rng = np.random.default_rng(0)
    hits = 0
    for _ in range(200):
        low, high = bootstrap_interval(rng.normal(3.0, 1.0, 60), rng)
        hits += low <= 3.0 <= high
    assert 180 <= hits <= 199  # about 95% of 200


def test_an_interval_of_few_runs_is_not_said_to_be_one_of_95_percent():
    """It holds the mean far less often, so that a table says how few there were."""
    rng, hits = np.random.default_rng(0), 0
    for _ in range(200):
        low, high = bootstrap_interval(rng.normal(3.0, 1.0, 3), rng)
        hits += low <= 3.0 <= high
    assert hits < 0.85 * 200
    assert interval_title(FEWEST_RUNS) == "95% interval"
    for runs, words in ((FEWEST_RUNS - 1, "only 5 runs"), (1, "only 1 run")):
        assert interval_title(runs) == f"interval of {words}"


def test_an_interval_of_one_run_is_refused():
    with pytest.raises(BadParameter, match="at least 2 runs"):
        bootstrap_interval(np.array([1.0]), np.random.default_rng(0))
