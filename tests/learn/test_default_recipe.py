"""Everything is derived from the problem: what changes with the unit of amounts, and what not."""

from dataclasses import dataclass, replace

import jax
import numpy as np
import pytest

from evenhand.envs import Doughnuts, Lending, Vaccines, WaitingList
from evenhand.errors import BadParameter, NegativeStatus
from evenhand.fairness.filters import AfterEach
from evenhand.fairness.scheme import anytime, bounded, periodic
from evenhand.fairness.temporal import Discounted, Total
from evenhand.fairness.welfare import LogNash, NegativeVariance, Rawls
from evenhand.learn.deep.networks import MLP, EquivariantMLP
from evenhand.learn.deep.targets import Huber, PolyakUpdate
from evenhand.learn.default_recipe import (
    FAR_VIEW,
    FEW_STEPS,
    SHORT_VIEW,
    default_discount,
    default_learner,
    default_network,
    default_steps,
    default_tables,
    learned_rewards,
    measured_encoder,
    value_size,
)
from evenhand.learn.proposals import Everything, NoProposal, Replayed
from evenhand.learn.random_play import RandomPlay, random_play
from evenhand.learn.schedules import ExplorationBySteps
from evenhand.learn.seeds import seed_keys, start_learners
from evenhand.memory.memory import Clock, Full, Product, Reset
from evenhand.problem.problem import Problem

SHOP = Doughnuts(2, 4, (0.9, 0.5))


@dataclass(frozen=True)
class Grams(Doughnuts):
    """The same shop, a doughnut weighing so much."""

    weight: float = 80.0

    def rewards(self, state, action, world):
        return self.weight * super().rewards(state, action, world)


def learner(shop, welfare=NegativeVariance(), **more):
    return default_learner(Problem(shop, anytime(welfare, Total())), steps=3000, **more)


def test_exploration_warm_up_and_memory_come_from_steps_and_horizon():
    agent = learner(SHOP, LogNash())
    assert agent.exploration == ExplorationBySteps(1000)
    assert (agent.warm_up, agent.halved_after) == (150, 300)
    assert (agent.batch, agent.capacity, agent.learning_rate) == (128, 50_000, 1e-3)
    assert (agent.double, agent.target, agent.loss) == (True, PolyakUpdate(0.005), Huber(1.0))
    assert agent.problem.memory == Product((Full(), Clock(5)))
    assert (agent.discount, agent.horizon_terminates, agent.shaping) == (1.0, True, True)
    assert agent.proposal == Replayed(4)


def test_values_are_as_large_as_what_is_to_come_spreads():
    rewards = np.array([[1.0, 2.0], [3.0, 4.0]])
    # With a discount of 1/2: 1 + 2/2 and 2; 3 + 4/2 and 4.
    assert value_size(rewards, 0.5) == pytest.approx(np.std([2.0, 2.0, 5.0, 4.0]))
    assert value_size(rewards / 10, 0.5) == pytest.approx(np.std([0.2, 0.2, 0.5, 0.4]))
    assert value_size(np.ones((3, 1)), 0.5) == 1.0  # it is the same everywhere
    agent = learner(SHOP, LogNash())
    play = random_play(agent.problem)
    rewards = learned_rewards(agent.problem, play, True, 1.0, True)
    np.testing.assert_allclose(agent.baseline, rewards.mean(axis=0), rtol=1e-5)
    left = rewards - rewards.mean(axis=0)
    assert agent.scale == pytest.approx(1.0 / value_size(left, 1.0), rel=1e-4)


def test_short_episodes_are_learned_from_for_longer():
    assert [default_steps(horizon) for horizon in (1, 30, 31, 100)] == [
        *(30_000, 30_000),
        *(31_000, 100_000),
    ]


def test_a_few_steps_and_very_many():
    problem = Problem(SHOP, anytime(LogNash(), Total()))
    few, many = (default_learner(problem, steps=steps) for steps in (10, 10**6))
    assert (few.warm_up, few.halved_after, few.exploration) == (1, 1, ExplorationBySteps(3))
    assert (many.warm_up, many.halved_after) == (1000, 100_000)


