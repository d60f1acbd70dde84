"""Tests of learn.recipe."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import own_environments as own
from evenhand.envs import Doughnuts, Lending, Vaccines, WaitingList
from evenhand.errors import BadParameter, NegativeStatus, NotFinite
from evenhand.fairness.filters import AfterEach
from evenhand.fairness.scheme import anytime, bounded, periodic
from evenhand.fairness.status import Decayed, WaitingTime, Window
from evenhand.fairness.temporal import Discounted, Total, Worst
from evenhand.fairness.welfare import Equality, LogNash, NegativeVariance, Rawls
from evenhand.interop.gymnasium.external import gymnasium_world
from evenhand.learn.deep.agent import Huber, PolyakUpdate
from evenhand.learn.deep.encoders import Gains
from evenhand.learn.deep.networks import MLP, EquivariantMLP
from evenhand.learn.host import HostWorld
from evenhand.learn.imagined_memories import Everything, NoProposal, Replayed
from evenhand.learn.recipe import (
    FAR_VIEW,
    FEW_STEPS,
    FEWEST_VISITS,
    LEARN_EVERY,
    LEAST_UNIT,
    LONGEST_CLOCK,
    RANDOM_EPISODES,
    SHORT_VIEW,
    SHORTEST_VIEW,
    Measurements,
    MemoryTrial,
    RandomPlay,
    Survey,
    _changed,
    _claims,
    _common_moments,
    _moments,
    _seen_with,
    _typical,
    default_discount,
    default_learner,
    default_memory,
    default_network,
    default_settings,
    default_steps,
    default_tables,
    find_memory,
    learned_rewards,
    measured_encoder,
    random_play,
    shapes_by_default,
    survey,
    survey_steps,
    typical,
    value_size,
)
from evenhand.learn.schedules import ExplorationBySteps, seed_keys, start_learners
from evenhand.memory.memory import (
    Clock,
    Full,
    GroupDifference,
    Min,
    Nothing,
    OfStatus,
    Product,
    Reset,
)
from evenhand.problem.checks import LONGEST_LOOK
from evenhand.problem.problem import Problem

# Everything is derived from the problem: what changes with the unit of amounts, and what not.

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


# The memory that is found determines the reward, and is the smallest that does.

SHOP_DETERMINING_MEMORY = Doughnuts(2, 6, 0.8)
BANK = Lending(horizon=5)
CLINIC = WaitingList(arrivals=(0.5, 0.5), urgencies=1.0, capacity=2, horizon=5)
FADING = anytime(LogNash(), Total(), Decayed(2.0))


@pytest.mark.parametrize(
    ("problem", "memory", "looks_back"),
    [
        (Problem(SHOP_DETERMINING_MEMORY, SHOP_DETERMINING_MEMORY.default_scheme()), Full(), True),
        (Problem(SHOP_DETERMINING_MEMORY, anytime(Equality(), Total())), Min(), True),
        (Problem(SHOP_DETERMINING_MEMORY, FADING), OfStatus(Decayed(2.0)), True),
        (Problem(BANK, BANK.default_scheme()), GroupDifference(BANK.groups), True),
        (Problem(CLINIC, CLINIC.default_scheme()), None, False),
    ],
    ids=["log-Nash: all counts", "equality: leads", "decayed", "groups", "read off the state"],
)
def test_the_smallest_that_determines_the_reward_is_found(problem, memory, looks_back):
    found = find_memory(problem, clock=False)
    wanted = OfStatus(problem.scheme.status) if memory is None else memory
    assert (found.problem.memory, found.determines, found.looks_back) == (wanted, True, looks_back)
    found.problem.require_memory_pays()


def test_what_random_play_shows_is_of_the_problem_with_that_memory_and_its_clock():
    found = find_memory(Problem(SHOP_DETERMINING_MEMORY, anytime(Rawls(), Total())), clock=True)
    assert found.problem.memory == Product((Full(), Clock(7)))
    presence, counts, clock = found.play.observed
    assert clock[0].tolist() == [0, 1, 2, 3, 4, 5]
    # What is counted before each step is what was received before it.
    before = found.play.received.cumsum(axis=1) - found.play.received
    assert (counts == before).all()
    assert presence.shape == counts.shape
    assert found.play.unit == 1.0


def test_a_memory_that_is_kept_is_kept_whether_it_determines_the_reward_or_not():
    problem = Problem(SHOP_DETERMINING_MEMORY, SHOP_DETERMINING_MEMORY.default_scheme(), Reset())
    found = find_memory(problem, clock=False, keep=True)
    assert found.problem == problem
    assert not found.determines
    assert find_memory(replace(problem, memory=Full()), clock=False, keep=True).determines


def test_a_claim_is_a_status_of_the_right_size():
    problem = Problem(SHOP_DETERMINING_MEMORY, SHOP_DETERMINING_MEMORY.default_scheme())
    assert _claims(problem, Full())
    assert not _claims(problem, Reset())  # which claims nothing
    assert not _claims(problem, GroupDifference({"all": [0, 1]}))


def test_what_the_scheme_carries_stays_in_view():
    """Who is there, what is remembered, and the scheme's own counter, in their order."""
    start = Problem(
        SHOP_DETERMINING_MEMORY, periodic(2, Rawls(), Total()), Product((Full(), Clock(7)))
    )
    trials = tuple(MemoryTrial(None, None, (name,)) for name in ("leads", "counts", "clock"))
    play = RandomPlay(*[None] * 4, ("there", "full", "old clock", "counter"), trials)
    assert _seen_with(play, start, (1, 2)).observed == ("there", "counts", "clock", "counter")


