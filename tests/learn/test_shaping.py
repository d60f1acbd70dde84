"""Shaping: what is added along any path is what the ends say, and the steps left are by hand."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand.envs import Doughnuts
from evenhand.envs.log_world import LogWorld, TimePointEnds
from evenhand.errors import BadParameter
from evenhand.fairness.filters import AfterEach, Every, Final
from evenhand.fairness.scheme import anytime, bounded, long_term, periodic
from evenhand.fairness.scheme_file import to_toml
from evenhand.fairness.temporal import Discounted, Total
from evenhand.fairness.welfare import LogNash, Rawls
from evenhand.learn.deep.agent import DecisionRecord
from evenhand.learn.default_recipe import default_learner
from evenhand.learn.shaping import may_shape, require_shaping, shaped_pay, shaping, steps_left
from evenhand.learn.tabular.q_learning import Tabular
from evenhand.memory.memory import Clock, Full, Product
from evenhand.planning.planner import plan
from evenhand.problem.problem import Problem


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
    from evenhand.learn.schedules import Watkins
    from evenhand.learn.seeds import seed_keys, start_learners

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
    problem = Problem(Doughnuts(2, 3, 0.8), anytime(Rawls(), Total()))
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
    summed, discounted = (anytime(Rawls(), part) for part in (Total(), Discounted(0.5)))
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
