"""The smallest change: by hand, by cvxpy, and as people ask for it."""

from __future__ import annotations

import json
import math
import re

import numpy as np
import pandas as pd
import pytest

from evenhand import Mean, Rawls, TimepointFirst, errors, smallest_change
from evenhand.decide.hindsight.smallest_change import least_moved
from evenhand.fairness.welfare import GiniWelfare, LogNash
from small_logs import division_of, small_log

LOG = pd.DataFrame({"month": [1, 2, 3, 4], "to": ["A", "A", "A", "B"], "doses": 20})
COLUMNS = {"stakeholder": "to", "time": "month", "amount": "doses"}


def test_the_worst_off_is_raised_by_what_it_lacks():
    found = smallest_change(LOG, raise_worst_to=35, **COLUMNS)
    assert found.amount == pytest.approx(15.0)
    assert found.least == pytest.approx(15.0)
    assert dict(found.by_stakeholder) == pytest.approx({"A": -15.0, "B": 15.0})


def test_for_a_score_at_the_end():
    """At the end A has 60 and B 20; the score of 60 − m and 20 + m is to be that of 50 and 30."""
    goal = math.log(51) + math.log(31)
    found = smallest_change(LOG, reach=goal, at_end=True, **COLUMNS)
    assert found.amount == pytest.approx(10.0, rel=1e-5)
    assert found.least == pytest.approx(10.0, rel=1e-5)


def test_what_is_reached_needs_nothing():
    found = smallest_change(LOG, raise_worst_to=20, **COLUMNS)
    assert (found.amount, found.least) == (0.0, 0.0)
    assert "it is reached" in found.sentence()


@pytest.mark.parametrize("welfare", [Rawls(), LogNash(), GiniWelfare()], ids=repr)
def test_the_least_is_that_of_clarabel(welfare):
    log = small_log(4, True, True, False, {})
    division, lots = division_of(log)
    actual = lots.allocation(lots.who, division.eligible.shape)
    aggregation = TimepointFirst(welfare, Mean())
    # Half of the way from what happened to an even split of every point.
    middle = (actual + division.even()) / 2
    threshold = division.score(middle, aggregation)
    found, least = least_moved(division, actual, aggregation, threshold)
    expected = by_clarabel(log, welfare, threshold, actual)
    assert division.misses(found) < 1e-9
    assert division.score(found, aggregation) >= threshold - 1e-8
    assert np.abs(found - actual).sum() / 2 == pytest.approx(expected, rel=1e-4, abs=1e-6)
    assert least <= expected * (1 + 1e-5) + 1e-7
    assert least == pytest.approx(expected, rel=1e-4, abs=1e-6)


def by_clarabel(log, welfare, threshold, actual):
    import cvxpy as cp

    from small_logs import _in_cvxpy

    given = cp.Variable(actual.shape, nonneg=True)
    rules, had = [cp.sum(given, axis=1) == actual.sum(axis=1)], {}
    for t, time in enumerate(log.times):
        for i, name in enumerate(log.names):
            had[time, name] = cp.sum(given[: t + 1, i])
            if not log.there(name, time):
                rules.append(given[t, i] == 0)
    values = [
        _in_cvxpy(cp, welfare, list(log.statuses(had, time).values()), log.weights(time))
        for time in log.assessed()
    ]
    rules.append(sum(values) / len(values) >= threshold)
    problem = cp.Problem(cp.Minimize(cp.sum(cp.abs(given - actual)) / 2), rules)
    problem.solve(solver=cp.CLARABEL)
    return float(problem.value)


def test_what_cannot_be_reached_is_refused_with_the_best():
    words = (
        "the worst-off could not have had 41 at the end: the best there was is 40 (and nothing "
        "lies above 40), so give a lower threshold."
    )
    with pytest.raises(errors.BadParameter, match=f"^{re.escape(words)}$"):
        smallest_change(LOG, raise_worst_to=41, **COLUMNS)
    with pytest.raises(errors.BadParameter, match=r"^a score of 99 could not have been reached: "):
        smallest_change(LOG, reach=99, **COLUMNS)


def test_of_harms_less_is_the_best_there_was():
    """80 harms of two: whoever is worse off has 40 at least."""
    words = (
        "the worst-off could not have had 39 at the end: the best there was is 40 (and nothing "
        "lies below 40), so give a higher threshold."
    )
    with pytest.raises(errors.BadParameter, match=f"^{re.escape(words)}$"):
        smallest_change(LOG, raise_worst_to=39, lower_is_better=True, **COLUMNS)
    assert smallest_change(
        LOG, raise_worst_to=45, lower_is_better=True, **COLUMNS
    ).amount == pytest.approx(15.0)


@pytest.mark.parametrize("name", ["reach", "raise_worst_to"])
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, "x", True, 10**400])
def test_what_is_to_be_reached_is_a_finite_number(name, value):
    with pytest.raises(errors.BadParameter, match=rf"^`{name}` is .*: it must be a finite number"):
        smallest_change(LOG, **{name: value}, **COLUMNS)


@pytest.mark.parametrize("option", ["--reach", "--raise-worst-to"])
@pytest.mark.parametrize("value", ["nan", "inf"])
def test_the_same_from_the_shell(refuses, tmp_path, option, value):
    path = tmp_path / "log.csv"
    LOG.to_csv(path, index=False)
    columns = ("--stakeholder", "to", "--time", "month", "--amount", "doses")
    words = (f"{option} is {value}: it must be a finite number.",)
    refuses(words, str(path), *columns, option, value)


def test_one_aim_at_a_time():
    with pytest.raises(errors.BadParameter, match="not both"):
        smallest_change(LOG, **COLUMNS)


def test_from_the_shell(run, tmp_path):
    path = tmp_path / "log.csv"
    LOG.to_csv(path, index=False)
    columns = ("--stakeholder", "to", "--time", "month", "--amount", "doses")
    code, out, err = run(str(path), *columns, "--raise-worst-to", "35", "--json")
    assert code == 0, err
    answer = json.loads(out)
    assert answer["smallest_change"]["amount"] == pytest.approx(15.0)
    words = "15 of 80 would have had to go to others at its time, most of it to B (+15)."
    assert answer["verdict"].endswith(f"the worst-off to have 35 at the end, {words}")
