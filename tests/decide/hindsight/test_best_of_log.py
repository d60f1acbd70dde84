"""The best there was, as people ask for it: from Python and from the shell."""

from __future__ import annotations

import json
import math

import pandas as pd
import pytest

from evenhand import best_there_was, errors

COLUMNS = ("--stakeholder", "to", "--time", "month", "--amount", "doses")


@pytest.fixture
def shipments(tmp_path):
    """A has all of the first three months, and B of the last."""
    path = tmp_path / "log.csv"
    path.write_text("month,to,doses\n1,A,20\n2,A,20\n3,A,20\n4,B,20\n")
    return str(path)


def test_shared_alike_every_month_is_the_best(run, shipments):
    code, out, _ = run(shipments, *COLUMNS, "--best", "--json")
    best = json.loads(out)["best"]
    assert code == 0
    expected = sum(2 * math.log(10 * month + 1) for month in (1, 2, 3, 4)) / 4
    actual = sum(math.log(20 * month + 1) for month in (1, 2, 3)) + math.log(61) + math.log(21)
    assert best["score"] == pytest.approx(expected, rel=1e-6)
    assert best["bound"] == pytest.approx(expected, rel=1e-5)
    assert best["gap"] == pytest.approx(best["bound"] - best["score"], abs=1e-15)
    assert best["actual"] == pytest.approx(actual / 4)
    assert best["avoidable_share"] == pytest.approx(1.0)


def test_the_verdict_says_what_was_avoidable(run, shipments, tmp_path):
    words = (
        "With the same supply, times and eligibility, the best score was 6.29, and here it is "
        "4.51: all of the gap to an even log was avoidable."
    )
    assert words in run(shipments, *COLUMNS, "--best")[1]
    roster = tmp_path / "roster.csv"
    roster.write_text("name,from\nA,1\nB,4\n")
    out = run(shipments, *COLUMNS, "--roster", str(roster), "--newcomers", "zero", "--best")[1]
    assert "no other way to share would have scored higher." in out


def test_without_being_asked_nothing_is_said(run, shipments):
    assert json.loads(run(shipments, *COLUMNS, "--json")[1])["best"] is None


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--lots",), ("--lots", "--best")),
        (("--best", "--before", "3"), ("--best", "--before")),
        (("--best", "--welfare", "jain"), ("ratio", "--best")),
        (("--best", "--stock"), ("nothing is shared out", "--best")),
        (("--best", "--run", "month"), ("--run", "--best")),
    ],
)
def test_what_has_no_best_is_refused(refuses, shipments, more, words):
    if "--run" in more:
        more, shipment_columns = (*more[:1], "--run", "doses"), COLUMNS[:4]
        refuses(words, shipments, *shipment_columns, *more)
    else:
        refuses(words, shipments, *COLUMNS, *more)


def test_what_was_taken_back_is_refused_where_it_is_all_there_was():
    log = pd.DataFrame({"t": [1, 2, 3], "to": ["A", "A", "B"], "n": [5, -2, 4]})
    with pytest.raises(errors.BadLog, match="at 2 more was taken back than given out"):
        best_there_was(log, stakeholder="to", time="t", amount="n", welfare="rawls")
    found = best_there_was(
        log, stakeholder="to", time="t", amount="n", welfare="rawls", at_end=True
    )
    assert found.score == pytest.approx(3.5, rel=1e-6)  # seven in all, shared by two


def test_a_rate_has_nothing_to_share_out():
    log = pd.DataFrame({"t": [1, 2], "to": ["A", "B"], "n": [1, 1], "of": [2, 3]})
    with pytest.raises(errors.BadParameter, match="nothing is shared out"):
        best_there_was(log, stakeholder="to", time="t", amount="n", out_of="of")


@pytest.mark.parametrize("welfare", ["log_nash", "rawls", "gini", "utilitarian", "nash"])
@pytest.mark.parametrize("lots", [False, True])
def test_where_nothing_was_given_out_that_is_the_best(welfare, lots):
    log = pd.DataFrame({"t": [1, 2, 3], "to": ["A", "B", "A"], "n": 0})
    found = best_there_was(
        log, lots=lots, stakeholder="to", time="t", amount="n", welfare=welfare, at_end=True
    )
    assert (found.score, found.bound, found.actual) == (0.0, 0.0, 0.0)
    assert "no other way to share would have scored higher" in found.sentence()
