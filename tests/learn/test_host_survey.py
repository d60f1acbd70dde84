"""What a random walk tells: whom actions serve, what they bring, and in which unit."""

from __future__ import annotations

import jax
import numpy as np
import pytest

import own_environments as own
from evenhand.errors import NegativeStatus
from evenhand.fairness.scheme import anytime
from evenhand.fairness.status import WaitingTime
from evenhand.fairness.temporal import Total
from evenhand.fairness.welfare import Rawls
from evenhand.interop.gymnasium.gymnasium_process import gymnasium_world
from evenhand.learn.deep.targets import PolyakUpdate
from evenhand.learn.host_defaults import (
    LEARN_EVERY,
    LEAST_UNIT,
    SHORTEST_VIEW,
    default_memory,
    default_settings,
    survey_steps,
)
from evenhand.learn.host_survey import (
    FEWEST_VISITS,
    Survey,
    _common_moments,
    _moments,
    _typical,
    survey,
)
from evenhand.learn.host_world import HostWorld
from evenhand.memory.memory import Clock, Full, Nothing, OfStatus, Product
from evenhand.problem.problem import Problem


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