# How the defaults on the host follow from what was measured, whatever their numbers are.

SUMS = anytime(LogNash(), Total())
MOMENTS = ((0.0, 1.0),)
MEASURED = Measurements(3.0, (0.5, 2.0), ((0,), (1,)), MOMENTS, MOMENTS, 8.0, 2.0, 0.25)


def settings(shaping=True, size=2, **changed):
    """The defaults where so many share a horizon that is long."""
    environment = SimpleNamespace(horizon=10_000, num_stakeholders=size)
    problem = SimpleNamespace(environment=environment)
    return default_settings(problem, MEASURED._replace(**changed), 4000, shaping)


def test_where_the_best_at_once_is_known_there_is_less_to_explore():
    assert settings()["exploration"].start < 1.0
    assert settings(serves=())["exploration"].start == 1.0
    assert settings(largest_gain=0.0)["exploration"].start == 1.0


def test_rewards_are_in_units_of_the_largest_gain_or_of_the_usual_reward():
    assert settings(shaping=False)["scale"] == 1.0 / 0.25
    assert settings(shaping=False, largest_gain=0.0)["scale"] == 1.0 / 8.0
    view = 1.0 / (1.0 - settings()["discount"])
    assert settings()["scale"] == pytest.approx(1.0 / (view * 0.25))
    # Only with shaping, and where something is gained, is there a least unit of values.
    assert settings()["encoder"].floor > 0.0
    assert settings(shaping=False)["encoder"].floor == 0.0
    assert settings(largest_gain=0.0)["encoder"].floor == 0.0
    assert settings()["encoder"].of == Gains(3.0, (0.5, 2.0))


def test_the_view_grows_with_the_number_of_stakeholders():
    views = [1.0 / (1.0 - settings(size=size)["discount"]) for size in (200, 400)]
    assert views[1] == pytest.approx(2 * views[0])
    assert views[0] > 200


def test_what_is_remembered_and_surveyed_at_the_edges():
    assert default_memory(SUMS, LONGEST_CLOCK) == Product((Full(), Clock(LONGEST_CLOCK + 1)))
    assert default_memory(SUMS, LONGEST_CLOCK + 1) == Full()
    assert survey_steps(2, 1) == 1  # some decision comes first, however few there are


def test_a_running_worst_is_not_shaped():
    world = Doughnuts(2, 4, 0.8, wasted=None)
    assert shapes_by_default(Problem(world, SUMS, Full()))
    worst = Problem(world, anytime(LogNash(), Worst()), Full(), augment_with_score=True)
    assert not shapes_by_default(worst)
    assert not shapes_by_default(Problem(world, SUMS, Full(), augment_with_score=True))


# What a random walk tells: whom actions serve, what they bring, and in which unit.


def surveyed(env, scheme=own.NASH, steps=200):
    world = gymnasium_world(env)
    problem = Problem(world, scheme, default_memory(scheme, world.horizon))
    return problem, survey(problem, steps, np.random.default_rng(0)).measure(problem)


