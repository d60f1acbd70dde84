"""Tests of learn.deep.encoders."""

from __future__ import annotations

import math
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from evenhand import LogNash, Rawls, Total, anytime
from evenhand.envs.doughnuts import Doughnuts
from evenhand.envs.log_world import LogWorld, TimePointEnds, Unmet
from evenhand.errors import BadParameter
from evenhand.fairness.groups import Groups
from evenhand.fairness.scheme import FairnessScheme, from_table, periodic, to_table, to_toml
from evenhand.fairness.scheme import anytime as anytime_encoders
from evenhand.fairness.scheme import anytime as anytime_gains
from evenhand.fairness.status import GroupTotals, WaitingTime
from evenhand.fairness.temporal import Worst
from evenhand.fairness.welfare import Parity
from evenhand.learn.deep.encoders import (
    ENCODERS,
    LEAST_AMOUNT,
    TIE_BREAK,
    AtOnce,
    Binary,
    Gains,
    Layout,
    Measured,
    Raw,
    Relative,
    Standardised,
    after_each_choice,
    observed,
    relative,
)
from evenhand.learn.recipe import default_learner
from evenhand.memory.memory import Attribute, Clock, Full, Nothing, OfStatus, Product
from evenhand.problem.problem import Problem

# What choosing each would do at once, by hand.

LOTS = LogWorld(
    names=("A", "B", "C"),
    lots=(6.0, 2.0, 4.0),
    slots=(0, 1, 2),
    blocks=(0,),
    phases=(0, 0, 0),
    num_phases=1,
    assessed=(True, True, True),
    scheme=to_toml(anytime(LogNash(), Total())),
    horizon=6,
)


def after(problem, *actions):
    """The augmented state after some decisions."""
    augmented = problem.initial(jax.random.key(0))
    for action in actions:
        augmented, _, _ = problem.step(jax.random.key(1), augmented, action)
    return augmented


def test_the_welfare_after_each_choice_and_what_each_would_gain():
    problem = Problem(LOTS, LOTS.default_scheme())
    at = after(problem, 0)  # A has 6; a lot of 2 is next
    welfare, gained = after_each_choice(problem, at.state, at.seen)
    expected = [np.log(9), np.log(7) + np.log(3), np.log(7) + np.log(3)]
    np.testing.assert_allclose(welfare, expected, rtol=1e-5)
    np.testing.assert_allclose(gained, [2, 2, 2], rtol=1e-5)
    raw, shown = (one.features(problem, at.state, at.seen) for one in (Raw(), AtOnce(Raw())))
    np.testing.assert_array_equal(shown.common, raw.common)
    np.testing.assert_array_equal(shown.each[:, :-4], raw.each)
    share, about, best, own = np.asarray(shown.each[:, -4:]).T
    np.testing.assert_allclose(share, [0, 1, 1], atol=1e-5)
    np.testing.assert_allclose(about, np.array([-2, 1, 1]) / np.sqrt(2), rtol=1e-3)
    assert best.tolist() == [0, 1, 1]
    np.testing.assert_allclose(own, [1, 1, 1], rtol=1e-5)


def test_what_goes_to_somebody_else_is_not_shown_as_ones_own():
    """Who cannot be served is passed over, and whoever is served instead is not its merit."""
    scheme = FairnessScheme(Unmet(), anytime(Rawls(), Total()).aggregation, TimePointEnds())
    asked = ((0, 1, 9.0), (0, 2, 7.0))
    world = replace(LOTS, by_request=True, requests=asked, scheme=to_toml(scheme))
    problem = Problem(world, world.default_scheme(), OfStatus(Unmet()))
    at = after(problem)  # a lot of 6, which A does not want
    welfare, gained = after_each_choice(problem, at.state, at.seen)
    assert welfare.tolist() == [-9, -7, -9]
    assert gained.tolist() == [0, 6, 6]


def test_where_nobody_can_be_served_every_number_is_finite():
    world = replace(LOTS, lots=(6.0, 0.0, 4.0))
    problem = Problem(world, world.default_scheme())
    at = after(problem, 0)
    assert not bool(world.present(at.state).any())
    assert np.isfinite(AtOnce(Raw())(problem, at.state, at.seen)).all()


def test_it_is_the_default_where_outcomes_are_certain_and_nowhere_else():
    logged = default_learner(Problem(LOTS, LOTS.default_scheme()), steps=1000)
    assert isinstance(logged.encoder, AtOnce)
    assert isinstance(logged.encoder.of, Standardised)
    shop = Doughnuts(2, 4, 1.0)
    assert isinstance(
        default_learner(Problem(shop, shop.default_scheme()), steps=1000).encoder, Standardised
    )
    totals = GroupTotals(Groups.of({"x": (0, 1), "y": (2,)}))
    grouped = replace(LOTS, scheme=to_toml(anytime(Rawls(), Total(), totals)))
    encoder = default_learner(Problem(grouped, grouped.default_scheme()), steps=1000).encoder
    assert isinstance(encoder, Standardised)  # whose status would a choice change?


def test_it_is_saved_and_read_again():
    encoder = AtOnce(Standardised((0.0, 1.0), (2.0, 3.0), 4.0))
    assert from_table(to_table(encoder, ENCODERS), ENCODERS, "encoder") == encoder


def test_a_few_steps_find_what_is_best_at_once():
    """Lots of one size among three: serving the least served is optimal, and is found soon."""
    from evenhand.learn.schedules import seed_keys, start_learners

    world = replace(LOTS, lots=(1.0, 1.0, 1.0), horizon=12)
    agent = default_learner(Problem(world, world.default_scheme()), steps=600)
    learners = agent.train_steps(start_learners(agent, seed_keys([0])), 600)
    best = sum(
        3 * np.log(1 + t // 3) + (t % 3) * np.log((2 + t // 3) / (1 + t // 3)) for t in range(1, 13)
    )
    assert float(agent.evaluate(learners, episodes=1).score[0]) > 0.97 * best


# Codes by hand: of numbers with a range, of groups, and of what a scheme carries.

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
    problem = Problem(shop, anytime_encoders(Rawls(), Total(), WaitingTime()), waiting)
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
    worst = Problem(shop, anytime_encoders(Parity(), Worst()), Nothing(), augment_with_score=True)
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


# What serving each would bring, by hand; and the same in units of what was seen.

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
    problem, state, seen = at([3.0, 1.0], scheme=anytime_gains(Rawls(), Total()))
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
