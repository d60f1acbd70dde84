"""Algorithm 1 against the planner: see test_algorithm_1 for each step of it, by hand."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from evenhand.envs import Doughnuts
from evenhand.envs.environment import MDPEnvironment
from evenhand.errors import BadParameter, NegativeStatus
from evenhand.fairness.scheme import anytime
from evenhand.fairness.temporal import Total
from evenhand.learn.imagined_memories import Above
from evenhand.learn.schedules import Constant, Exploration, Watkins
from evenhand.learn.tabular.q_learning import Tabular
from evenhand.memory.memory import Full, Min, Reset
from evenhand.planning.evaluation import evaluate
from evenhand.planning.planner import plan
from evenhand.problem.problem import Problem
from evenhand.process import FiniteMDP

SHOP = Doughnuts(num_stakeholders=2, horizon=4, presence=0.7)
PROBLEM = Problem(SHOP, SHOP.nash_scheme())


def start(learner, seeds=2):
    return jax.vmap(learner.start)(jax.random.split(jax.random.key(0), seeds))


def test_ties_are_broken_at_random_and_exploration_is_uniform():
    learner = Tabular(PROBLEM)
    after = learner.train_steps(start(learner, 400), 1)
    first = np.asarray(after.updates).sum(axis=(0, 1, 2))
    assert first.sum() == 400
    assert abs(first[0] - 200) < 60  # six standard errors


def test_the_start_of_the_greedy_policy_is_worth_acting_at_random():
    """All values are equal at first, and ties are broken at random."""
    for memory in (Full(), Min(), Reset()):
        learner = Tabular(Problem(SHOP, SHOP.nash_scheme(), memory))
        score = learner.evaluate(start(learner))
        assert score.score == pytest.approx([plan(PROBLEM).random_value()] * 2, rel=1e-5)
        assert score.kept == pytest.approx([4 * 0.7] * 2, rel=1e-5)


def test_the_evaluation_is_the_planners_of_the_same_policy():
    learner = Tabular(PROBLEM, Above(2))
    runs = learner.train_steps(start(learner, 1), 3_000)
    q = np.asarray(runs.q)[0]
    if (np.sort(q, axis=-1)[..., -1] == np.sort(q, axis=-1)[..., -2]).all():
        pytest.fail("nothing was learned")
    table = learner.table

    lookup = np.zeros((20, 20), dtype=int)
    for row, counts in enumerate(table.model.from_rows(table.rows, 0)[1].status):
        lookup[tuple(counts.astype(int))] = row
    rows, values = jnp.asarray(lookup), jnp.asarray(q)

    def greedy(key, state, memory):
        row = rows[memory[0].astype(int), memory[1].astype(int)]
        noise = jnp.sum(state.noise * jnp.asarray([1, 2]))
        return jnp.argmax(values[row, noise])

    # Where values tie the two differ in which they take, so ties are made rare first.
    values = values + 1e-3 * jax.random.uniform(jax.random.key(1), values.shape)
    perturbed = runs._replace(q=values[None])
    exact = evaluate(PROBLEM, greedy)
    assert exact.exact
    assert learner.evaluate(perturbed).score[0] == pytest.approx(exact.score, rel=1e-5)


@pytest.mark.parametrize("alone", [0, 3])
def test_a_seed_learns_the_same_alone_and_among_others(alone):
    learner = Tabular(PROBLEM, Above(2))
    keys = jax.random.split(jax.random.key(0), 5)
    many = learner.train_steps(jax.vmap(learner.start)(keys), 2_000)
    one = learner.train_steps(jax.vmap(learner.start)(keys[alone : alone + 1]), 2_000)
    np.testing.assert_array_equal(np.asarray(many.q)[alone], np.asarray(one.q)[0])


def test_the_best_recipe_finds_the_optimum_of_a_small_problem():
    from evenhand.lab.recipes import tabular_learner

    learner = tabular_learner(SHOP, "fairqcm", "best")
    runs = learner.train_steps(start(learner, 5), 4_000)
    assert np.asarray(learner.evaluate(runs).score).min() > 0.99 * plan(PROBLEM).value


def test_watkins_conditions():
    steps = np.arange(1_000_000, dtype=float)
    for power in (0.6, 1.0):
        rates = np.asarray(Watkins(power)(jnp.asarray(steps)))
        assert (rates < 1).all()
        assert (rates > 0).all()
        assert (rates**2).sum() < 20
    for power in (0.5, 1.1):
        with pytest.raises(BadParameter, match="Watkins"):
            Watkins(power)
    with pytest.raises(BadParameter, match="learning rate"):
        Constant(1.0)
    with pytest.raises(BadParameter, match="not possible"):
        Exploration(0.1, 0.9, 0.2)


def test_steps_that_cannot_be_paid_are_refused_where_they_can_happen():
    def debts(chance):
        """One state, one action: nothing is received, or by a chance one falls into debt."""
        rewards = np.zeros((1, 1, 2, 1))
        rewards[0, 0, 1, 0] = -2.0
        rewards = np.repeat(rewards, 2, axis=0)
        moves = np.broadcast_to([1.0 - chance, chance], (2, 1, 2))
        world = MDPEnvironment(FiniteMDP(0, moves, rewards), horizon=2)
        return Problem(world, anytime(temporal=Total()))

    start(Tabular(debts(0.0)))
    with pytest.raises(NegativeStatus, match="LogNash is undefined for a status that can follow"):
        start(Tabular(debts(0.001)))
