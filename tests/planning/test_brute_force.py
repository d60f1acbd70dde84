"""The planner's value is the best of all deterministic policies, found by trying them."""

from __future__ import annotations

import itertools
from statistics import fmean

import jax
import jax.numpy as jnp
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import brute_force as bf
from evenhand import (
    AfterEach,
    BalancedUnfairness,
    Discounted,
    FairnessScheme,
    Final,
    FiniteMDP,
    GroupTotals,
    Last,
    LogNash,
    Mean,
    NegativeVariance,
    Parity,
    PerEntitlement,
    TimepointFirst,
    Total,
    Worst,
    anytime,
    bounded,
    long_term,
    periodic,
)
from evenhand.envs import Doughnuts, Lending, State, Vaccines, WaitingList
from evenhand.fairness.filters import Always, Every
from evenhand.planning.planner import plan
from evenhand.problem.problem import Problem

NEAR = {"abs": 1e-9, "rel": 0}


def last(w):
    return w[-1]


def scheme_of(welfare, temporal, filter, empty=None):
    return FairnessScheme(aggregation=TimepointFirst(welfare, temporal), filter=filter, empty=empty)


# The same scheme twice, with nothing in common; and whether its fold has to be carried.
SCHEMES = {
    "total": (bf.Scheme(), anytime(LogNash(), Total()), False),
    "discounted": (
        bf.Scheme(over_time=bf.discounted(0.9)),
        anytime(LogNash(), Discounted(0.9)),
        False,
    ),
    "last": (bf.Scheme(over_time=last), anytime(LogNash(), Last()), True),
    "worst": (bf.Scheme(bf.parity, min), anytime(Parity(), Worst()), True),
    "mean": (bf.Scheme(over_time=fmean), anytime(LogNash(), Mean()), True),
    "every(2), total": (
        bf.Scheme(assessed=bf.every(2)),
        periodic(2, LogNash(), Total()),
        False,
    ),
    "every(2), mean": (
        bf.Scheme(bf.parity, fmean, bf.every(2)),
        periodic(2, Parity(), Mean()),
        True,
    ),
    "every(2), discounted": (
        bf.Scheme(over_time=bf.discounted(0.5), assessed=bf.every(2)),
        periodic(2, LogNash(), Discounted(0.5)),
        True,
    ),
    "after_each(2), total": (
        bf.Scheme(assessed=bf.after_each(2), empty=0.0),
        bounded(AfterEach(2), LogNash(), Total()),
        False,
    ),
    "after_each(2), mean, empty": (
        bf.Scheme(over_time=fmean, assessed=bf.after_each(2), empty=0.7),
        scheme_of(LogNash(), Mean(), AfterEach(2), empty=0.7),
        True,
    ),
    "final": (
        bf.Scheme(assessed=bf.at_the_end),
        bounded(Final(), LogNash(), Total()),
        False,
    ),
    "long-term": (bf.Scheme(over_time=last, assessed=bf.at_the_end), long_term(LogNash()), True),
    "balanced": (
        bf.Scheme(over_time=None),
        FairnessScheme(aggregation=BalancedUnfairness()),
        True,
    ),
    "balanced, every(2)": (
        bf.Scheme(over_time=None, assessed=bf.every(2)),
        FairnessScheme(aggregation=BalancedUnfairness(), filter=Every(2)),
        True,
    ),
}
TIMEPOINT_FIRST = [name for name in SCHEMES if "balanced" not in name]

# Horizon, presence, what a waste is paid.
SHOPS = [(3, (0.3, 0.9), 0.0), (4, (0.8, 0.8), -0.5)]
NO_OVERRIDES = (4, (0.6, 0.7), None)


def compare(world, literal, problem):
    """Both the best value and that of acting at random."""
    found = plan(problem)
    assert found.value == pytest.approx(bf.best_value(world, literal), **NEAR)
    assert found.random_value() == pytest.approx(bf.random_value(world, literal), **NEAR)


# Expectimax over whole histories is what "the best of all policies" means


@pytest.mark.parametrize(
    ("world", "name"),
    [
        (bf.Shop(2, (0.5, 0.5)), "total"),  # 2^20 policies
        (bf.Shop(2, (0.3, 0.9), wasted=-1.0), "mean"),
        (bf.Shop(3, (1.0, 0.4)), "worst"),  # 2^14
        (bf.Shop(3, (1.0, 0.4), wasted=None), "balanced"),
        (bf.Bank(1, (5, 9)), "total"),
        (
            bf.Chain(3, 0, [[[0.5, 0.5], [1.0, 0.0]]] * 2, [[[[1, 0]] * 2, [[0, 2]] * 2]] * 2),
            "last",
        ),
    ],
)
def test_expectimax_is_the_best_of_all_policies_one_by_one(world, name):
    literal = SCHEMES[name][0]
    best = max(bf.values_of_all_policies(world, literal))
    assert best == pytest.approx(bf.best_value(world, literal), **NEAR)


