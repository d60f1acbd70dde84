"""The fair taxi at its published size, and other maps: the planner, and a search of deliveries."""

from __future__ import annotations

import pytest

import taxi_rides
from evenhand.envs import FairTaxi
from evenhand.planning import plan
from evenhand.problem.problem import Problem

pytestmark = pytest.mark.system

MAPS = [
    ({}, 30),
    ({}, 50),
    ({"origins": ((0, 0), (4, 4)), "destinations": ((4, 0), (0, 4)), "size": (5, 5)}, 40),
    ({"origins": ((2, 0),), "destinations": ((2, 6),), "size": (4, 7)}, 45),
    (
        {
            "origins": ((0, 0), (0, 1), (2, 2), (3, 0)),
            "destinations": ((1, 0), (0, 3), (3, 2), (2, 0)),
            "size": (4, 4),
        },
        36,
    ),
]


@pytest.mark.parametrize(("where", "horizon"), MAPS)
def test_the_optimum_is_that_of_a_search_over_deliveries(where, horizon):
    taxi = FairTaxi(**where, horizon=horizon)
    found = plan(Problem(taxi, taxi.default_scheme())).value
    best = taxi_rides.best_by_deliveries(taxi.origins, taxi.destinations, taxi.size, horizon)
    assert found == pytest.approx(best, abs=1e-9)
    assert found > 0


def test_the_published_size_has_the_optimum_known():
    taxi = FairTaxi()
    assert plan(Problem(taxi, taxi.default_scheme())).value == pytest.approx(55.491127, abs=1e-6)
