"""Tests of learn.schedules."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand import Doughnuts, LogNash, Problem, Total, anytime
from evenhand.envs.environment import MDPEnvironment
from evenhand.envs.log_world import LogWorld, TimePointEnds
from evenhand.errors import BadParameter, NegativeStatus, NotFinite
from evenhand.fairness.filters import AfterEach, Every, Final
from evenhand.fairness.scheme import anytime as anytime_shaping
from evenhand.fairness.scheme import bounded, long_term, periodic, to_toml
from evenhand.fairness.temporal import Discounted
from evenhand.fairness.welfare import Rawls
from evenhand.learn.deep.agent import DecisionRecord
from evenhand.learn.deep.networks import MLP
from evenhand.learn.fairqcm import FairQCM
from evenhand.learn.imagined_memories import NoProposal
from evenhand.learn.recipe import default_learner
from evenhand.learn.schedules import (
    Constant,
    Exploration,
    ExplorationBySteps,
    Watkins,
    may_shape,
    require_finite_values,
    require_shaping,
    shaped_pay,
    shaping,
    steps_left,
)
from evenhand.learn.tabular.q_learning import Tabular
from evenhand.memory.memory import Clock, Full, Product
from evenhand.planning.planner import plan
from evenhand.process import FiniteMDP

# Learners stop where what they learn is no number.

REWARDS = np.array([[[[-2.0, 0.0]], [[0.0, -2.0]]]])
COSTLY = MDPEnvironment(FiniteMDP(0, np.ones((1, 2, 1)), REWARDS), horizon=4)


def test_values_that_are_no_numbers_are_refused():
    require_finite_values({"a": jnp.ones(2), "b": jnp.zeros((1, 2))})
    for bad in (np.nan, np.inf):
        with pytest.raises(NotFinite, match="no longer finite"):
            require_finite_values({"a": jnp.ones(2), "b": jnp.array([[0.0, bad]])})


@pytest.mark.parametrize("network", [None, MLP((4,))], ids=["table", "network"])
def test_a_problem_with_statuses_without_welfare_is_not_begun(network):
    problem = Problem(COSTLY, anytime(LogNash(), Total()))
    with pytest.raises(NegativeStatus, match=r"no welfare under LogNash|LogNash is undefined"):
        FairQCM(problem, NoProposal(), network=network)


def test_learning_that_diverges_stops():
    shop = Doughnuts(2, 4, 0.8)
    problem = Problem(shop, shop.default_scheme())
    learner = FairQCM(
        problem, NoProposal(), network=MLP((4,)), learning_rate=1e38, warm_up=2, batch=2, capacity=8
    )
    with pytest.raises(NotFinite, match="learning diverges"):
        learner.train(40)


# How epsilon and learning rates fall: by hand, with every step, and what is not possible.


def test_by_steps_it_falls_in_a_straight_line_and_then_stays():
    falling = ExplorationBySteps(steps=4, start=0.9, floor=0.1)
    epsilon, seen = np.float32(falling.start), []
    for _ in range(6):
        epsilon = falling.after(epsilon)
        seen.append(float(epsilon))
    np.testing.assert_allclose(seen, [0.7, 0.5, 0.3, 0.1, 0.1, 0.1], atol=1e-6)


def test_by_a_factor_it_falls_to_its_floor_and_then_stays():
    falling, epsilon, seen = Exploration(0.8, 0.5, 0.15), np.float32(0.8), []
    for _ in range(4):
        epsilon = falling.after(epsilon)
        seen.append(float(epsilon))
    np.testing.assert_allclose(seen, [0.4, 0.2, 0.15, 0.15], atol=1e-6)


def test_learning_rates_by_hand():
    updates = np.array([0.0, 2.0, 7.0])
    np.testing.assert_allclose(Constant(0.3)(updates), [0.3] * 3, rtol=1e-6)
    np.testing.assert_allclose(Watkins(1.0)(updates), [1 / 2, 1 / 4, 1 / 9], rtol=1e-6)
    np.testing.assert_allclose(Watkins(0.75)(updates + 7.0), np.array([9, 11, 16]) ** -0.75)


def test_it_may_stay_where_it_starts():
    assert ExplorationBySteps(5, start=0.3, floor=0.3).after(np.float32(0.3)) == np.float32(0.3)


def test_a_factor_is_for_episodes_and_a_line_for_steps():
    assert ExplorationBySteps(3).falls_every_step
    assert not Exploration().falls_every_step


@pytest.mark.parametrize("wrong", [{"steps": 0}, {"steps": 5, "floor": 0.5, "start": 0.4}])
def test_what_is_not_possible_is_a_sentence(wrong):
    with pytest.raises(BadParameter, match="is not possible"):
        ExplorationBySteps(**wrong)


# Shaping: what is added along any path is what the ends say, and the steps left are by hand.


@pytest.mark.parametrize("discount", [1.0, 0.5])
def test_the_steps_left_by_hand(discount):
    found = [float(steps_left(time, 3, True, discount)) for time in range(4)]
    assert found == ([3.0, 2.0, 1.0, 0.0] if discount == 1.0 else [1.75, 1.5, 1.0, 0.0])
    if discount < 1.0:
        assert [float(steps_left(time, 3, False, discount)) for time in range(4)] == [2.0] * 4


@given(
    st.lists(st.floats(-3, 3, width=32), min_size=4, max_size=4),
    st.sampled_from([1.0, 0.9, 0.5]),
)
def test_along_an_episode_that_ends_only_the_start_counts(welfares, discount):
    """Σ γᵗ(γΦ(x') − Φ(x)) = −Φ(x₀): whatever is done on the way, so no policy gains by it."""
    added = sum(
        discount**time * float(shaping(welfares[time], welfares[time + 1], time, 3, True, discount))
        for time in range(3)
    )
    at_start = welfares[0] * sum(discount**k for k in range(3))
    assert added == pytest.approx(-at_start, abs=1e-4)


def test_a_step_that_changes_nothing_is_paid_nothing_in_all():
    """The pay W and the shaping of standing still cancel, except for what is ahead for ever."""
    for discount, terminates in ((1.0, True), (0.9, True), (0.9, False)):
        found = 1.5 + float(shaping(1.5, 1.5, 1, 4, terminates, discount))
        assert found == pytest.approx(0.0, abs=1e-5)
    many = shaping(np.zeros(2), np.ones(2), np.asarray(0), 2, True, 1.0)
    assert np.asarray(many).tolist() == [1.0, 1.0]


def test_the_assessments_left_by_hand():
    every, final = Every(2), Final()
    assert [float(steps_left(time, 5, True, 1.0, every)) for time in range(6)] == [2, 2, 1, 1, 0, 0]
    assert [float(steps_left(time, 3, True, 1.0, final)) for time in range(4)] == [1, 1, 1, 0]


@pytest.mark.parametrize("scheme", [periodic(2, Rawls()), periodic(3, Rawls()), long_term(Rawls())])
def test_a_filter_that_is_not_always_on_keeps_its_optimal_policy(scheme):
    """Learned with shaping, the greedy policy has the exact optimum of the scheme without."""
    from evenhand.learn.schedules import Watkins, seed_keys, start_learners

    shop = Doughnuts(2, 4, 1.0)
    problem = Problem(shop, scheme, Product((Full(), Clock(5))))
    settings = {"discount": 1.0, "rate": Watkins(0.6), "horizon_terminates": True, "shaping": True}
    agent = Tabular(problem, **settings)
    learners = agent.train_steps(start_learners(agent, seed_keys([0])), 1500)
    assert float(agent.evaluate(learners).score[0]) == pytest.approx(plan(problem).value, abs=1e-5)


def test_where_the_assessments_depend_on_what_happens_shaping_is_refused():
    shop = Doughnuts(2, 4, 0.8)
    with pytest.raises(BadParameter, match="do not depend on what happens"):
        require_shaping(Problem(shop, bounded(AfterEach(2), Rawls(), Total())), True, 1.0)
    with pytest.raises(BadParameter, match="a discount of 1"):
        require_shaping(Problem(shop, periodic(2, Rawls(), Total())), True, 0.9)


def test_the_rewards_of_episodes_with_shaping_by_hand():
    """Rawls over three steps, undiscounted: W + (steps left after it) W' − (steps left) W."""
    problem = Problem(Doughnuts(2, 3, 0.8), anytime_shaping(Rawls(), Total()))
    # The least are 2, 3, 3 and 1, 1, 4; before the first step it is 0.
    status = np.array([[[2, 3], [4, 3], [5, 3]], [[1, 1], [1, 2], [4, 9]]], dtype=float)
    pay = status.min(axis=-1)
    found = shaped_pay(problem, status, pay, True, 1.0)
    assert found.tolist() == [
        [2 + 2 * 2 - 3 * 0, 3 + 1 * 3 - 2 * 2, 3 + 0 - 1 * 3],
        [1 + 2 * 1 - 3 * 0, 1 + 1 * 1 - 2 * 1, 4 + 0 - 1 * 1],
    ]


def test_what_may_be_shaped():
    shop = Doughnuts(2, 4, 0.8)
    summed, discounted = (anytime_shaping(Rawls(), part) for part in (Total(), Discounted(0.5)))
    for scheme in (summed, discounted):
        assert may_shape(Problem(shop, scheme), True, 1.0)
        assert may_shape(Problem(shop, scheme), False, 0.9)
        assert not may_shape(Problem(shop, scheme), False, 1.0)
    every = Problem(shop, periodic(2, Rawls(), Total()))
    assert may_shape(every, True, 1.0)
    for terminates, discount in ((True, 0.9), (False, 0.9), (False, 1.0)):
        assert not may_shape(every, terminates, discount)


def test_where_states_tell_what_is_assessed_a_step_is_rewarded_for_what_it_changes():
    """In a world made from a log: W' − W, times the discounted assessments from this row on."""
    world = LogWorld(
        names=("A", "B"),
        lots=(5.0, 2.0, 1.0, 3.0),
        slots=(0, 0, 1, 2),
        blocks=(0,),
        phases=(0, 0, 0),
        num_phases=1,
        assessed=(True, False, True),
        scheme=to_toml(bounded(TimePointEnds(), LogNash(), Total())),
        horizon=9,
    )
    problem, discount = Problem(world, world.default_scheme()), 0.5
    assert may_shape(problem, False, discount)
    assert not may_shape(problem, True, discount)
    assert not may_shape(problem, False, 1.0)
    agent = default_learner(problem, steps=100, discount=discount, scale=1.0)
    assert agent.shaping
    # Assessed are the second and the fourth of four lots, again and again.
    cycle = 1 / (1 - discount**4)
    ahead = [cycle * part for part in (0.5 + 0.125, 1 + 0.25, 0.125 + 0.5, 0.25 + 1)]
    np.testing.assert_allclose(world.assessed_ahead(discount), ahead)
    augmented = problem.initial(jax.random.key(0))
    for time in range(9):
        after, step, pay = problem.step(jax.random.key(time), augmented, time % 2)
        value = problem.scheme.status.value
        now, then = (problem.welfare(value(at.scheme_state.status)) for at in (augmented, after))
        happened = DecisionRecord(augmented, (), time, step, after, pay, False, False)
        found = pay + agent.shaping_of(now, then, happened)
        assert float(found) == pytest.approx(ahead[time % 4] * float(then - now), rel=1e-5)
        augmented = after
    status = np.array([[[5.0, 0.0], [5.0, 2.0]]])
    expected = np.mean(ahead) * np.diff([0, np.log(6), np.log(18)])
    found = shaped_pay(problem, status, np.zeros((1, 2)), False, discount)
    np.testing.assert_allclose(found[0], expected, rtol=1e-6)


def test_the_assessments_ahead_where_a_block_is_drawn():
    """Two blocks: after either, each is as likely. Solved by hand with γ = 1/2."""
    world = LogWorld(
        names=("A", "B"),
        lots=(1.0, 1.0, 1.0),
        slots=(0, 1, 2),
        blocks=(0, 2),
        phases=(0, 0, 0),
        num_phases=1,
        assessed=(False, True, False),
        scheme=to_toml(bounded(TimePointEnds(), LogNash(), Total())),
        horizon=5,
    )
    # With m for a block that is drawn: 1/2 + m/4 and m/2, whose mean is m: so m = 2/5.
    np.testing.assert_allclose(world.assessed_ahead(0.5), [0.6, 1.2, 0.2])
    other = Problem(Doughnuts(2, 4, 0.8), bounded(TimePointEnds(), Rawls(), Total()))
    with pytest.raises(BadParameter, match="worlds that are made from logs"):
        require_shaping(other, False, 0.9)