def test_whom_actions_serve_and_what_they_bring_is_found_out():
    world = gymnasium_world(own.Pairs())
    problem = Problem(world, own.NASH, default_memory(own.NASH, world.horizon))
    found = survey(problem, 200, np.random.default_rng(0))
    measured = found.measure(problem)
    # Two choices at once, numbered as NumPy unravels them: of the first pair, then of the second.
    assert measured.serves == ((0, 2), (0, 3), (1, 2), (1, 3))
    # Twice its size is what a stakeholder receives, and nothing besides.
    np.testing.assert_allclose(measured.amount, (0.0, 2.0), atol=1e-6)
    sizes = [2.0, 4.0, 6.0]
    assert measured.unit == pytest.approx(np.mean(sizes), rel=0.1)
    # What was visited: what each had before each decision, of five to an episode.
    had, clock = (np.stack(part) for part in zip(*(at.memory for at in found.visited), strict=True))
    assert clock.tolist() == [step % 5 for step in range(200)]
    after = had + found.rewards
    goes_on = clock[1:] > 0
    np.testing.assert_allclose(had[1:][goes_on], after[:-1][goes_on])
    assert not had[clock == 0].any()
    before, then = np.log1p(had).sum(axis=1), np.log1p(after).sum(axis=1)
    np.testing.assert_allclose(found.pays, then, rtol=1e-5)
    np.testing.assert_allclose(found.gains, then - before, rtol=1e-3, atol=1e-5)
    assert measured.pay == pytest.approx(np.sqrt(np.mean(then**2)), rel=1e-4)
    assert measured.gain == pytest.approx(np.sqrt(np.mean((then - before) ** 2)), rel=1e-4)
    # Of serving each by itself, twice its size: the largest gain, on the mean.
    (places,) = world.layout.per_stakeholder
    size = np.stack([at.state for at in found.visited])[:, list(places)]
    largest = (np.log1p(had + 2 * size) - np.log1p(had)).max(axis=1)
    assert measured.largest_gain == pytest.approx(largest.mean(), rel=1e-4)


class Costly(own.Counter):
    """Each who is served has to pay."""

    def step(self, action):
        *answer, _ = super().step(action)
        return *answer, {"stakeholder_rewards": -2.0 * np.eye(2)[action]}


def test_a_status_without_welfare_is_refused_as_it_is():
    with pytest.raises(NegativeStatus, match=r"is -2 after 1 random decisions, .* no welfare"):
        surveyed(Costly())


def test_without_a_status_nothing_is_gained():
    world = gymnasium_world(own.Counter())
    problem = Problem(world, own.NASH, Nothing())
    at = problem.initial(jax.random.key(0))
    nothing = np.zeros(2)
    measured = Survey(np.array([0, 1]), np.eye(2), nothing, nothing, [at, at]).measure(problem)
    assert measured.largest_gain == 0.0
    assert (measured.pay, measured.gain, measured.unit) == (1.0, 1.0, 1.0)


def test_an_action_that_may_serve_anybody_is_nobodys():
    class Amounts(own.Counter):
        """How much to give to whoever is next."""

        def step(self, action):
            following, *answer, _ = super().step(0)
            served = np.zeros(2)
            served[self.time % 2] = 1 + action
            return following, *answer, {"stakeholder_rewards": served}

    _, measured = surveyed(Amounts())
    assert measured.serves == ()
    assert measured.amount == ()


def found(actions, rewards):
    """A survey of which only decisions and receipts matter."""
    steps = len(actions)
    return Survey(np.array(actions), np.array(rewards, float), np.zeros(steps), np.zeros(steps), [])


def test_the_unit_is_the_mean_size_of_what_is_received():
    assert found([0, 1, 0], [[0, -4], [2, 0], [0, 0]]).unit == 3.0
    assert found([0], [[0, 0]]).unit == 1.0


