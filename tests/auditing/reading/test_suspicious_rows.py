"""Rates that are added up are noticed, and asked about."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from evenhand.auditing.notes import Notes
from evenhand.auditing.reading.suspicious_rows import note_sizes
from logs import audit_alone as audit

MAPPED = {"stakeholder": "who", "time": "day"}


def asked(amounts, column="got", days=(1, 1, 2, 2), **options):
    log = pd.DataFrame({"day": days, "who": ["A", "B"] * 2, column: amounts, "tried": 9})
    return audit(log, **MAPPED, amount=column, **options).asks


def test_amounts_from_0_to_1_with_fractions_are_asked_about():
    (question,) = asked([0.2, 0.5, 1.0, 0.0])
    assert question.startswith("Is 'got' a rate?")
    assert "with `out_of` out of how many" in question


@pytest.mark.parametrize("column", ["grant rate", "share_met", "PCT", "filled %"])
def test_so_is_what_is_called_a_rate(column):
    assert len(asked([20, 50, 100, 0], column)) == 1


@pytest.mark.parametrize(
    ("amounts", "column"),
    [([0.2, 0.5, 1.1, 0.0], "got"), ([0, 1, 1, 0], "got"), ([20, 5, 9, 1], "separate")],
)
def test_other_amounts_are_not(amounts, column):
    assert asked(amounts, column) == ()


def test_nor_what_is_not_added_up_or_said_to_be_one():
    log = pd.DataFrame({"day": [1, 2], "who": ["A", "B"], "got": [0.2, 0.5]})
    assert audit(log, **MAPPED, amount="got").asks == ()
    assert asked([0.2, 0.5, 1.0, 0.0], out_of="tried") == ()


def test_those_of_whom_every_amount_is_empty_are_asked_about():
    log = pd.DataFrame(
        {
            "day": [1, 2, 2, 3, 3],
            "who": ["A", "B", "C", "C", "D"],
            "got": [1, 1, None, None, None],
        }
    )
    (question,) = audit(log, **MAPPED, amount="got").asks
    assert question.startswith("Did C and D receive nothing, or is it not known?")
    assert "with `exclude`" in question
    assert audit(log, **MAPPED, amount="got", exclude=["C", "D"]).asks == ()
    assert audit(log, **MAPPED, amount="got", roster=["A", "B", "C", "D"]).asks == ()
    assert audit(log[log.who < "C"], **MAPPED, amount="got").asks == ()


CUT = pd.DataFrame({"day": [1, 2, 3, 4, 5], "who": list("ABBCA"), "got": [10, 9, 4, 4, 5]})


def left_out(**options):
    found = audit(CUT, **MAPPED, amount="got", **options)
    assert found.asks == ()  # no amount is empty
    return [note for note in found.notes if note.startswith("All that")]


def test_those_who_received_only_outside_the_part_that_is_judged_are_named():
    (note,) = left_out(until=3)
    assert note == (
        "All that C received is in the part that was left out (`until`): it is judged as having "
        "received nothing. Leave it out with `exclude`, or say with `roster` who is to be judged."
    )
    assert left_out(since=4)[0].startswith("All that B received is in the part that was left out (")
    (both,) = left_out(since=2, until=3)
    assert "A and C received is in the part that was left out (`since` or `until`): they" in both
    assert left_out() == left_out(since=2) == left_out(until=4) == []
    assert left_out(until=3, roster=["A", "B", "C"]) == []
    assert left_out(since=4, stock=True) == []  # a level holds on


def test_one_time_point_is_left_out_and_two_are():
    assert "1 time point after `until` was left out." in audit(CUT, **MAPPED, until=4).notes
    assert "2 time points before `since` were left out." in audit(CUT, **MAPPED, since=3).notes


@pytest.mark.parametrize(
    ("unit", "welfare", "questions"),
    [(1_000_000, None, 1), (10, None, 0), (1_000_000, "rawls", 0)],
)
def test_statuses_that_are_tiny_beside_what_log_nash_adds_are_asked_about(unit, welfare, questions):
    log = pd.DataFrame({"day": [1, 1, 2, 2], "who": ["A", "B"] * 2, "got": [20, 5, 9, 1]})
    sizes = {"A": 3.0 * unit, "B": 1.0 * unit}
    asks = audit(log, **MAPPED, amount="got", entitlement=sizes, welfare=welfare).asks
    assert len([ask for ask in asks if ask.startswith("Are the units right?")]) == questions


def series(*amounts, **options):
    """What is asked of a log in which A and B have these amounts, day by day."""
    days = [day for day in range(len(amounts)) for _ in "AB"]
    log = pd.DataFrame({"day": days, "who": ["A", "B"] * len(amounts)})
    log["got"] = [value for pair in amounts for value in pair]
    found = audit(log, **MAPPED, amount="got", **options).asks
    return [question for question in found if "running total" in question]


RISING = [(10, 5), (20, 15), (20, 30), (50, 31), (60, 40)]


def test_amounts_that_never_fall_are_asked_about():
    (question,) = series(*RISING)
    assert question.startswith("Is 'got' a running total?")
    assert "say so with `cumulative`" in question
    assert series(*RISING, cumulative=True) == []


def test_what_falls_stays_or_is_short_is_not_taken_for_running_totals():
    assert series(*RISING[:4], (9, 40)) == []
    assert series(*[(10, 10)] * 9) == []  # as much each day
    assert series(*RISING[:4]) == []  # six steps, which may be chance
    assert series((-1, 5), *RISING[1:]) == []  # a total is not negative


def test_running_totals_may_be_corrected_now_and_then():
    many = [(k, 2 * k) for k in range(60)]
    assert len(series(*many, (40, 120))) == 1
    assert series(*many, *[(40, 120), (60, 20)] * 3) == []


@pytest.mark.parametrize(
    ("final", "times"),
    [([1000.0, 2.0], "500 times"), ([10.0, 1e-320], "more than a billion times"), ([3.0, 2.0], "")],
)
def test_statuses_far_apart_may_be_a_matter_of_size(final, times):
    notes = Notes()
    note_sizes(np.array(final), notes)
    assert [note.split(" the smallest")[0] for note in notes.sentences] == (
        [f"The largest status is {times}"] if times else []
    )
