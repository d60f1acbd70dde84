"""Theorem 3: tabular FairQCM converges to Q*, and its footnote: an update that peeks does not."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from evenhand import Discounted, FiniteMDP, LogNash, Rawls, anytime
from evenhand.envs import MDPEnvironment
from evenhand.fairness.status import Modulo, Status, Window
from evenhand.learn.imagined_memories import Everything, NoProposal, SomeAbove, SomeAround, Visited
from evenhand.learn.schedules import Constant, Exploration, Watkins
from evenhand.learn.tabular.q_learning import Tabular
from evenhand.memory.memory import OfStatus
from evenhand.planning.planner import effect_values, value_iteration
from evenhand.problem.problem import Problem

DISCOUNT = 0.6
AT_RANDOM = Exploration(start=1.0, factor=1.0, floor=1.0)


def random_problem(seed: int, status: Status = Window(1)) -> Problem:
    """A random MDP with a finite memory and no end: 3 states, 2 actions, 2 stakeholders.

    What is remembered comes back again and again, as the theorem asks.
    """
    rng = np.random.default_rng(seed)
    transitions = rng.dirichlet(np.ones(3), (3, 2))
    rewards = rng.integers(0, 2, (3, 2, 3, 2)).astype(float)
    welfare = LogNash() if seed % 3 else Rawls()
    scheme = anytime(welfare, Discounted(DISCOUNT), status)
    environment = MDPEnvironment(FiniteMDP(0, transitions, rewards))
    return Problem(environment, scheme, OfStatus(status))


def optimal_q(learner: Tabular) -> np.ndarray:
    """The planner's Q*, for every row and action."""
    table = learner.table
    values, error = value_iteration(table, 1e-10)
    assert error <= 1e-10
    q = effect_values(table, values, slice(None), last=False)
    return q[learner.model.effects[0]].T


SYSTEM = pytest.mark.system  # learns for long


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=SYSTEM), pytest.param(2, marks=SYSTEM)])
@pytest.mark.parametrize(
    ("proposal", "status"),
    [
        (Everything(), Window(1)),
        (Visited(4), Window(1)),
        # Offsets are of one number per stakeholder: of a counter that begins anew.
        (SomeAbove(2, 1), Modulo(2)),
        (SomeAround(1, 1), Modulo(2)),
    ],
    ids=str,
)
def test_q_approaches_the_planners(seed, proposal, status):
    problem = random_problem(seed, status)
    learner = Tabular(problem, proposal, DISCOUNT, Watkins(0.7), AT_RANDOM, horizon=0)
    runs = jax.vmap(learner.start)(jax.random.split(jax.random.key(seed), 3))
    expected = optimal_q(learner)
    errors = []
    for stretches in (1, 9, 90):
        for _ in range(stretches):
            runs = learner.train_steps(runs, 500)
        apart = np.abs(np.asarray(runs.q)[:, :, 0] - expected)
        errors.append(apart.max(axis=(1, 2)).mean())
    assert errors[-1] < errors[1] < errors[0], errors
    assert errors[-1] < 0.05 * np.abs(expected).max(), errors


@pytest.mark.system  # takes seconds
def test_plain_q_learning_approaches_the_planners_too():
    problem = random_problem(1)
    imagining = Tabular(problem, Everything(), DISCOUNT, Watkins(0.7), AT_RANDOM, horizon=0)
    plain = Tabular(problem, NoProposal(), DISCOUNT, Watkins(0.7), AT_RANDOM, horizon=0)
    run = plain.train_steps(jax.vmap(plain.start)(jax.random.split(jax.random.key(0), 1)), 400_000)
    best = np.asarray(run.q)[0, plain.model.seen[0], 0].max()
    assert best == pytest.approx(optimal_q(imagining)[0].max(), rel=0.03)


@pytest.mark.system  # takes seconds
def test_a_constant_rate_does_not_converge():
    learner = Tabular(
        random_problem(1), Everything(), DISCOUNT, Constant(0.5), AT_RANDOM, horizon=0
    )
    runs = learner.train_steps(
        jax.vmap(learner.start)(jax.random.split(jax.random.key(0), 3)), 100_000
    )
    apart = np.abs(np.asarray(runs.q)[:, :, 0] - optimal_q(learner))
    assert apart.max() > 0.05


@pytest.mark.parametrize("peeks", [False, True])
def test_imagining_only_after_winning_makes_winning_seem_sure(peeks):
    """The proof's footnote, made visible with a lottery that is won half the time.

    One state, one action, memory 0 or 1 (whether the last draw was imagined as lucky); winning
    pays 1. The true value with discount 1/2 is 0.5 / (1 − 0.5) = 1. An update of the imagined
    memory that happens only after a win sees nothing but wins: there Q tends to 1 + ½·max Q.
    """
    rng = np.random.default_rng(0)
    q, updates = np.zeros(2), np.zeros(2)
    for _ in range(20_000):
        won = rng.random() < 0.5
        imagine = won if peeks else True
        for memory in (0, 1) if imagine else (0,):
            rate = (updates[memory] + 2.0) ** -0.8
            q[memory] += rate * (float(won) + 0.5 * q[0] - q[memory])
            updates[memory] += 1
    assert q[0] == pytest.approx(1.0, abs=0.05)
    assert q[1] == pytest.approx(1.5 if peeks else 1.0, abs=0.05)
