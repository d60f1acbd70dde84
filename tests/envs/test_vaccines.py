"""The vaccine environment: supply, freight, delay, and progress at the same rate."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand.envs import Random, State, Vaccines, to_trace
from evenhand.envs.episodes import rollout
from evenhand.envs.vaccines import Pipeline
from evenhand.errors import BadParameter, EvenhandError, UnequalLengths
from evenhand.fairness.trace import Trace
from evenhand.fairness.welfare import Rawls
from evenhand.memory.memory import Full

MANY = 20_000


def within(frequency, chance, number):
    """Five standard errors: about one in two million for a right program."""
    return np.abs(frequency - chance) <= 5 * np.sqrt(chance * (1 - chance) / number) + 1e-12


def small(**arguments):
    return Vaccines(
        **{
            "populations": (10, 20),
            "supplies": (4, 8),
            "supply_chances": (0.3, 0.7),
            "transport_cost": (1, 5),
            "delay": (0.25, 0.0),
            "horizon": 3,
            **arguments,
        }
    )


def test_six_countries_from_1_to_60_million_by_default():
    env = Vaccines()
    assert (env.num_stakeholders, env.num_actions) == (6, 6)
    assert (min(env.populations), max(env.populations)) == (1_000, 60_000)


def test_the_monthly_supply_varies_and_is_seen():
    env = small()
    supplies = np.asarray(jax.vmap(env.draw)(jax.random.split(jax.random.key(0), MANY)))
    assert set(np.unique(supplies)) == {4, 8}
    assert within((supplies == 8).mean(), 0.7, MANY)
    world = Pipeline(jnp.array([0, 2]), jnp.asarray(1))
    np.testing.assert_allclose(env.observation(State(world, jnp.asarray(4))), [0.5, 0.0, 0.25])


def test_a_shipment_on_time_brings_the_supply_less_the_freight():
    env = small()
    chance, worlds = env.outcomes(env.start(), jnp.asarray(8), 0)
    np.testing.assert_allclose(chance, [0.75, 0.25])
    on_time, late = (jax.tree.map(lambda leaf, k=k: leaf[k], worlds) for k in range(2))
    state = State(env.start(), jnp.asarray(8))
    np.testing.assert_array_equal(env.rewards(state, 0, on_time), [7.0, 0.0])
    np.testing.assert_array_equal(env.rewards(state, 0, late), [0.0, 0.0])
    np.testing.assert_array_equal(late.in_transit, [7, 0])


def test_freight_never_takes_more_than_the_shipment():
    env = small()
    _, worlds = env.outcomes(env.start(), jnp.asarray(4), 1)
    after = jax.tree.map(lambda leaf: leaf[0], worlds)
    state = State(env.start(), jnp.asarray(4))
    np.testing.assert_array_equal(env.rewards(state, 1, after), [0.0, 0.0])


def test_a_delayed_shipment_arrives_with_next_months_step_wherever_that_one_goes():
    env = small()
    world = Pipeline(jnp.array([7, 0]), jnp.asarray(1))
    _, worlds = env.outcomes(world, jnp.asarray(8), 1)
    after = jax.tree.map(lambda leaf: leaf[0], worlds)
    np.testing.assert_array_equal(env.rewards(State(world, jnp.asarray(8)), 1, after), [7.0, 3.0])
    np.testing.assert_array_equal(after.in_transit, [0, 0])
    assert after.time == 2


@pytest.mark.parametrize(("action", "chance"), [(0, 0.25), (1, 0.0)])
def test_a_shipment_is_late_with_its_countrys_probability(action, chance):
    env = small()
    keys = jax.random.split(jax.random.key(1), MANY)
    worlds = jax.vmap(lambda key: env.answer(key, env.start(), jnp.asarray(8), action))(keys)
    assert within((np.asarray(worlds.in_transit).sum(axis=1) > 0).mean(), chance, MANY)


@settings(max_examples=25)
@given(seed=st.integers(0, 2**31 - 1))
def test_every_dose_is_delivered_or_in_transit_or_paid_for_freight(seed):
    env = Vaccines()
    run = rollout(env, Random(6), Full(), jax.random.key(seed))
    supplies = np.append(run.initial.noise, run.steps.next_state.noise[:-1])
    freight = np.asarray(env.transport_cost)[np.asarray(run.steps.action)]
    world = run.steps.next_state.world
    delivered = np.cumsum(np.asarray(run.steps.rewards).sum(axis=1))
    np.testing.assert_array_equal(
        delivered + np.asarray(world.in_transit).sum(axis=1), np.cumsum(supplies - freight)
    )
    assert np.min(run.steps.rewards) >= 0
    np.testing.assert_array_equal(run.memories[-1], np.sum(run.steps.rewards, axis=0))
    assert not np.any(run.steps.override.applies)


def test_status_is_doses_delivered_per_head():
    env = small()
    status = env.same_rate_scheme().status
    trace = Trace(rewards=[[5, 0], [0, 10]])
    _, values = status.scan(status.init(2), trace)
    np.testing.assert_allclose(values, [[0.5, 0.0], [0.5, 0.5]])


def test_progress_at_the_same_rate_scores_best():
    env = small()
    scheme = env.same_rate_scheme()
    assert scheme.score(Trace(rewards=[[1, 2], [3, 6]])) == pytest.approx(0.0)
    # Doses per head (0.1, 0), then (0.1, 0.2): each time a variance of 0.05².
    assert scheme.score(Trace(rewards=[[1, 0], [0, 4]])) == pytest.approx(-2 * 0.05**2)
    last = env.same_rate_scheme(Rawls())
    assert last.score(Trace(rewards=[[1, 0], [0, 4]])) == pytest.approx(0.1)


def test_a_rollout_can_be_scored():
    env = Vaccines()
    run = rollout(env, Random(6), Full(), jax.random.key(3))
    per_head = np.asarray(run.memories, dtype=np.float64) / env.populations
    score = env.same_rate_scheme().score(to_trace(run))
    assert score == pytest.approx(-per_head.var(axis=1).sum())
    assert score < 0


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"horizon": 0}, BadParameter, "horizon is 0"),
        ({"populations": (), "delay": 0.1, "transport_cost": 0}, UnequalLengths, "at least one"),
        ({"populations": (0, 5)}, BadParameter, "populations of 0 is 0"),
        ({"supplies": (4.5, 8)}, BadParameter, "supplies of 0 is 4.5: it must be a whole"),
        ({"supplies": (-1, 8)}, BadParameter, "supplies of 0 is -1"),
        ({"supply_chances": (0.5, 0.6)}, BadParameter, "sum to 1.1"),
        ({"supply_chances": (1.5, -0.5)}, BadParameter, "negative"),
        ({"supply_chances": (1.0,)}, UnequalLengths, "1 supply_chances for 2 supplies"),
        ({"transport_cost": (1, 2, 3)}, UnequalLengths, "transport_cost has 3 entries for 2"),
        ({"delay": 1.5}, BadParameter, "delay is 1.5"),
    ],
)
def test_wrong_arguments_are_refused_by_name(arguments, error, words):
    with pytest.raises(error, match=words) as caught:
        small(**arguments)
    assert isinstance(caught.value, EvenhandError)