def test_every_policy_is_tried_and_none_beats_the_plan():
    world = bf.Shop(2, (1.0, 0.5))
    values = list(bf.values_of_all_policies(world, bf.Scheme()))
    assert len(values) == 2**2 * 2**4
    found = plan(Problem(Doughnuts(2, 2, (1.0, 0.5)), anytime(LogNash(), Total())))
    assert max(values) == pytest.approx(found.value, **NEAR)
    assert min(values) < found.random_value() < max(values)


# The four environments


@pytest.mark.parametrize(
    ("name", "shop"),
    [
        *itertools.product(TIMEPOINT_FIRST, SHOPS),
        ("mean", NO_OVERRIDES),
        ("after_each(2), total", NO_OVERRIDES),
        ("after_each(2), mean, empty", NO_OVERRIDES),
        ("long-term", NO_OVERRIDES),
    ],
    ids=str,
)
def test_doughnuts(name, shop):
    horizon, presence, wasted = shop
    literal, scheme, fold = SCHEMES[name]
    env = Doughnuts(2, horizon, presence, wasted)
    compare(
        bf.Shop(horizon, presence, wasted), literal, Problem(env, scheme, augment_with_score=fold)
    )


@pytest.mark.parametrize("shop", [(4, (0.8, 0.8)), (4, (0.3, 0.9)), (3, (0.5, 0.5, 0.9))], ids=str)
@pytest.mark.parametrize("name", ["balanced", "balanced, every(2)"])
def test_doughnuts_balanced_unfairness(name, shop):
    horizon, presence = shop
    literal, scheme, _ = SCHEMES[name]
    env = Doughnuts(len(presence), horizon, presence, wasted=None)
    compare(
        bf.Shop(horizon, presence, None), literal, Problem(env, scheme, augment_with_score=True)
    )


def test_doughnuts_for_three_some_of_them_equals():
    env = Doughnuts(3, 3, (0.4, 0.9, 0.4))
    compare(bf.Shop(3, (0.4, 0.9, 0.4)), bf.Scheme(), Problem(env, anytime(LogNash(), Total())))


GROUPS = {
    # start credit in tenths, groups
    "one each": ((5, 9), ((0,), (1,))),
    "two and one": ((5, 5, 9), ((0, 1), (2,))),
    "as in the paper": ((5, 5, 9, 9), ((0, 1), (2, 3))),
}


@pytest.mark.parametrize(
    ("horizon", "who", "name"),
    [
        *((3, "one each", name) for name in ("total", "discounted", "last", "worst", "mean")),
        *((3, "one each", name) for name in ("every(2), total", "every(2), mean", "final")),
        *((3, "one each", name) for name in ("after_each(2), total", "long-term")),
        (2, "two and one", "total"),
        (2, "two and one", "mean"),
        (2, "as in the paper", "total"),
    ],
)
def test_lending_with_parity(horizon, who, name):
    credit, groups = GROUPS[who]
    bank = Lending(
        start_credit=tuple(level / 10 for level in credit),
        groups={"A": groups[0], "B": groups[1]},
        horizon=horizon,
    )
    literal, scheme, fold = SCHEMES[name]
    literal = bf.Scheme(bf.parity, literal.over_time, literal.assessed, bf.by_group(groups))
    scheme = FairnessScheme(
        GroupTotals(bank.groups), TimepointFirst(Parity(), scheme.temporal), scheme.filter
    )
    compare(bf.Bank(horizon, credit), literal, Problem(bank, scheme, augment_with_score=fold))


def test_vaccines_where_a_country_counts_by_its_size():
    env = Vaccines((3, 2), (2, 5), (0.4, 0.6), (0, 1), (0.3, 0.1), horizon=3)
    world = bf.Shipping(3, (2, 5), (0.4, 0.6), (0, 1), (0.3, 0.1))

    def weighted(u):
        """Five people of whom three live in the first country."""
        mean = (3 * u[0] + 2 * u[1]) / 5
        return -(3 * (u[0] - mean) ** 2 + 2 * (u[1] - mean) ** 2) / 5

    literal = bf.Scheme(
        weighted,
        sum,
        bf.every(2),
        lambda h: [x / y for x, y in zip(bf.received(h), (3, 2), strict=True)],
    )
    scheme = periodic(2, NegativeVariance(), Total(), PerEntitlement((3, 2)))
    compare(world, literal, Problem(env, scheme, augment_with_score=True))