def test_actions_are_somebodys_if_each_serves_at_most_half_and_together_everybody():
    one_each = found([0, 1] * FEWEST_VISITS, [[2, 0], [0, 2]] * FEWEST_VISITS)
    assert one_each.serves(2) == ((0,), (1,))
    assert one_each.serves(3) == ()  # the third was never taken
    assert found([0, 1] * 7, [[2, 0], [0, 2]] * 7).serves(2) == ()  # too seldom to be believed
    # What is usual is no service: here everybody is paid 1 at every step.
    paid = found([0, 1, 2] * 8, [[3, 1, 1], [1, 3, 1], [1, 1, 3]] * 8)
    assert paid.serves(3) == ((0,), (1,), (2,))
    # Whoever is served at times is served: here everybody but every second time.
    at_times = found([0, 1] * 8, [[2, 0], [0, 2], [0, 0], [0, 0]] * 4)
    assert at_times.serves(2) == ((0,), (1,))
    left_out = found([0, 1] * 8, [[2, 0, 0], [0, 2, 0]] * 8)
    assert left_out.serves(2) == ()
    both = found([0, 1, 2] * 8, [[2, 2], [0, 0], [0, 0]] * 8)
    assert both.serves(3) == ()


def test_typical_sizes_and_moments():
    assert _typical(np.array([3.0, 4.0, np.inf, np.nan])) == pytest.approx(np.sqrt(12.5))
    assert _typical(np.zeros(3)) == _typical(np.array([np.nan])) == 1.0
    values = np.array([[1.0, 5.0, 1e6], [3.0, 5.0, 1e6 + 1e-3]])
    # One that never changed, or by no more than rounding, is left in its unit.
    assert _moments(values) == ((2.0, 1.0), (5.0, 1.0), (pytest.approx(1e6), 1.0))
    assert _moments(np.zeros((3, 1))) == ((0.0, 1.0),)
    masked = HostWorld(own.Counter(), 2, 4, lambda state: state, 3, masked=True)
    assert _common_moments(values, masked) == ((0.0, 1.0), (0.0, 1.0), (pytest.approx(1e6), 1.0))


def test_in_another_unit_the_network_is_shown_the_same_numbers():
    """Rawls and Full know no unit of their own: in grams or in kilograms it is one problem."""
    rawls = anytime(Rawls(), Total())
    shown = []
    for unit in (1.0, 1000.0):
        problem, measured = surveyed(own.Counter(unit), rawls)
        encoder = default_settings(problem, measured, 1000)["encoder"]
        at = problem.initial(jax.random.key(0))
        memory = (np.array([2.0, 1.0], np.float32) * unit, at.memory[1])
        seen = at.seen._replace(memory=memory)
        shown.append(np.asarray(encoder(problem, np.array([1.0, 0.0], np.float32), seen)))
    np.testing.assert_allclose(*shown, rtol=1e-4, atol=1e-5)


def test_defaults_follow_from_the_steps():
    problem, measured = surveyed(own.Counter())
    found = default_settings(problem, measured, 4000)
    assert found["halved_after"] == 4000 // LEARN_EVERY // 10
    assert (found["batch"], found["capacity"], found["warm_up"]) == (64, 4000, 200)
    assert (found["learning_rate"], found["lookahead"], found["double"]) == (1e-3, 3, True)
    assert found["horizon_terminates"]
    assert found["target"] == PolyakUpdate(0.005)
    assert found["exploration"].steps == 1000
    view = min(problem.environment.horizon, max(SHORTEST_VIEW, 4.0))
    assert found["discount"] == pytest.approx(1.0 - 1.0 / view)
    # With shaping the unit of values is the largest gain of the moment; without it is 1.
    assert found["shaping"]
    assert found["encoder"].floor == LEAST_UNIT
    assert default_settings(problem, measured, 4000, shaping=False)["encoder"].floor == 0.0
    scale = 1.0 / (view * measured.largest_gain)
    assert found["scale"] == pytest.approx(scale)
    assert found["encoder"].reward == pytest.approx(scale * view)
    few = default_settings(problem, measured, 3)
    assert (few["halved_after"], few["capacity"], few["warm_up"]) == (1, 1000, 50)
    many = default_settings(problem, measured, 10**6)
    assert (many["capacity"], many["warm_up"]) == (50_000, 500)