def test_where_the_reward_is_read_off_the_state_nothing_is_imagined():
    clinic = WaitingList(arrivals=(0.5, 0.5), urgencies=1.0, capacity=2, horizon=4)
    agent = default_learner(Problem(clinic, clinic.default_scheme()), steps=200)
    assert agent.proposal == NoProposal()


def test_a_long_horizon_is_discounted_and_has_no_clock():
    agent = learner(Doughnuts(2, 2000, 0.8), LogNash())
    assert agent.problem.memory == Full()
    assert agent.discount < 1.0
    assert not agent.horizon_terminates
    assert agent.baseline == ()


class Endless(Doughnuts):
    """A shop that goes on after its horizon."""

    goes_on = True


def test_what_goes_on_is_cut_off_however_short_it_is():
    agent = learner(Endless(2, 4, (0.9, 0.5)), LogNash())
    assert not agent.horizon_terminates
    assert agent.problem.memory == Full()


def test_only_a_few_steps_are_learned_to_their_end_undiscounted():
    shaped, bare = anytime(Rawls(), Total()), bounded(AfterEach(2), Rawls(), Total())
    few, more = (Doughnuts(2, FEW_STEPS + extra, 0.8) for extra in (0, 1))
    assert default_discount(Problem(few, shaped), True) == 1.0
    assert default_discount(Problem(few, shaped), False) == SHORT_VIEW
    assert default_discount(Problem(more, shaped), True) == SHORT_VIEW
    assert default_discount(Problem(more, bare), True) == FAR_VIEW
    assert default_discount(Problem(more, anytime(Rawls(), Discounted(0.7))), True) == 0.7
    assert 0.0 < SHORT_VIEW < FAR_VIEW < 1.0


def a_play(over):
    """Two episodes of three steps, as somebody might have seen them."""
    received = np.array([[[2, 0], [0, 4], [6, 0]], [[0, 2], [8, 0], [0, 2]]], dtype=float)
    status = received.cumsum(axis=1)
    there = np.array([[[1, 0], [1, 1], [0, 0]], [[1, 1], [0, 1], [1, 0]]], dtype=float)
    clock = np.array([[0, 1, 2], [0, 1, 2]], dtype=float)
    before = status - received
    return RandomPlay(received, status.min(axis=-1), status, over, (there, before, clock))


def test_an_encoder_measures_what_was_seen_before_the_end():
    problem = Problem(SHOP, anytime(Rawls(), Total()), Product((Full(), Clock(5))))
    over = np.array([[False, False, True], [False, True, True]])
    play = a_play(over)
    there, _, clock = (part[~over] for part in play.observed)
    encoder = measured_encoder(problem, play)
    # Counts are in units of what is received; the rest is centred, in units of its spread.
    assert encoder.shifts == pytest.approx((there.mean(), 0.0, clock.mean()))
    assert encoder.sizes == pytest.approx((there.std(), 2.0, clock.std()))
    # From step to step a status rises by 4, 6, 8 or 2, where it does.
    assert encoder.status_size == 5.0
    # What never changes, or was never seen, is left as it is.
    still = play._replace(observed=(np.ones((2, 3, 2)), *play.observed[1:]))
    found = measured_encoder(problem, still)
    assert (found.shifts[0], found.sizes[0]) == (1.0, 1.0)
    unseen = measured_encoder(problem, a_play(np.ones((2, 3), dtype=bool)))
    assert (unseen.shifts, unseen.sizes) == ((0.0,) * 3, (1.0,) * 3)


def test_beyond_the_end_nothing_is_rewarded():
    problem = Problem(SHOP, anytime(Rawls(), Total()))
    play = a_play(np.array([[False, False, True], [False, True, True]]))
    found = learned_rewards(problem, play, False, 0.9, shaping=False)
    assert found.tolist() == [[0.0, 2.0, 0.0], [0.0, 0.0, 0.0]]


@pytest.mark.system
def test_the_discount_falls_with_the_horizon_and_with_shaping():
    def discount(horizon, scheme):
        return default_learner(Problem(Doughnuts(2, horizon, 0.8), scheme), steps=200).discount

    shaped, bare = anytime(Rawls(), Total()), bounded(AfterEach(2), Rawls(), Total())
    assert [discount(20, shaped), discount(40, shaped)] == [1.0, 0.9]
    assert [discount(20, bare), discount(40, bare)] == [1.0, 0.99]
    assert discount(40, anytime(Rawls(), Discounted(0.7))) == 0.7


