"""How the defaults on the host follow from what was measured, whatever their numbers are."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from evenhand.envs import Doughnuts
from evenhand.fairness.scheme import anytime
from evenhand.fairness.temporal import Total, Worst
from evenhand.fairness.welfare import LogNash
from evenhand.learn.deep.gains import Gains
from evenhand.learn.host_defaults import (
    LONGEST_CLOCK,
    default_memory,
    default_settings,
    shapes_by_default,
    survey_steps,
)
from evenhand.learn.host_survey import Measurements
from evenhand.memory.memory import Clock, Full, Product
from evenhand.problem.problem import Problem

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