def test_defaults_follow_from_the_scheme():
    waiting = anytime(Rawls(), Total(), WaitingTime())
    assert default_memory(own.NASH, 6) == Product((Full(), Clock(7)))
    assert default_memory(waiting, 6) == Product((OfStatus(WaitingTime()), Clock(7)))
    assert default_memory(own.NASH, 10_000) == Full()
    for scheme, shapes in ((own.NASH, True), (waiting, False)):
        problem, measured = surveyed(own.Counter(), scheme)
        assert default_settings(problem, measured, 1000)["shaping"] is shapes
    assert survey_steps(28, 20_000) == 28 * 40
    assert survey_steps(2, 500) == 100


# What random play shows: amounts, rewards, and which memories would do.

SHOP_RANDOM_PLAY = Doughnuts(2, 5, 0.8, wasted=None)


def test_a_typical_size_is_the_median_of_what_is_not_0():
    assert typical(np.array([[0.0, -0.5], [8.0, 4.0]])) == 4.0
    assert typical(np.zeros(3)) == 1.0


def test_it_is_what_the_problem_does():
    problem = Problem(SHOP_RANDOM_PLAY, anytime(LogNash(), Total()))
    # A window moves on: half of it is as it was whatever the steps before.
    window = OfStatus(Window(2))
    memories = (Full(), Min(), Nothing(), Clock(6), Product((Full(), Clock(6))), window)
    play = random_play(problem, memories)
    assert play.received.shape == (RANDOM_EPISODES, 5, 2)
    assert play.unit == 1.0
    assert not play.over.any()
    np.testing.assert_array_equal(play.status, np.cumsum(play.received, axis=1))
    pay = np.log1p(play.status).sum(axis=-1)
    np.testing.assert_allclose(play.pay, pay, rtol=1e-5)
    # All that was received determines the reward; leads, nothing and a clock do not.
    determines = [play.determines(k) for k in range(6)]
    assert determines == [True, False, False, False, True, False]
    assert [play.looks_back(k) for k in range(6)] == [True, True, False, True, True, True]
    # Both actions are taken, by everybody about as often.
    assert 0.3 < play.received[..., 0].sum() / play.received.sum() < 0.7


def test_of_a_long_episode_the_beginning_is_looked_at():
    problem = Problem(Doughnuts(2, 1000, 0.8, wasted=None), anytime(LogNash(), Total()))
    assert random_play(problem).pay.shape == (RANDOM_EPISODES, LONGEST_LOOK)


def test_the_same_play_each_time():
    problem = Problem(Doughnuts(2, 3, 1.0), anytime(LogNash(), Total()))
    first = random_play(problem)
    random_play.cache_clear()
    np.testing.assert_array_equal(random_play(problem).received, first.received)


def test_what_comes_after_the_end_does_not_count():
    """Two episodes of two steps, of which the first is over after one."""
    received = np.array([[[2.0, 0.0], [90.0, 0.0]], [[0.0, 6.0], [4.0, 0.0]]])
    over = np.array([[False, True], [False, False]])
    pay = np.array([[1.0, 50.0], [2.0, 3.0]])
    never, once = np.zeros((2, 2), dtype=bool), np.array([[False, False], [True, False]])
    trials = (
        MemoryTrial(np.array([[1.0, 7.0], [2.0, 3.0]]), never, ()),
        MemoryTrial(np.array([[1.0, 50.0], [2.0, 4.0]]), once, ()),
    )
    play = RandomPlay(received, pay, pay, over, (), trials)
    assert play.unit == 4.0
    assert [play.determines(k) for k in range(2)] == [True, False]
    assert [play.looks_back(k) for k in range(2)] == [False, True]


def test_another_memory_differs_at_every_place():
    assert _changed(jnp.array([[5, 5], [5, 5]])).tolist() == [[6, 7], [8, 9]]
    assert _changed(jnp.array([0.5, 0.5])).tolist() == [1.5, 2.5]
    assert _changed(jnp.array([True, False])).tolist() == [False, True]


@dataclass(frozen=True)
class Overflowing(Doughnuts):
    """A shop whose second customer is given more than a number can hold."""

    def rewards(self, state, action, world):
        served = super().rewards(state, action, world)
        return jnp.where((served > 0) & (jnp.arange(2) == 1), jnp.inf, served)


def test_a_reward_that_is_no_number_is_refused_with_its_place():
    problem = Problem(Overflowing(2, 2, 1.0), anytime(LogNash(), Total()))
    with pytest.raises(NotFinite, match=r"stakeholder 1 a reward of inf at step \d of"):
        random_play(problem)