@pytest.mark.parametrize("delay", [(0.3, 0.1), (0.0, 0.5)])
@pytest.mark.parametrize(("temporal", "over_time"), [(Total(), sum), (Mean(), fmean)])
def test_vaccines(temporal, over_time, delay):
    env = Vaccines((3, 2), (2, 5), (0.4, 0.6), (0, 1), delay, horizon=3)
    world = bf.Shipping(3, (2, 5), (0.4, 0.6), (0, 1), delay)
    # Assessed at the second step of three, so that no score may be told from the end alone.
    literal = bf.Scheme(
        bf.minus_variance,
        over_time,
        bf.every(2),
        lambda h: [x / y for x, y in zip(bf.received(h), (3, 2), strict=True)],
    )
    status = PerEntitlement((3, 2), weighted=False)
    scheme = periodic(2, NegativeVariance(), temporal, status)
    compare(world, literal, Problem(env, scheme, augment_with_score=True))


@pytest.mark.parametrize("capacity", [1, 3])
def test_waiting_list(capacity):
    env = WaitingList((0.7, 0.5), 1.0, capacity, horizon=4)
    literal = bf.Scheme(min, sum, status=bf.mean_waits)
    compare(bf.Clinic(4, (0.7, 0.5), capacity), literal, Problem(env, env.waiting_scheme()))


# What each action is worth


@pytest.mark.parametrize("presence", [(0.6, 0.6, 0.6), (0.3, 0.9, 0.3)])
@pytest.mark.parametrize("canonical", [True, False])
def test_what_each_action_is_worth_after_every_first_step(presence, canonical):
    """In canonical order, too, actions are those of the people as they were numbered."""
    world, literal = bf.Shop(3, presence), bf.Scheme()
    problem = Problem(Doughnuts(3, 3, presence), anytime(LogNash(), Total()))
    found = plan(problem, canonical=canonical)
    key = jax.random.key(0)
    everyone = [noise for _, noise in world.noises()]
    start = problem.initial(key)

    def seeing(augmented, present):
        return augmented._replace(state=State(augmented.state.world, jnp.asarray(present)))

    for present in everyone[::3]:
        reasons = found.explain(seeing(start, present))
        expected = bf.action_values(world, literal, (), (), present)
        assert reasons.values == pytest.approx(expected, **NEAR)
        assert expected[reasons.action] == pytest.approx(max(expected), **NEAR)
    for served, (_, present) in itertools.product(range(3), world.noises()[1:]):
        step = bf.DecisionRecord(bf.one_for(served, 3), None, ())
        after, _, _ = problem.step(key, seeing(start, (True, True, True)), served)
        reasons = found.explain(seeing(after, present))
        # A plan says what is still to come; the score of the history holds the first step too.
        so_far = bf.log_nash(step.rewards)
        expected = [q - so_far for q in bf.action_values(world, literal, (step,), (), present)]
        assert reasons.values == pytest.approx(expected, **NEAR)
        assert expected[reasons.action] == pytest.approx(max(expected), **NEAR)


# Random MDPs


@st.composite
def chains(draw, horizon=3):
    """2 or 3 states, 2 actions, 2 stakeholders; chances in quarters, so that some are 0."""
    states = draw(st.integers(2, 3))

    def row():
        cuts = sorted(draw(st.lists(st.integers(0, 4), min_size=states - 1, max_size=states - 1)))
        return [(b - a) / 4 for a, b in zip([0, *cuts], [*cuts, 4], strict=True)]

    transitions = [[row() for _ in range(2)] for _ in range(states)]
    reward = st.lists(st.integers(0, 2), min_size=2, max_size=2)
    rewards = [[[draw(reward) for _ in range(states)] for _ in range(2)] for _ in range(states)]
    return bf.Chain(horizon, draw(st.integers(0, states - 1)), transitions, rewards)


@settings(
    max_examples=25,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
@given(chains(), st.sampled_from(sorted(SCHEMES)))
def test_random_mdps(chain, name):
    finite = pytest.importorskip("evenhand.planning.model")
    literal, scheme, fold = SCHEMES[name]
    if isinstance(scheme.filter, AfterEach):  # rewards may be 0 throughout
        literal = bf.Scheme(literal.welfare, literal.over_time, literal.assessed, empty=0.7)
        scheme = FairnessScheme(scheme.status, scheme.aggregation, scheme.filter, empty=0.7)
    mdp = FiniteMDP(chain.start, chain.transitions, chain.rewards)
    env = finite.MDPEnvironment(mdp, chain.horizon)
    compare(chain, literal, Problem(env, scheme, augment_with_score=fold))


def test_the_schemes_above_are_all_that_are_promised():
    filters = {type(scheme.filter) for _, scheme, _ in SCHEMES.values()}
    temporal = {type(scheme.temporal) for _, scheme, _ in SCHEMES.values()}
    assert filters == {Always, Every, Final, AfterEach}
    assert temporal == {Total, Discounted, Last, Worst, Mean, type(None)}
