"""Codes by hand: of numbers with a range, of groups, and of what a scheme carries."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from evenhand.envs import Doughnuts
from evenhand.errors import BadParameter
from evenhand.fairness.groups import Groups
from evenhand.fairness.scheme import anytime, periodic
from evenhand.fairness.status import WaitingTime
from evenhand.fairness.temporal import Total, Worst
from evenhand.fairness.welfare import LogNash, Parity, Rawls
from evenhand.learn.deep.encoders import Binary, Layout, Raw, Relative, observed
from evenhand.learn.deep.standardised import Standardised
from evenhand.memory.memory import Attribute, Clock, Full, Nothing, OfStatus, Product
from evenhand.problem.problem import Problem

PROFIT = Attribute(np.array([-3.0, 5.0]), least=-4.0, most=12.0, whole=True)


def test_a_range_is_counted_from_its_least():
    # −3 and 5 of −4 … 12 are 1 and 9, in five bits, the lowest first.
    assert Binary().code(PROFIT).tolist() == [[1, 0, 0, 0, 0], [1, 0, 0, 1, 0]]
    assert Relative().code(PROFIT).ravel().tolist() == [1 / 4, 9 / 4]  # by the root of 16
    assert Raw().code(PROFIT).tolist() == [[-3.0], [5.0]]
    short = PROFIT._replace(values=np.array([0.25, 0.5]), least=0.0, most=1.0, whole=False)
    assert Relative().code(short).ravel().tolist() == [0.25, 0.5]
    shorter = short._replace(most=0.5)  # nothing is made larger
    assert Relative().code(shorter).ravel().tolist() == [0.25, 0.5]
    assert Binary().code(short).tolist() == [[0.25], [0.5]]


@pytest.mark.parametrize(("most", "bits"), [(0, 1), (1, 1), (2, 2), (3, 2), (4, 3), (7, 3), (8, 4)])
def test_as_many_bits_as_the_range_needs(most, bits):
    code = Binary().code(Attribute(np.arange(most + 1.0), 0.0, float(most), whole=True))
    assert code.shape == (most + 1, bits)
    numbers = np.asarray(code) @ 2 ** np.arange(bits)
    assert numbers.tolist() == list(range(most + 1))


def test_counts_are_leads_and_logarithms():
    counts = Attribute(np.array([5.0, 2.0]), counts=True)
    expected = [[3.0, math.log(6.0)], [0.0, math.log(3.0)]]
    np.testing.assert_allclose(Relative().code(counts), expected, rtol=1e-6)


def test_standardised_features_by_hand():
    shop = Doughnuts(2, 4, (0.9, 0.5))
    problem = Problem(shop, shop.default_scheme(), Product((Full(), Clock(5))))
    at = problem.initial(jax.random.key(0))
    state = at.state._replace(noise=jnp.array([True, False]))
    seen = at.seen._replace(memory=(jnp.array([6.0, 2.0]), jnp.array(3)))
    # Who is there, as (x − 0.5) / 0.25; what each has, in twos; the clock, as (x − 2) / 4.
    found = Standardised((0.5, 0.0, 2.0), (0.25, 2.0, 4.0)).features(problem, state, seen)
    expected = [[2.0, 2.0, 1.0, math.log(4.0)], [-2.0, 0.0, -1.0, math.log(2.0)]]
    np.testing.assert_allclose(found.each, expected, rtol=1e-6)
    assert found.common.tolist() == [0.25]


def test_a_status_that_is_not_counted_is_shown_in_its_own_size():
    """Waiting times of 1 and 5, in fours: the lead over the least, the mean, a logarithm."""
    shop, waiting = Doughnuts(2, 4, 0.9), OfStatus(WaitingTime())
    problem = Problem(shop, anytime(Rawls(), Total(), WaitingTime()), waiting)
    at = problem.initial(jax.random.key(0))
    memory = jax.tree.map(lambda _: jnp.array([-1.0, -5.0]), at.memory)
    assert waiting.implied_status(memory).tolist() == [-1.0, -5.0]
    count = len(observed(problem, at.state, at.seen))
    encoder = Standardised((0.0,) * count, (1.0,) * count, status_size=4.0)
    each = encoder.features(problem, at.state, at.seen._replace(memory=memory)).each
    lead = [[1.0, 0.5, -math.log(1.25)], [0.0, -0.5, -math.log(2.25)]]
    np.testing.assert_allclose(each[:, -3:], lead, rtol=1e-6)
    # A memory that knows no status has none to show.
    silent = Problem(shop, shop.default_scheme(), Nothing())
    at = silent.initial(jax.random.key(0))
    assert Standardised((0.0,), (1.0,)).features(silent, at.state, at.seen).each.shape == (2, 1)
    with pytest.raises(BadParameter, match=r"1 attributes and 2 sizes: .* another problem"):
        Standardised((0.0,) * 2, (1.0,) * 2).features(silent, at.state, at.seen)


@pytest.mark.parametrize("sizes", [(1.0, 0.0), (1.0, -2.0), (1.0,), (1.0, float("nan"))])
def test_sizes_are_above_0_and_one_each(sizes):
    with pytest.raises(BadParameter, match="give both for each attribute, and sizes above 0"):
        Standardised((0.0, 0.0), sizes)
    with pytest.raises(BadParameter, match="sizes above 0"):
        Standardised((0.0,), (1.0,), status_size=0.0)


def test_members_are_given_the_number_of_their_group():
    groups = Groups.of({"A": [0, 3], "B": [1, 2]})
    attribute = Attribute(np.array([7.0, 9.0]), counts=True, groups=groups)
    assert Relative().spread(attribute).values.tolist() == [7.0, 9.0, 9.0, 7.0]
    assert Relative().spread(attribute).groups is None
    assert Raw().spread(attribute) == attribute


def test_what_the_scheme_carries_is_seen():
    """A clock as it is; a running worst, which starts infinite, with whether there is one yet."""
    shop = Doughnuts(2, 4, 0.5)
    clocked = Problem(shop, periodic(3, LogNash(), Total()), Nothing())
    at = clocked.initial(jax.random.key(0))
    flat = Raw()(clocked, at.state, at.seen._replace(filter=jnp.asarray(2, jnp.int32)))
    assert flat[2:].tolist() == [2.0]
    worst = Problem(shop, anytime(Parity(), Worst()), Nothing(), augment_with_score=True)
    at = worst.initial(jax.random.key(0))
    leaves, structure = jax.tree.flatten(at.seen.fold)
    assert len(leaves) == 1
    for value, expected in ((jnp.inf, [0.0, 0.0]), (-1.5, [-1.5, 1.0])):
        fold = jax.tree.unflatten(structure, [jnp.asarray(value)])
        assert Raw()(worst, at.state, at.seen._replace(fold=fold))[2:].tolist() == expected


def test_features_lie_as_the_layout_says():
    layout = Layout(2, 3, 2)
    assert layout.size == 8
    each, common = layout.split(jnp.arange(8.0))
    assert each.tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
    assert common.tolist() == [6.0, 7.0]
