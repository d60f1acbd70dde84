"""The odds of those who are there, at any moment."""

from __future__ import annotations

import numpy as np

from evenhand.auditing.chance.odds_over_time import OddsOverTime, stretches
from evenhand.auditing.reading.roster import Roster


def test_equal_rows_that_follow_each_other_are_one():
    rows, which = stretches(np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 1.0], [1.0, 0.0]]))
    assert rows.tolist() == [[1, 0], [1, 1], [1, 0]]
    assert which.tolist() == [0, 0, 1, 2]


def test_without_dates_the_odds_never_change():
    rows, which = OddsOverTime(("A", "B"), np.array([1, 3]))(np.array([1.0, 9.0]))
    assert rows.tolist() == [[1, 3]]
    assert which.tolist() == [0, 0]
    assert OddsOverTime(("A", "B"))(np.array([1.0]))[0].tolist() == [[1, 1]]


def test_only_those_who_are_there_have_odds():
    numbers = OddsOverTime(("A", "B"), None, Roster(("A", "B"), first={"B": 5.0}))
    rows, which = numbers(np.array([1.0, 5.0]))
    assert rows[which].tolist() == [[1, 0], [1, 1]]
    first = np.datetime64("1970-01-03", "us")
    dates = OddsOverTime(("A", "B"), None, Roster(("A", "B"), first={"B": first}))
    dates.plain_numbers = False
    rows, which = dates(np.array([0.0, 3 * 86_400e6]))
    assert rows[which].tolist() == [[1, 0], [1, 1]]
