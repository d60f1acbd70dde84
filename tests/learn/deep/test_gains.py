"""What serving each would bring, by hand; and the same in units of what was seen."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from evenhand.envs import Doughnuts
from evenhand.fairness.scheme import anytime
from evenhand.fairness.temporal import Total
from evenhand.fairness.welfare import Rawls
from evenhand.learn.deep.gains import LEAST_AMOUNT, Gains, relative
from evenhand.learn.deep.measured_features import TIE_BREAK, Measured
from evenhand.memory.memory import Full, Nothing
from evenhand.problem.problem import Problem

SHOP = Doughnuts(2, 4, (0.9, 0.5))


def at(received, memory=Full(), scheme=None):
    """A problem, and what is seen where the first customer is there and the second is not."""
    problem = Problem(SHOP, scheme or SHOP.default_scheme(), memory)
    start = problem.initial(jax.random.key(0))
    state = start.state._replace(noise=jnp.array([True, False]))
    if memory == Full():
        return problem, state, start.seen._replace(memory=jnp.asarray(received))
    return problem, state, start.seen


def test_gains_by_hand():
    # log-Nash: log(1 + 3) + log(1 + 1); whoever is served has one more.
    features, served = Gains().look(*at([3.0, 1.0]))
    gain = [math.log(5 / 4), math.log(3 / 2)]
    assert served.status.tolist() == [3.0, 1.0]
    assert served.amount.tolist() == served.change.tolist() == [1.0, 1.0]
    np.testing.assert_allclose(served.gain, gain, rtol=1e-5)
    each = np.asarray(features.each)
    assert each[:, 0].tolist() == [1.0, 0.0]  # who is there
    derived = each[:, -7:]
    np.testing.assert_allclose(derived[:, 0], [1.0, 1.0])  # the amount, in units
    np.testing.assert_allclose(derived[:, 1], [1.0, -1.0])  # from the mean
    np.testing.assert_allclose(derived[:, 2], np.log1p([3.0, 1.0]), rtol=1e-6)
    np.testing.assert_allclose(derived[:, 3], gain, rtol=1e-5)
    np.testing.assert_allclose(derived[:, 4], [gain[0] / gain[1], 1.0], rtol=1e-5)
    np.testing.assert_allclose(derived[:, 5:], 1.0, rtol=1e-6)


def test_what_each_may_expect_depends_on_its_own_features():
    """Half a doughnut, and two more for whoever is there, in a unit of two."""
    encoder = Gains(unit=2.0, amount=(0.5, 2.0))
    features, served = encoder.look(*at([3.0, 1.0]))
    assert served.amount.tolist() == [2.5, 0.5]
    np.testing.assert_allclose(served.gain, [math.log(6.5 / 4), math.log(2.5 / 2)], rtol=1e-5)
    np.testing.assert_allclose(features.each[:, -7], [1.25, 0.25])
    np.testing.assert_allclose(features.each[:, -5], np.log1p([1.5, 0.5]), rtol=1e-6)
    nothing = Gains(unit=2.0, amount=(0.0, 1.0)).look(*at([3.0, 1.0]))[1]
    assert nothing.amount.tolist() == [1.0, 0.0]
    assert nothing.gain[1] == nothing.change[1] == 0.0


def test_less_than_a_thousandth_of_the_unit_is_nothing():
    least = np.float32(LEAST_AMOUNT)
    assert Gains(amount=(LEAST_AMOUNT,)).look(*at([3.0, 1.0]))[1].amount.tolist() == [least] * 2
    small = Gains(unit=2.0, amount=(1.5 * LEAST_AMOUNT,)).look(*at([3.0, 1.0]))[1]
    assert small.amount.tolist() == [0.0, 0.0]


def test_any_number_of_stakeholders_may_expect_the_unit():
    shop = Doughnuts(3, 4, 0.9)
    problem = Problem(shop, shop.default_scheme())
    start = problem.initial(jax.random.key(0))
    for encoder in (Gains(unit=2.0), Gains(unit=2.0, amount=(2.0,))):
        served = encoder.look(problem, start.state, start.seen)[1]
        assert served.amount.tolist() == [2.0] * 3


def test_where_there_is_no_welfare_there_is_no_gain():
    """log(1 − 1) is −∞: neither more than that nor as much is a number."""
    assert Gains().look(*at([-1.0, 1.0]))[1].gain.tolist() == [0.0, 0.0]


def test_without_a_status_there_are_the_plain_features_alone():
    features, served = Gains().look(*at(None, Nothing()))
    assert served is None
    assert features.each.tolist() == [[1.0], [0.0]]


def test_shares_of_the_largest():
    np.testing.assert_allclose(relative(jnp.array([1.0, -4.0, 2.0])), [0.25, -1.0, 0.5])
    assert relative(jnp.zeros(2)).tolist() == [0.0, 0.0]
    np.testing.assert_allclose(relative(jnp.array([1e-9, 0.0])), [0.5, 0.0])  # next to nothing


@pytest.mark.parametrize("floor", [0.0, 0.1, 9.0])
def test_measured_features_by_hand(floor):
    # Rawls: only the second, who has least, makes the welfare rise, and that by 1.
    problem, state, seen = at([3.0, 1.0], scheme=anytime(Rawls(), Total()))
    plain = Gains().features(problem, state, seen)
    count = plain.each.shape[1]
    moments = tuple((float(k), 2.0) for k in range(count))
    encoder = Measured(Gains(), moments, ((0.0, 1.0),) * len(plain.common), 0.5, floor)
    found = encoder.features(problem, state, seen)
    expected = (np.asarray(plain.each) - np.arange(count)) / 2.0
    np.testing.assert_allclose(found.each[:, :-1], expected, rtol=1e-5, atol=1e-6)
    unit = {0.0: 1.0, 0.1: 0.5, 9.0: 9.0}[floor]
    # Both would have one more of their own, which breaks ties and nothing else.
    at_once = np.array([0.0, 0.5]) + TIE_BREAK * unit
    np.testing.assert_allclose(found.each[:, -1], at_once, rtol=1e-4)
    assert float(found.common[-1]) == pytest.approx(unit)


def test_without_a_status_nothing_is_added_at_once():
    problem, state, seen = at(None, Nothing())
    encoder = Measured(Gains(), ((0.5, 2.0),), ())
    assert (encoder.reward, encoder.floor) == (1.0, 0.0)
    found = encoder.features(problem, state, seen)
    assert found.each.tolist() == [[0.25, 0.0], [-0.25, 0.0]]
    assert found.common.tolist() == [1.0]
