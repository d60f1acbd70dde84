"""Episodes that begin in one of several worlds: everything is the mean over them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from evenhand import Rawls, Total, anytime
from evenhand.envs import FairTaxi
from evenhand.errors import BadParameter
from evenhand.learn.imagined_memories import NoProposal
from evenhand.learn.schedules import seed_keys, start_learners
from evenhand.learn.tabular.q_learning import Tabular
from evenhand.planning import plan
from evenhand.planning.evaluation import evaluate
from evenhand.planning.model import Model
from evenhand.planning.restricted import ascend, prove, restrict, starts
from evenhand.problem.problem import Problem

RIDE = FairTaxi(origins=((0, 0),), destinations=((0, 1),), size=(1, 3), horizon=6)
RIDES = Problem(RIDE, anytime(Rawls(), Total()))


@dataclass(frozen=True)
class _FromOneCell(FairTaxi):
    cell: int = 0

    def starts(self):
        worlds, _ = super().starts()
        return jax.tree.map(lambda leaf: leaf[self.cell][None], worlds), np.ones(1)


def alone(cell):
    env = _FromOneCell(RIDE.origins, RIDE.destinations, RIDE.size, RIDE.horizon, cell=cell)
    return replace(RIDES, environment=env)


def test_an_optimum_is_the_mean_over_the_starts():
    found, parts = plan(RIDES), [plan(alone(cell)) for cell in range(3)]
    assert len({part.value for part in parts}) > 1  # it matters where one starts
    assert found.value == pytest.approx(np.mean([part.value for part in parts]), abs=1e-12)
    random = np.mean([part.random_value() for part in parts])
    assert found.random_value() == pytest.approx(random, abs=1e-12)


def test_a_policy_is_scored_over_the_starts():
    always_right = lambda key, state, memory: jnp.asarray(2)  # noqa: E731
    exact = evaluate(replace(RIDES, scheme=anytime(Rawls(), Total())), always_right)
    assert exact.exact
    assert exact.score == 0.0
    waiting = lambda key, state, memory: jnp.asarray(4)  # noqa: E731  # picks, wrong but once
    found = evaluate(RIDES, waiting, with_distribution=True)
    # From the origin the first pick is right, and five are wrong; elsewhere all six are.
    ends = [-10.0 * sum(range(6)), -10.0 * sum(range(7))]
    assert found.distribution[0].tolist() == sorted(ends)
    assert found.distribution[1] == pytest.approx([2 / 3, 1 / 3])
    assert found.score == pytest.approx((ends[0] + 2 * ends[1]) / 3)


def test_a_table_that_knows_nothing_is_scored_as_acting_at_random():
    agent = Tabular(RIDES, NoProposal())
    learners = start_learners(agent, seed_keys((0, 1, 2)))
    random = plan(RIDES).random_value()
    assert np.asarray(agent.evaluate(learners).score) == pytest.approx(random, rel=1e-5)
    assert set(np.asarray(start_learners(agent, seed_keys(tuple(range(40)))).row)) == {0, 1, 2}


def test_with_everything_in_memory_a_restricted_policy_is_the_plan():
    restricted = restrict(RIDES)
    best = max(
        ascend(restricted, start)[0] for start in starts(restricted, np.random.default_rng(0), 1)
    )
    assert best == pytest.approx(plan(RIDES).value, abs=1e-9)
    bound, _ = prove(restricted, best, next(starts(restricted, np.random.default_rng(0), 0)), 20.0)
    assert bound == pytest.approx(best, abs=1e-6)


@dataclass(frozen=True)
class _WithChances(FairTaxi):
    chances: tuple[float, ...] = ()

    def starts(self):
        return super().starts()[0], jnp.asarray(self.chances)


def with_chances(*chances):
    env = _WithChances(RIDE.origins, RIDE.destinations, RIDE.size, 6, chances=chances)
    return Model(replace(RIDES, environment=env))


@pytest.mark.parametrize("chances", [(0.1, 0.2, 0.7), (0.0, 0.4, 0.6), (0.2, 0.3, 0.5 + 5e-7)])
def test_chances_of_starts_are_made_to_sum_to_one(chances):
    exact = np.array(chances) / sum(chances)
    found = with_chances(*chances).start_chance.tolist()
    assert sorted(found) == pytest.approx(sorted(exact.tolist()), abs=1e-13)


@pytest.mark.parametrize("chances", [(0.5, 0.5, 1.0), (0.5, 0.5, 2e-6), (1.0, 0.5, -0.5)])
def test_other_chances_of_starts_are_refused(chances):
    with pytest.raises(BadParameter, match="of the starts sum to"):
        _ = with_chances(*chances).start
