"""RULES.md, "Worlds", doughnuts: sentence by sentence."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from evenhand.envs import Doughnuts, Random, State
from evenhand.envs.episodes import rollout
from evenhand.errors import BadParameter, EvenhandError, NotFinite, UnequalLengths
from evenhand.memory.memory import Full, Min, Product, Reset

EVERYONE = jnp.ones(5, dtype=bool)
MANY = 20_000


def within(frequency, chance, number):
    """Five standard errors: about one in two million for a right program."""
    return np.abs(frequency - chance) <= 5 * np.sqrt(chance * (1 - chance) / number) + 1e-12


def test_the_papers_numbers_are_the_defaults():
    env = Doughnuts()
    assert (env.num_stakeholders, env.num_actions, env.horizon) == (5, 5, 100)
    assert env.presence == (0.8,) * 5


def test_presence_is_drawn_independently_with_each_ones_probability():
    env = Doughnuts(3, 4, (0.2, 0.5, 0.9))
    keys = jax.random.split(jax.random.key(1), MANY)
    present = np.asarray(jax.vmap(env.draw)(keys))
    assert within(present.mean(axis=0), np.array([0.2, 0.5, 0.9]), MANY).all()
    both = (present[:, :, None] & present[:, None, :]).mean(axis=0)
    expected = np.outer([0.2, 0.5, 0.9], [0.2, 0.5, 0.9])
    off = ~np.eye(3, dtype=bool)
    assert within(both, expected, MANY)[off].all()


def test_presence_is_drawn_afresh_before_every_step_the_first_included():
    env = Doughnuts(2, 3, 0.5)
    first = jax.vmap(env.initial)(jax.random.split(jax.random.key(2), MANY)).noise
    assert within(np.mean(first, axis=0), 0.5, MANY).all()
    run = rollout(env, Random(2), Full(), jax.random.key(2), horizon=MANY)
    later = np.asarray(run.steps.next_state.noise)
    assert later.shape == (MANY, 2)
    assert within(later.mean(axis=0), 0.5, MANY).all()
    assert within((later[1:] == later[:-1]).mean(axis=0), 0.5, MANY - 1).all()


def test_the_server_sees_who_is_present():
    env = Doughnuts()
    present = jnp.array([True, False, True, True, False])
    np.testing.assert_array_equal(
        env.observation(State(env.start(), present)), [1.0, 0.0, 1.0, 1.0, 0.0]
    )


@pytest.mark.parametrize("action", range(5))
def test_to_someone_present_their_count_rises_by_one_and_welfare_is_paid(action):
    env = Doughnuts()
    _, step = env.step(jax.random.key(0), State(env.start(), EVERYONE), action)
    np.testing.assert_array_equal(step.rewards, np.eye(5)[action])
    assert not step.override.applies


@pytest.mark.parametrize("action", range(5))
def test_to_someone_absent_nothing_changes_and_the_override_is_0(action):
    env = Doughnuts()
    present = EVERYONE.at[action].set(False)
    following, step = env.step(jax.random.key(0), State(env.start(), present), action)
    np.testing.assert_array_equal(step.rewards, np.zeros(5))
    assert step.override.applies
    assert step.override.value == 0.0
    assert following.world == (1,)  # the step number, which is all there is


@pytest.mark.parametrize("action", range(5))
def test_if_nobody_is_present_every_choice_is_a_waste(action):
    env = Doughnuts()
    _, step = env.step(jax.random.key(0), State(env.start(), ~EVERYONE), action)
    assert step.override.applies
    assert not np.any(step.rewards)


def test_what_a_waste_is_paid_is_an_argument():
    for env, applies, value in (
        (Doughnuts(wasted=-2.0), True, -2.0),
        (Doughnuts(wasted=None), False, 0.0),
    ):
        _, step = env.step(jax.random.key(0), State(env.start(), ~EVERYONE), 0)
        assert bool(step.override.applies) == env.may_override == applies
        assert step.override.value == value
        assert not np.any(step.rewards)


def test_a_wasted_doughnut_changes_no_memory():
    memories = Product((Full(), Min(), Reset()))
    run = rollout(Doughnuts(3, 40, 0.5), Random(3), memories, jax.random.key(3), horizon=2000)
    wasted = np.asarray(run.steps.override.applies)
    assert 500 < wasted.sum() < 1500
    for memory in run.memories:
        after = np.asarray(memory)
        before = np.concatenate((np.zeros((1, 3)), after[:-1]))
        changed = (before != after).any(axis=-1)
        assert not changed[wasted].any()
        assert changed[~wasted].all()  # Min and Reset too, where n > 1


def test_the_childrens_form_has_no_chance_in_it():
    env = Doughnuts.for_children()
    assert (env.num_stakeholders, env.horizon, env.presence) == (3, 24, (1.0, 1.0, 1.0))
    noises, chances = env.noises()
    np.testing.assert_array_equal(noises[chances > 0], [[True, True, True]])
    assert np.all(jax.vmap(env.draw)(jax.random.split(jax.random.key(4), MANY)))
    assert not env.may_override


def test_small_value_two_customers_two_steps():
    """The optimum by listing: RULES.md gives 27/16 ln 2 + 3/16 ln 3."""
    env = Doughnuts(2, 2, 0.5)
    welfare = env.nash_scheme().welfare
    noises, chances = env.noises()

    def value(world, counts):
        if world.time == env.horizon:
            return 0.0
        total = 0.0
        for noise, chance in zip(noises, chances, strict=True):
            options = []
            for action in range(2):
                probability, worlds = env.outcomes(world, noise, action)
                assert probability.shape == (1,)
                after = jax.tree.map(lambda leaf: leaf[0], worlds)
                state = State(world, noise)
                had = counts + env.rewards(state, action, after)
                override = env.override(state, action, after)
                pay = override.value if override.applies else welfare(had)
                options.append(float(pay) + value(after, had))
            total += float(chance) * max(options)
        return total

    expected = 27 / 16 * math.log(2) + 3 / 16 * math.log(3)
    assert value(env.start(), jnp.zeros(2)) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"num_stakeholders": 0}, BadParameter, "num_stakeholders is 0"),
        ({"horizon": 2.5}, BadParameter, "whole number"),
        ({"horizon": True}, BadParameter, "horizon is True"),
        ({"presence": 1.2}, BadParameter, "between 0 and 1"),
        ({"presence": (0.5, -0.1, 0.5, 0.5, 0.5)}, BadParameter, "presence of 1 is -0.1"),
        ({"presence": (0.5, 0.5)}, UnequalLengths, "2 entries for 5"),
        ({"presence": math.nan}, NotFinite, "presence"),
        ({"wasted": math.inf}, NotFinite, "wasted"),
    ],
)
def test_wrong_arguments_are_refused_by_name(arguments, error, words):
    with pytest.raises(error, match=words) as caught:
        Doughnuts(**arguments)
    assert isinstance(caught.value, EvenhandError)