def test_the_unit_of_amounts_makes_no_difference():
    """Minus the variance grows as the square of the unit: features and rewards stay as they are."""
    plain, grams = learner(SHOP), learner(Grams(2, 4, (0.9, 0.5)))
    np.testing.assert_allclose(plain.scale, grams.scale * 80.0**2, rtol=1e-4)
    state = plain.problem.initial(jax.random.key(3))
    heavy = grams.problem.initial(jax.random.key(3))
    for action in (0, 1, 0):
        state, _, pay = plain.problem.step(jax.random.key(action), state, action)
        heavy, _, much = grams.problem.step(jax.random.key(action), heavy, action)
        np.testing.assert_allclose(plain.scale * pay, grams.scale * much, rtol=1e-4)
        np.testing.assert_allclose(plain.encode(state), grams.encode(heavy), rtol=1e-4, atol=1e-5)


def test_the_network_treats_alike_whom_all_parts_treat_alike():
    alike, unlike = Doughnuts(3, 4, 0.5), Doughnuts(3, 4, (0.5, 0.5, 0.9))
    scheme = anytime(Rawls(), Total())
    assert default_network(Problem(alike, scheme)).kinds == ()
    assert default_network(Problem(unlike, scheme)).kinds == (0, 0, 1)
    # The environment treats them alike, the scheme does not.
    entitled = Vaccines((1, 2, 2), transport_cost=0, delay=0.1).same_rate_scheme()
    assert default_network(Problem(alike, entitled)).kinds == (0, 1, 1)
    bank = Lending(horizon=4)
    grouped = default_network(Problem(bank, bank.default_scheme()))
    assert isinstance(grouped, EquivariantMLP)
    assert grouped.groups == bank.groups


def test_other_numbers_of_actions_have_layers():
    class Two(Doughnuts):
        @property
        def num_actions(self):
            return 2

    assert isinstance(default_network(Problem(Two(3, 4, 0.5), anytime(Rawls(), Total()))), MLP)


@pytest.mark.system
def test_it_learns_a_small_problem_to_its_optimum():
    """One who is always there and one who seldom is: 99% of the exact optimum."""
    from evenhand.planning.planner import plan

    shop = Doughnuts(2, 4, (1.0, 0.4))
    problem = Problem(shop, shop.default_scheme())
    agent = default_learner(problem, steps=2000)
    learners = agent.train_steps(start_learners(agent, seed_keys([0])), 2000)
    best = plan(problem).value
    assert float(agent.evaluate(learners, 1000).score[0]) > 0.985 * best


def test_tables_imagine_everything_where_the_memory_determines_the_reward():
    problem = Problem(SHOP, anytime(LogNash(), Total()), Reset())
    tables = default_tables(problem)
    assert tables.proposal == Everything()
    assert tables.problem.memory == Product((Full(), Clock(5)))
    assert default_tables(problem, proposal=NoProposal()).proposal == NoProposal()
    # A memory that is kept although it does not is not imagined otherwise.
    kept = default_tables(problem, keep_memory=True)
    assert (kept.proposal, kept.problem.memory) == (NoProposal(), Product((Reset(), Clock(5))))
    assert (tables.discount, tables.horizon_terminates, tables.shaping) == (1.0, True, True)


def test_shaping_only_where_the_scheme_allows_it():
    events = bounded(AfterEach(2), Rawls(), Total())
    assert not default_tables(Problem(SHOP, events)).shaping
    assert default_tables(Problem(SHOP, periodic(2, Rawls(), Total()))).shaping


@pytest.mark.parametrize("steps", [9, 100.5, True])
def test_too_few_steps_are_a_sentence(steps):
    with pytest.raises(BadParameter, match="whole number from 10"):
        default_learner(Problem(SHOP, SHOP.default_scheme()), steps=steps)


def test_a_reward_that_is_no_number_is_refused_before_anything_is_learned():
    debts = replace(Grams(2, 4, (0.9, 0.5)), weight=-1.0)
    with pytest.raises(NegativeStatus, match="random episode"):
        learner(debts, LogNash())
